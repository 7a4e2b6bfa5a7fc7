# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of what a report draws: against its model and points, by values and by pixels. A check takes a
browser, a page's URL and what the pages were made of, and raises AssertionError."""
import json
import math
import re

from report_page import DATA_BLOCK, POINTS, look, opened, read

PLOTS = ("cache-aware", "original")


def all_on(b):
    """Draws everything that toggles can hide: by a link, as clicks would draw it anew for each toggle."""
    read(b, """const all = Object.fromEntries(toggles().map(t => [t.dataset.toggle, true]));
        location.hash = encodeURIComponent(JSON.stringify({toggles: all}))""")
    look(b, "all toggles are on", "return toggles().every(t => t.checked)")


def quiet(b):
    """No errors on the console, and no request but for the page itself."""
    bad = [e["message"] for e in b.log("browser") if e["level"] == "SEVERE"]
    assert not bad, "the console has: " + "; ".join(bad)
    asked = []
    for entry in b.log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    here = b.js("return location.href.split('#')[0]")
    foreign = [u for u in asked if u.split("#")[0] != here and not re.match("(data|blob|about|chrome):", u)]
    assert not foreign, "the page asked for " + ", ".join(foreign)


def loads(b, url, _pages):
    opened(b, url)
    quiet(b)


def expected(model):
    """{(kind, name, isa, precision, threads): value} of the cache-aware model."""
    want = {}
    for s in model["roofs"]:
        key = (s["isa"], s["precision"], str(s["threads"]))
        for m in s["memory"]:
            want["memory", "%(level)s %(ldst)s" % m, *key] = m["bandwidth"]
        for c in s["compute"]:
            want["compute", c["op"], *key] = c["rate"]
    return want


def found(drawn):
    have = {}
    for r in drawn:
        key = (r["kind"], r["name"], r["isa"], r["precision"], r["threads"])
        assert key not in have, "drawn twice: %s" % (key,)
        have[key] = r["value"]
    return have


def same(have, want, what):
    for key in sorted(want.keys() | have.keys()):
        assert key in have, "%s: not drawn: %s" % (what, key)
        assert key in want, "%s: drawn, but not in the model: %s" % (what, key)
        assert abs(have[key] / want[key] - 1) < 1e-9, \
            "%s: %s is %.9g and not %.9g" % (what, key, have[key], want[key])


def roofs_equal_the_model(b, url, pages):
    opened(b, url)
    all_on(b)
    have = look(b, "roofs", "return roofs('cache-aware')")
    same(found(have), expected(pages.model), "cache-aware")
    have = look(b, "roofs", "return roofs('original')")
    for s in pages.model["roofs"]:
        key = {"isa": s["isa"], "precision": s["precision"], "threads": str(s["threads"])}
        own = [r for r in have if all(r[k] == v for k, v in key.items())]
        peak = [r["value"] for r in own if r["kind"] == "memory" and "DRAM" in r["name"]]
        assert any(abs(v / s["dram_peak"]["bandwidth"] - 1) < 1e-9 for v in peak), \
            "original: DRAM's peak of %s is not drawn, but %s" % (key, peak)
        rates = [r["value"] for r in own if r["kind"] == "compute"]
        for c in s["compute"]:
            assert any(abs(v / c["rate"] - 1) < 1e-9 for v in rates), \
                "original: %s of %s is not drawn" % (c["op"], key)


def scales(b, plot):
    axes = read(b, "return axes(arguments[0])", plot)
    for axis in "xy":
        assert axis in axes, "%s: no %s axis with ticks" % (plot, axis)
        assert axes[axis]["off"] < 1, "%s: ticks of %s are %.1f px off" % (plot, axis, axes[axis]["off"])
    assert axes["x"]["b"] > 0 > axes["y"]["b"], "%s: an axis runs the wrong way" % plot
    ratio = -axes["x"]["b"] / axes["y"]["b"]
    assert 0.2 < ratio < 5, "%s: the axes' scales are far from one to one" % plot
    return axes


def pixel(axes, axis, value):
    return (math.log2(value) - axes[axis]["a"]) / axes[axis]["b"]


def drawn_at_values(b, plot, shortest=3, tolerance=1.5):
    """The ends of each drawn roof lie on its line, to within the tolerance in pixels."""
    axes = scales(b, plot)
    drawn = read(b, "return roofs(arguments[0])", plot)
    assert drawn, "%s: no roofs" % plot
    for r in drawn:
        for x, y in (r["from"], r["to"]):
            intensity = 2 ** (axes["x"]["a"] + axes["x"]["b"] * x)
            rate = r["value"] * (intensity if r["kind"] == "memory" else 1)
            off = pixel(axes, "y", rate) - y
            assert abs(off) <= tolerance, "%s: %s %s %s is drawn %.1f px off" % (
                plot, r["name"], r["isa"], r["threads"], off)
        assert r["to"][0] - r["from"][0] >= shortest, "%s: %s has no length" % (plot, r["name"])


