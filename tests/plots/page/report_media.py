# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a report on small screens, on paper, in the dark."""
import re

from report_drawn import PLOTS, drawn_at_values
from report_page import look, opened, read


def narrow(b, url, _pages):
    opened(b, url, unfolded=False, width=400, height=800)
    top = read(b, "return svgOf('cache-aware').getBoundingClientRect().top")
    assert top < 600, "the plot begins at %d px of a phone's screen" % top
    opened(b, url, width=400, height=800)
    wide = b.js("""const w = innerWidth, r = [document.documentElement.scrollWidth, w];
        const out = [...document.body.querySelectorAll('*')].filter(e => {
            const c = e.getBoundingClientRect();
            return c.width && c.right + scrollX > w + 1 && e.checkVisibility();
        }).slice(0, 5).map(e => e.tagName + '.' + (e.id || e.getAttribute('class')));
        return {scroll: r[0], w, out}""")
    assert wide["w"] == 400 and wide["scroll"] <= 400, "%(scroll)d px wide in %(w)d: %(out)s" % wide
    for plot in PLOTS:
        width = read(b, "return svgOf(arguments[0]).getBoundingClientRect().width", plot)
        assert 250 <= width <= 400, "%s is %d px wide" % (plot, width)
        drawn_at_values(b, plot)
    small = read(b, """return toggles().filter(seen).map(t => (t.closest('label') || t).getBoundingClientRect())
        .filter(r => r.right > innerWidth || r.left < 0).length""")
    assert not small, "%d toggles are out of sight" % small


def luminance(colour):
    """Relative luminance of a CSS rgb() colour, WCAG 2.1."""
    parts = [float(v) / 255 for v in re.findall(r"[\d.]+", colour)[:3]]
    r, g, b = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def colours(b):
    """(background, text) luminances of the page."""
    back, text = read(b, """let back = getComputedStyle(document.body).backgroundColor;
        if (/, 0\\)$/.test(back)) { back = getComputedStyle(document.documentElement).backgroundColor; }
        if (/, 0\\)$/.test(back)) { back = 'rgb(255, 255, 255)'; }
        return [back, getComputedStyle(document.body).color]""")
    return luminance(back), luminance(text)


def contrast(one, other):
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def prints(b, url, _pages):
    opened(b, url, media="print", prefers_color_scheme="dark")
    left = read(b, """return toggles().concat([document.getElementById('reset-view')]).filter(seen).length""")
    assert not left, "%d toggles and buttons are printed" % left
    back, text = colours(b)
    assert back > 0.95 and text < 0.05, "printed with luminances %.2f on %.2f" % (text, back)
    light = read(b, """return ['cache-aware', 'original'].flatMap(p => [...svgOf(p).querySelectorAll('text')])
        .filter(seen).map(t => getComputedStyle(t).fill)""")
    assert light and max(luminance(c) for c in light) < 0.4, "the plots print light text"
    for plot in PLOTS:
        assert read(b, "return roofs(arguments[0]).length", plot), "%s prints no roofs" % plot
    page = b.pdf()
    assert page[:5] == b"%PDF-" and len(page) > 10000, "no PDF"
    sheets = len(re.findall(rb"/Type\s*/Page\b", page))
    assert sheets <= 2, "%d sheets of paper" % sheets
    b.media()
    look(b, "the toggles come back on the screen", "return toggles().some(seen)")


def dark_and_light(b, url, _pages):
    for scheme, dark in (("dark", True), ("light", False)):
        opened(b, url, prefers_color_scheme=scheme)
        back, text = colours(b)
        assert (back < 0.2) == dark and (back > 0.8) != dark, "%s: background %.2f" % (scheme, back)
        assert contrast(back, text) >= 7, "%s: contrast %.1f" % (scheme, contrast(back, text))
        ink = read(b, """return ['cache-aware', 'original'].flatMap(p =>
            [...svgOf(p).querySelectorAll('text')]).filter(t => seen(t) && t.textContent.trim())
            .map(t => [t.textContent, getComputedStyle(t).fill])""")
        for name, colour in ink:
            ratio = contrast(back, luminance(colour))
            assert ratio >= 3, "%s: '%s' has a contrast of %.1f" % (scheme, name, ratio)


def theme_switch(b, url, _pages):
    """The button goes through all themes, and the view and its link have them."""
    opened(b, url, prefers_color_scheme="light")
    themes = {}
    for _ in range(4):
        themes[b.js("return carmView().theme || 'auto'")] = (colours(b)[0] < 0.2, b.js("return location.href"))
        b.click("#theme")
    assert set(themes) == {"auto", "light", "dark"}, "the themes are %s" % sorted(themes)
    assert [themes[t][0] for t in ("auto", "light", "dark")] == [False, False, True], "themes: %s" % themes
    opened(b, themes["dark"][1], prefers_color_scheme="light")
    assert colours(b)[0] < 0.2, "a link to the dark page is light"
    opened(b, themes["light"][1], prefers_color_scheme="dark")
    assert colours(b)[0] > 0.8, "a link to the light page is dark"
