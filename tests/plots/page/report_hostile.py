# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that do harm are text in the report, and nothing of them runs. The faults at the end are what
a careless build of the page would be; they must fail the check."""
import functools
import re
import time

from browser_run import caught, on
from report_drawn import all_on, quiet
from report_hands import tip_after_move
from report_page import HOSTILE, look, read, shown_as, unescaped


def nothing_ran(b):
    assert not b.js("return window.pwned"), "script in a name was run"
    # the page itself has no pictures and no such attributes
    strange = b.js("""return [...document.querySelectorAll('img, iframe, object, embed, base, [onerror], [onload],'
        + 'a[href^="javascript:" i], script[src]')].map(e => e.outerHTML.slice(0, 60))""")
    assert not strange, "made of a name: %s" % strange


def shows(where, text, names):
    for name in names:
        assert shown_as(name).search(text), "%s does not show %r, but %r" % (where, name, text[:200])


def marks_stay_inside(b):
    """A right-to-left override ends with its name: nothing else stands in the same line of text."""
    reach = read(b, r"""const out = [];
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let n = walk.nextNode(); n; n = walk.nextNode()) {
            if (!n.data.includes('\u202e') || n.parentNode.closest('script')) { continue; }
            let e = n.parentNode;
            const ends = s => !s.display.startsWith('inline') || /isolate|plaintext/.test(s.unicodeBidi);
            while (!ends(getComputedStyle(e)) && e.tagName !== 'text') { e = e.parentNode; }
            const rest = e.textContent.slice(e.textContent.indexOf('\u202e') + 1);
            if (rest.replace(/[^a-z]/g, '') !== 'toleftmarks' && seen(e)) { out.push(e.outerHTML.slice(0, 200)); }
        }
        return out""")
    assert not reach, "an override reaches other text: %s" % reach


def hostile_names_are_text(b, url, _pages):
    b.fresh(url)
    b.wait("the page is drawn", "return window.pwned || document.body && document.body.dataset.ready === '1'")
    nothing_ran(b)
    table = read(b, """return [...document.querySelectorAll('#places tbody tr[data-name]')].map(
        r => [r.dataset.name, r.innerText])""")
    assert sorted(name for name, _ in table) == sorted(HOSTILE), "the table has %r" % sorted(table)
    for name, text in table:
        shows("the table", text, [name])
    points = read(b, """svgOf('cache-aware').scrollIntoView();
        return [...svgOf('cache-aware').querySelectorAll('.point')].filter(seen).map(e => {
            const r = e.getBoundingClientRect(); return [e.dataset.name, r.x + r.width / 2, r.y + r.height / 2];
        })""")
    assert sorted(p[0] for p in points) == sorted(HOSTILE), "the points are %r" % sorted(points)
    for name, x, y in points:
        shows("a tip", tip_after_move(b, x, y), [name])
        nothing_ran(b)
    marks_stay_inside(b)

    read(b, "document.getElementById('drawn').open = true")
    all_on(b)
    names = read(b, "return roofs('cache-aware').map(r => r.name)")
    for name in (HOSTILE[0], HOSTILE[3]):
        assert name in names, "no roof is named %r" % name
        label = read(b, "const t = toggle('op:' + arguments[0]); return t && t.closest('label').innerText", name)
        assert label and shown_as(name).search(label), "the toggle of %r says %r" % (name, label)
    before = read(b, "return drawing()")
    read(b, "toggle('op:' + arguments[0]).click()", HOSTILE[0])
    look(b, "a hostile name's toggle works", "return drawing() !== arguments[0]", before)
    link = read(b, "return location.href")
    b.go("about:blank")
    b.go(link)
    b.wait("its link is drawn", "return document.body && document.body.dataset.ready === '1'")
    look(b, "its link keeps it off", "return !toggle('op:' + arguments[0]).checked", HOSTILE[0])

    text = read(b, "document.querySelectorAll('details').forEach(d => d.open = true);"
                   "return document.body.innerText")
    for where, name in (("hostname or a note", HOSTILE[0]), ("the hypervisor or a note", HOSTILE[1])):
        assert shown_as(name).search(text), "%s is not shown" % where
    cpu = shown_as(HOSTILE[0]).pattern + " " + shown_as(HOSTILE[6]).pattern
    assert re.search(cpu, text, re.S), "the CPU's name is not shown"
    nothing_ran(b)
    quiet(b)


def policy_stops_script(b, url, _pages):
    """Even where data was not escaped, its script does not run."""
    b.fresh(url)
    time.sleep(0.2)
    assert not b.js("return window.pwned"), "script in a name was run"
    refused = [e["message"] for e in b.log("browser") if "Content Security Policy" in e["message"]]
    assert refused, "the policy refused nothing"


# a page that takes texts for markup, wherever they are put into it
AS_MARKUP = """const text = Object.getOwnPropertyDescriptor(Node.prototype, 'textContent');
Object.defineProperty(Node.prototype, 'textContent', {get: text.get, set(v) {
    if (this instanceof Element) { this.innerHTML = v; } else { text.set.call(this, v); }
}});
Element.prototype.append = function (...children) {
    for (const c of children) {
        if (c instanceof Node) { this.appendChild(c); } else { this.insertAdjacentHTML('beforeend', c); }
    }
};
"""


def names_are_text(check):
    """Tests that the check holds for hostile names, and fails for a page made with less care."""
    def careless(name, make, check=check):
        def run(b, pages):
            url = make(pages, pages.nasty(), name)
            note = caught(b, functools.partial(check, b, url, pages))
            assert b.js("return window.pwned") == 1, "the names' script did not run"
            return note
        return run

    def guarded(b, pages):
        policy_stops_script(b, pages.altered(pages.nasty(), "guarded", unescaped, policy=True), pages)

    yield "hostile names are text", on("nasty", check)
    yield "... which fails with data that is not escaped", careless(
        "unescaped", lambda pages, url, name: pages.altered(url, name, unescaped))
    yield "... which fails with texts as markup", careless(
        "markup", lambda pages, url, name: pages.sabotaged(url, name, AS_MARKUP))
    yield "the page's policy stops script in data that is not escaped", guarded
    yield "... which fails without the policy", careless(
        "unguarded", lambda pages, url, name: pages.altered(url, name, unescaped), policy_stops_script)