def roofs_are_drawn_where_they_belong(b, url, _pages):
    opened(b, url)
    for plot in PLOTS:
        drawn_at_values(b, plot)


def points_are_drawn_where_they_belong(b, url, _pages):
    opened(b, url)
    for plot in PLOTS:
        axes = scales(b, plot)
        drawn = read(b, """return [...svgOf(arguments[0]).querySelectorAll('.point')].filter(seen).map(e => {
            const r = e.getBoundingClientRect();
            return {...e.dataset, px: r.x + r.width / 2, py: r.y + r.height / 2};
        })""", plot)
        have = {p["name"]: p for p in drawn}
        assert len(have) == len(drawn) == len(POINTS), "%s: %d points" % (plot, len(drawn))
        for name, intensity, rate, dram in POINTS:
            p = have[name]
            x = intensity if plot == "cache-aware" else dram
            for what, value, want in (("x", p["x"], x), ("y", p["y"], rate), ("value", p["value"], rate)):
                assert abs(float(value) / want - 1) < 1e-4, "%s: data-%s is %s" % (name, what, value)
            off = math.hypot(pixel(axes, "x", x) - p["px"], pixel(axes, "y", rate) - p["py"])
            assert off < 2.5, "%s: %s is drawn %.1f px off" % (plot, name, off)


def texts_do_not_collide(b, url, _pages):
    """The pictures' texts lie within them and not on each other, turned ones as they are turned: at
    first, with everything drawn, and on a small screen."""
    for width in (1280, 400):
        opened(b, url, width=width)
        collisions(b, "%d px" % width)
        all_on(b)
        collisions(b, "%d px, all toggles on" % width)


def collisions(b, where):
    boxes = read(b, """return [...document.querySelectorAll('svg')].filter(seen).map(s => {
        const frame = s.getBoundingClientRect(), figure = s.closest('[id]');
        return {plot: figure ? figure.id : 'svg', frame: [frame.left, frame.top, frame.right, frame.bottom],
            texts: [...s.querySelectorAll('text')].filter(t => seen(t) && t.textContent.trim()).map(t => {
                const r = t.getBBox(), m = t.getScreenCTM();
                return {text: t.textContent, corners: [[r.x, r.y], [r.x + r.width, r.y],
                    [r.x + r.width, r.y + r.height], [r.x, r.y + r.height]].map(([x, y]) =>
                    [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f])};
            })};
    })""")
    for plot in boxes:
        where_in = "%s, %s" % (where, plot["plot"])
        left, top, right, bottom = plot["frame"]
        for t in plot["texts"]:
            assert all(left - 1 <= x <= right + 1 and top - 1 <= y <= bottom + 1 for x, y in t["corners"]), \
                "%s: '%s' is cut" % (where_in, t["text"])
        for i, one in enumerate(plot["texts"]):
            for other in plot["texts"][:i]:
                assert depth(one["corners"], other["corners"]) <= 3, \
                    "%s: '%s' and '%s' overlap" % (where_in, one["text"], other["text"])


def depth(one, other):
    """How deep two rectangles lie in each other: the least overlap over their four axes, in pixels."""
    least = math.inf
    for box in (one, other):
        for k in (0, 1):
            ax, ay = box[k + 1][0] - box[k][0], box[k + 1][1] - box[k][1]
            length = math.hypot(ax, ay) or 1
            p = [(x * ax + y * ay) / length for x, y in one]
            q = [(x * ax + y * ay) / length for x, y in other]
            least = min(least, min(max(p), max(q)) - max(min(p), min(q)))
    return least


def contents(b, url, pages):
    """The machine, all roofs' values, fitness and advice are in the page's text."""
    opened(b, url)
    text = read(b, "document.querySelectorAll('details').forEach(d => d.open = true);"
                   "return document.body.innerText")
    model = pages.model
    for part in (model["machine"]["cpu"], model["machine"]["hostname"], model["machine"]["hypervisor"],
                 model["carm_version"], "480 MiB", "104 MiB"):
        assert part in text, "the page lacks '%s'" % part
    for v in model["validation"]:
        assert re.search(r"\b%.1f" % v["fitness"], text), "the page lacks the fitness %.1f" % v["fitness"]
    disturbed = [m for s in model["roofs"] for m in s["memory"] + s["compute"] if m["disturbed"]]
    assert disturbed, "the sample has no disturbed roof"
    assert "disturbed" in text, "no warning of disturbed roofs"
    advice = read(b, "return JSON.parse(document.getElementById('carm-data').textContent).places"
                     ".map(p => p.cache_aware.advice)")
    for line in advice:
        assert line in text, "the page lacks the advice '%s'" % line


def size(b, url, pages):
    text = pages.text(url)
    block = DATA_BLOCK.search(text)
    rest = len((text[:block.start(2)] + text[block.end(2):]).encode())
    assert rest <= 1.5e6, "%d bytes without data" % rest
    return "%d bytes without data" % rest
