# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a report that is used by keys alone."""
import time

from report_drawn import scales
from report_hands import settled
from report_page import POINTS, look, opened, read, says


def tab_to(b, what, script, most):
    """Presses tab until the script is true."""
    for _ in range(most):
        b.key("tab")
        if read(b, script):
            return
    raise AssertionError("%d tabs do not reach %s" % (most, what))


def keyboard(b, url, _pages):
    opened(b, url)
    tab_to(b, "a toggle", "return !!document.activeElement.dataset.toggle", 40)
    name = read(b, "return document.activeElement.dataset.toggle")
    before = read(b, "return {checked: toggle(arguments[0]).checked, drawing: drawing()}", name)
    b.key("space")
    look(b, "space toggles %s" % name, "return toggle(arguments[0]).checked !== arguments[1]",
         name, before["checked"])
    look(b, "the drawing follows", "return drawing() !== arguments[0]", before["drawing"])
    b.key("space")
    look(b, "space toggles back", "return drawing() === arguments[0]", before["drawing"])
    outline = read(b, """const e = document.activeElement, s = getComputedStyle(e);
        return s.outlineStyle !== 'none' || s.boxShadow !== 'none'""")
    assert outline, "the focused toggle looks like the others"

    tab_to(b, "a roof", "return !!document.activeElement.closest('.roof')", 200)
    roof = read(b, """const e = document.activeElement.closest('.roof');
        return {...e.dataset, label: document.activeElement.getAttribute('aria-label') || ''}""")
    text = look(b, "a focused roof has its tip", "return tip()")
    assert says(text, float(roof["value"])), "focus on %s: the tip '%s'" % (roof["name"], text)
    assert says(roof["label"], float(roof["value"])), \
        "%s: aria-label '%s'" % (roof["name"], roof["label"])
    # no trap: tabs go on to the table behind the plots, or around to the page's start
    tab_to(b, "the plot's end", "return !document.activeElement.closest('svg')", 400)


def keys_scroll(b, url, _pages):
    """A roof that was out of sight is in sight with its tip when it has the focus."""
    opened(b, url, height=300)
    tab_to(b, "the plot", "return document.activeElement === svgOf('cache-aware')", 100)
    for _ in range(20):
        read(b, "scrollTo(0, 0)")
        time.sleep(0.1)  # a scroll's events come later
        b.key("tab")
        if read(b, "return !!document.activeElement.closest('.roof')"):
            break
    time.sleep(0.3)
    assert read(b, "return scrollY"), "nothing was scrolled"
    text = look(b, "a roof that scrolls into sight has its tip", "return tip()", seconds=1)
    value = float(read(b, "return document.activeElement.closest('.roof').dataset.value"))
    assert says(text, value), "the tip '%s' lacks %g" % (text, value)
    sight = read(b, """return [shapeOf(document.activeElement.closest('.roof')),
        document.getElementById('tip')].map(e => {
            const r = e.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight; })""")
    assert sight == [True, True], "the roof and its tip are in sight: %s" % sight


def keys_zoom(b, url, _pages):
    opened(b, url)
    tab_to(b, "the plot", "return document.activeElement === svgOf('cache-aware')", 100)
    home = scales(b, "cache-aware")["x"]
    for key, what in (("+", "zooms"), ("left", "moves"), ("-", "zooms out")):
        before = read(b, "return drawing()")
        b.key(key)
        look(b, "%s %s" % (key, what), "return drawing() !== arguments[0]", before)
        settled(b)
        if key == "+":
            assert scales(b, "cache-aware")["x"]["b"] < 0.9 * home["b"], "plus zooms the wrong way"
    back = scales(b, "cache-aware")["x"]
    assert abs(back["b"] / home["b"] - 1) < 1e-3, "minus does not undo plus"


def keys_points(b, url, _pages):
    """The arrow keys go through the points by intensity; enter goes to a point's row."""
    opened(b, url)
    tab_to(b, "a point", "return document.activeElement.matches('#plot-cache-aware .point')", 100)
    for _ in POINTS:
        b.key("left")
    for name, intensity, rate, _ in sorted(POINTS, key=lambda p: p[1]):
        have = read(b, "return document.activeElement.dataset.name")
        assert have == name, "the focus is on %s and not on %s" % (have, name)
        text = look(b, "a focused point has its tip", "return tip()")
        for value in (intensity, rate):
            assert says(text, value), "%s: the tip '%s' lacks %g" % (name, text, value)
        b.key("right")
    last = max(POINTS, key=lambda p: p[1])[0]
    b.key("enter")
    look(b, "enter goes to the row of %s" % last,
         """const e = document.activeElement;
         return e.matches('#places tr') && e.dataset.name === arguments[0]""", last)
