# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a fleet's page. A check takes a browser, a page's URL and what the pages were made of, and
raises AssertionError."""
import statistics
import time

from fleet_page import FAST, HOSTILE, JS, NODES, SLOW, SLOW_BY, SLOW_LEVEL, cell, fleet, on_map, rates, shown
from report_drawn import quiet
from report_hands import tip_after_move
from report_hostile import marks_stay_inside, nothing_ran, shows
from report_media import colours, contrast, luminance
from report_page import look, opened, read, ready, says, shown_as

PIXEL = "const d = map.getContext('2d').getImageData(2, 2, 1, 1).data; "
GROUND = PIXEL + "return `rgb(${d[0]}, ${d[1]}, ${d[2]})`"
ON_SCREEN, ON_PAPER = PIXEL + "return d[0] < 60", PIXEL + "return d[0] > 240"
SET = "avx512 dp, 2 threads: "


def loads(b, url, _pages):
    opened(b, url)
    wrong = b.js("return document.getElementById('error').innerText")
    assert not wrong, wrong
    quiet(b)


def counts(b, url, _pages):
    opened(b, url)
    have = b.js("""return Object.fromEntries([...document.querySelectorAll('.counts li')].map(
        e => [e.dataset.count, Number(e.querySelector('b').textContent)]))""")
    want = {"nodes": NODES + 6, "groups": 2, "failed": 2, "broken": 1}
    for key, value in want.items():
        assert have.get(key) == value, "%s: %s and not %d" % (key, have.get(key), value)
    assert have["slow"] >= 1 and have["fast"] >= 1, "outliers: %s" % have
    text = b.js("return document.getElementById('failed').innerText")
    for part in ("r9-n00", "timeout", "no answer within 600 s", "r9-n01", "signal 9", "schema is not a string"):
        assert part in text, "'%s' is not among what failed" % part
    table = b.js("""return [...document.querySelectorAll('#outliers-table tbody tr')].map(
        r => [r.dataset.name, r.innerText])""")
    assert table and table[0][0] == SLOW and SLOW_LEVEL in table[0][1], "the table begins with %s" % table[:1]
    changed = b.js("return document.getElementById('changes').innerText")
    assert SLOW in changed and "3 earlier models" in changed, "changes: %s" % changed


def planted_node_stands_out(b, url, _pages):
    on_map(b, url)
    now = shown(b)
    assert set(now["order"][:2]) == {SLOW, FAST}, "the first are %s" % now["order"][:3]
    mine = {c for n, c in now["flagged"] if n == SLOW}
    assert mine and all(SLOW_LEVEL in c for c in mine), "%s is flagged for %s" % (SLOW, mine)
    label = SET + SLOW_LEVEL + " 2:1"
    slow = fleet(b, "return warmth(arguments[0], arguments[1])", SLOW, label)
    fast = fleet(b, "return warmth(arguments[0], arguments[1])", FAST, SET + "fma")
    plain = [fleet(b, "return warmth(arguments[0], arguments[1])", n, label) for n in now["order"][5:9]]
    assert slow > 60 and fast < -60, "the colours' warmth is %d slow, %d fast" % (slow, fast)
    assert all(abs(v) < 0.75 * slow for v in plain), "sound nodes are as warm: %s of %d" % (plain, slow)


def hover_tells_values(b, url, pages):
    on_map(b, url)
    models = pages.models("fleet")
    first = shown(b)["order"]
    for node in (SLOW, first[4]):
        for name in (SLOW_LEVEL + " 2:1", "fma"):
            at = cell(b, node, SET + name)
            text = tip_after_move(b, at["x"], at["y"])
            value = rates(models[node])[SET + name]
            group = [rates(m)[SET + name] for n, m in models.items() if not n.startswith("fat")]
            median = statistics.median(group)
            assert node in text and name in text, "the tip '%s' is not of %s, %s" % (text, node, name)
            for what, v in (("value", value), ("interval", 0.996 * value), ("median", median)):
                assert says(text, v), "%s of %s: the tip '%s' lacks %g" % (what, node, text, v)
            assert says(text, abs(100 * (value / median - 1)), 0.05) or abs(value / median - 1) < 1e-3, \
                "the tip '%s' lacks the deviation %g%%" % (text, 100 * (value / median - 1))
    at = cell(b, SLOW, SET + SLOW_LEVEL + " 2:1")
    assert "outlier" in tip_after_move(b, at["x"], at["y"]), "the tip does not call it an outlier"


def drawn_roofs(b):
    return {r["name"]: r["value"] for r in read(b, "return roofs('fleet')")}


def equal_model(b, node, pages):
    model = rates(pages.models("fleet")[node])
    have = drawn_roofs(b)
    want = {k[len(SET):]: v for k, v in model.items() if k.startswith(SET) and (" " not in k[len(SET):] or k.endswith(" 2:1"))}
    assert set(have) == set(want), "roofs of %s: %s and not %s" % (node, sorted(have), sorted(want))
    for name, v in want.items():
        assert abs(have[name] / v - 1) < 2e-5, "%s of %s is %g and not %g" % (name, node, have[name], v)


def chosen_node_is_shown(b, url, pages):
    on_map(b, url)
    before = fleet(b, "return markers()")
    other = shown(b)["order"][6]
    equal_model(b, SLOW, pages)
    at = cell(b, other, SET + "fma")
    b.move(at["x"], at["y"])
    b.drag(at["x"], at["y"], 0, 0)
    look(b, "the other node is chosen", "return carmFleetView().node === arguments[0]", other)
    assert b.js("return document.getElementById('plot-fleet').dataset.node") == other
    equal_model(b, other, pages)
    after = fleet(b, "return markers()")
    assert len(after) == len(before) > 20 and after != before, "the distributions' marks stay"
    model = rates(pages.models("fleet")[other])
    for name, low, high in fleet(b, """return [...document.querySelectorAll('.bands path')].map(
            p => [p.dataset.name, Number(p.dataset.low), Number(p.dataset.high)])"""):
        group = sorted(rates(m)[SET + name] for n, m in pages.models("fleet").items() if not n.startswith("fat"))
        assert group[0] <= low <= group[5] and group[-6] <= high <= group[-1], "%s: the band is %g to %g" % (name, low, high)
    dots = fleet(b, "return [...document.querySelectorAll('#plot-off .dot')].map(d => [d.dataset.name, Number(d.dataset.value)])")
    assert len(dots) >= 26, "%d deviations are drawn" % len(dots)
    for label, off in dots:
        if label in model:
            median = statistics.median(rates(m)[label] for n, m in pages.models("fleet").items() if not n.startswith("fat"))
            assert abs(model[label] / median - 1 - off) < 2e-5, "%s: off by %g" % (label, off)
    text = b.js("return document.getElementById('node-facts').innerText")
    assert "sound" in text or "suspect" in text, "the facts of a sound node: %s" % text


def history(b, url, _pages):
    opened(b, url)
    n = fleet(b, "return document.querySelectorAll('#plot-history .sample').length")
    assert n == 4 * 5, "the history of the slow node has %d samples" % n
    last = fleet(b, """const s = [...document.querySelectorAll('#plot-history g')].find(
        g => g.getAttribute('aria-label') === arguments[0]);
        return [...s.querySelectorAll('.sample')].map(c => Number(c.dataset.value))""", SLOW_LEVEL + " 2:1")
    assert abs(last[-1] - (SLOW_BY - 1)) < 0.05 and all(abs(v) < 0.05 for v in last[:-1]), "its history is %s" % last


def choices_change_the_map(b, url, _pages):
    on_map(b, url)
    fleet(b, "option(chooser('Order'), 'name')")
    order = shown(b)["order"]
    assert order == sorted(order) and len(order) == NODES, "by name: %s" % order[:5]
    fleet(b, "option(chooser('Order'), 'time')")
    assert shown(b)["order"] == order, "newest first: %s" % shown(b)["order"][:5]
    fleet(b, "option(chooser('Colour'), 'sigmas')")
    assert shown(b)["limit"] >= 4, "in sigmas the scale ends at %g" % shown(b)["limit"]
    fleet(b, "option(chooser('Roofs'), 'levels')")
    assert all("roof" in c for c in shown(b)["columns"]), "levels: %s" % shown(b)["columns"]
    fleet(b, "option(chooser('Roofs'), arguments[0])", SET[:-2])
    assert all(c.startswith(SET) for c in shown(b)["columns"]), "a set: %s" % shown(b)["columns"]
    fleet(b, "option(chooser('Rows'), '0')")
    box = shown(b)["box"]
    assert box["row"] * NODES <= 481, "rows of %g pixels" % box["row"]
    b.js("[...document.querySelectorAll('#spread-plots button')].find(e => e.textContent === 'fma').click()")
    assert shown(b)["order"][-1] == FAST, "by fma the last one is %s" % shown(b)["order"][-1]
    fleet(b, "option(chooser('Set'), 'avx512 dp, 1 thread')")
    assert shown(b)["set"] == "avx512 dp, 1 thread"
    fleet(b, "option(chooser('Loads to stores'), '1:0')")
    assert SLOW_LEVEL + " 1:0" in drawn_roofs(b), "the mix: %s" % sorted(drawn_roofs(b))
    fleet(b, "option(chooser('Shown'), '1')")
    assert len(shown(b)["order"]) == 6 and shown(b)["order"][0].startswith("fat"), "group 2: %s" % shown(b)["order"]
    quiet(b)


def search(b, url, _pages):
    on_map(b, url)
    b.click("#search")
    b.key("R", "1", "-", "n", "1")
    look(b, "the nodes found", "return carmFleetView().shown.order.length === 10")
    assert all(n.startswith("r1-n1") for n in shown(b)["order"]), "found: %s" % shown(b)["order"]
    assert b.js("return document.activeElement.id") == "search", "the search loses the focus"
    assert "10 nodes" in b.js("return document.getElementById('found').textContent")
    b.key("enter")
    look(b, "the first one is chosen", "return carmFleetView().node === carmFleetView().shown.order[0]")
    fleet(b, "type(document.getElementById('search'), 'no such node')")
    assert shown(b)["order"] == [], "nodes without the word are found"
    quiet(b)


def keyboard(b, url, _pages):
    on_map(b, url)
    b.click("#search")
    b.key("tab")
    assert b.js("return document.activeElement.id") == "heat-scroll", "tab leads to %s" % b.js("return document.activeElement.id")
    text = look(b, "the first cell's tip", "return tip()")
    assert shown(b)["order"][0] in text, "the tip is '%s'" % text
    b.key("down", "down", "right", "right", "right")
    now = shown(b)
    text = look(b, "a cell's tip", "return tip()")
    assert now["order"][2] in text and now["columns"][3] in text, "the tip is '%s'" % text
    b.key("enter")
    look(b, "the node is chosen", "return carmFleetView().node === arguments[0]", now["order"][2])
    b.key("+")
    look(b, "higher rows", "return carmFleetView().rows === 24")
    for key in 45 * ["down"]:
        b.key(key)
    text = look(b, "the last row's tip", "return tip()")
    assert now["order"][-1] in text, "the tip is '%s'" % text
    assert b.js("return document.getElementById('heat-scroll').scrollTop") > 0, "the map does not scroll"
    reach = b.js("""return [...document.querySelectorAll('main a, main button, main select, main input')].filter(
        e => e.checkVisibility() && e.tabIndex < 0).length""")
    assert not reach, "%d parts cannot be reached by key" % reach


def deep_link(b, url, _pages):
    on_map(b, url)
    node = shown(b)["order"][5]
    fleet(b, """option(chooser('Order'), 'name'); option(chooser('Colour'), 'sigmas');
        option(chooser('Roofs'), 'levels'); option(chooser('Loads to stores'), '1:1')""")
    fleet(b, "type(document.getElementById('search'), arguments[0])", node)
    b.click("#search")
    b.key("enter")
    want = b.js("return JSON.stringify(carmFleetView())")
    link = b.js("return location.href")
    b.go("about:blank")
    b.go(link)
    ready(b)
    assert b.js("return JSON.stringify(carmFleetView())") == want, "the link shows another view"
    assert b.js("return document.getElementById('search').value") == node
    for hash_ in ("#%", "#null", "#[]", "#%7B%22group%22%3A99%7D", "#%7B%22node%22%3A%22__proto__%22%2C%22order%22%3A%22__proto__%22%7D",
                  "#%7B%22zoom%22%3A%7B%22fleet%22%3A%5B1e999%5D%7D%2C%22rows%22%3A-1%2C%22columns%22%3A%22x%22%2C%22set%22%3A3%2C%22sort%22%3A1%7D"):
        b.go("about:blank")
        b.go(url + hash_)
        ready(b)
        assert shown(b)["order"][0] in (SLOW, FAST), "%s: the first is %s" % (hash_, shown(b)["order"][0])
        assert drawn_roofs(b), "%s: no roofs" % hash_
    quiet(b)


def narrow(b, url, _pages):
    opened(b, url, width=400, height=800)
    wide = b.js("""const w = innerWidth, inner = e => e.closest('table.cards thead, #heat-space');
        const out = [...document.body.querySelectorAll('*')].filter(e => {
            const c = e.getBoundingClientRect();
            return c.width && c.right + scrollX > w + 1 && e.checkVisibility() && !inner(e);
        }).slice(0, 5).map(e => e.tagName + '.' + (e.id || e.getAttribute('class')));
        return {scroll: document.documentElement.scrollWidth, w, out}""")
    assert wide["w"] == 400 and wide["scroll"] <= 400 and not wide["out"], "%(scroll)d px wide in %(w)d: %(out)s" % wide
    small = fleet(b, "return [map, ...document.querySelectorAll('figure svg')].filter(seen).map(e => e.getBoundingClientRect().width)")
    assert len(small) > 15 and min(small) >= 100, "plots are %s px wide" % sorted(small)[:3]


def prints(b, url, _pages):
    opened(b, url, media="print", prefers_color_scheme="dark")
    left = b.js("return [...document.querySelectorAll('select, #search, main button.more')].filter(e => e.checkVisibility()).length")
    assert not left, "%d choices are printed" % left
    back, text = colours(b)
    assert back > 0.95 and text < 0.05, "printed with luminances %.2f on %.2f" % (text, back)
    assert b.js("return document.querySelector('#outliers-table tbody button').checkVisibility()"), "the names are not printed"
    assert luminance(fleet(b, GROUND)) > 0.95, "the map is printed on %s" % fleet(b, GROUND)
    b.media(prefers_color_scheme="dark")
    look(b, "the map is dark on the screen", JS + ON_SCREEN)
    b.media(media="print", prefers_color_scheme="dark")
    look(b, "the map is light on paper again", JS + ON_PAPER)
    page = b.pdf()
    assert page[:5] == b"%PDF-" and len(page) > 10000, "no PDF"


def dark_and_light(b, url, _pages):
    for scheme, dark in (("dark", True), ("light", False)):
        opened(b, url, prefers_color_scheme=scheme)
        back, text = colours(b)
        assert (back < 0.2) == dark and contrast(back, text) >= 7, "%s: %.2f on %.2f" % (scheme, text, back)
        ink = fleet(b, """return [...document.querySelectorAll('svg text')].filter(t => seen(t) && t.textContent.trim())
            .map(t => [t.textContent, getComputedStyle(t).fill])""")
        for name, colour in ink:
            assert contrast(back, luminance(colour)) >= 3, "%s: '%s' is faint" % (scheme, name)
        middle = fleet(b, GROUND)
        assert abs(luminance(middle) - back) < 0.05, "%s: the map's ground is %s" % (scheme, middle)


def hostile_names(b, url, _pages):
    b.fresh(url)
    b.wait("the page is drawn", "return window.pwned || document.body && document.body.dataset.ready === '1'")
    nothing_ran(b)
    fleet(b, "document.getElementById('heat').scrollIntoView(); option(chooser('Roofs'), 'levels')")
    now = shown(b)
    assert len(now["order"]) >= 8, "nodes: %r" % now["order"]
    for node in now["order"]:
        at = cell(b, node, now["columns"][0])
        shows("a tip", tip_after_move(b, at["x"], at["y"]), [node])
        nothing_ran(b)
    text = b.js("document.querySelectorAll('details').forEach(d => d.open = true); return document.body.innerText")
    for where, name in (("the outlier", HOSTILE[0]), ("the hypervisor", HOSTILE[1]), ("a status", HOSTILE[3]), ("the CPU", HOSTILE[6])):
        assert shown_as(name).search(text), "%s is not shown" % where
    roofs = read(b, "return roofs('fleet').map(r => r.name)")
    assert HOSTILE[0] in roofs, "no roof is named so, but %s" % roofs
    for node in now["order"][:4]:
        link = b.js("return location.href.split('#')[0] + '#' + encodeURIComponent(JSON.stringify({node: arguments[0]}))", node)
        b.go("about:blank")
        b.go(link)
        b.wait("its link is drawn", "return document.body && document.body.dataset.ready === '1'")
        assert shown(b)["node"] == node, "the link of %r shows %r" % (node, shown(b)["node"])
        nothing_ran(b)
    marks_stay_inside(b)
    quiet(b)


def crowd(b, url, pages):
    """10 000 nodes: size, load and hover. The figures are told, and decide nothing."""
    size = len(pages.text(url).encode())
    assert size < 25e6, "%.1f MB for 10000 nodes" % (size / 1e6)
    start = time.monotonic()
    on_map(b, url)
    took = {"load": time.monotonic() - start}
    now = shown(b)
    assert b.js("return Number(document.getElementById('heat-map').dataset.rows)") == 10000
    assert now["order"][0] == "c155-n27", "the first is %s" % now["order"][0]
    at = cell(b, now["order"][3], SET + "fma")
    start = time.monotonic()
    text = tip_after_move(b, at["x"], at["y"])
    took["hover"] = time.monotonic() - start
    assert now["order"][3] in text, "the tip is '%s'" % text
    start = time.monotonic()
    b.js("document.getElementById('heat-scroll').scrollTop = 1e6")
    look(b, "the map scrolls", "return Number(document.getElementById('heat-map').dataset.first) > 9000")
    took["scroll"] = time.monotonic() - start
    fleet(b, "type(document.getElementById('search'), 'c123-n4')")
    assert len(shown(b)["order"]) == 10, "found: %d" % len(shown(b)["order"])
    start = time.monotonic()
    fleet(b, "option(chooser('Rows'), '0'); type(document.getElementById('search'), '')")
    took["all rows"] = time.monotonic() - start
    assert shown(b)["box"]["row"] < 1
    quiet(b)
    return "%.1f MB; " % (size / 1e6) + "; ".join("%s %.2f s" % item for item in took.items())


def few(b, url, _pages):
    loads(b, url, _pages)
    assert "fewer than three nodes" in b.js("return document.getElementById('group-facts').innerText")
    assert "None:" in b.js("return document.getElementById('outliers').innerText")
    assert drawn_roofs(b), "no roofs"


def only_failed(b, url, _pages):
    loads(b, url, _pages)
    text = b.js("return document.body.innerText")
    assert "no answer within 600 s" in text and shown_as(HOSTILE[1]).search(text), "the reasons are not there"
    assert not b.js("return document.getElementById('heat').checkVisibility()"), "an empty map is shown"
    nothing_ran(b)
