# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of `carm report` in a headless Chromium without network. Prints TAP.

usage: report_browser.py CARM TOP [WORD]  (WORD: only the tests whose names have it)"""
import json
import os
import sys

import report_drawn as drawn
import report_hands as hands
import report_keys as keys
import report_media as media
import report_table as table
from browser_run import main, on
from report_faults import CROWD_FAULTS, FAULTS, NASTY_FAULTS, fails
from report_hostile import hostile_names_are_text, names_are_text
from report_page import HOSTILE, POINTS, Pages, many, scaled


def bare(b, _url, pages):
    """A model without curves, ceilings and validation, no points."""
    model = dict(pages.model, curves=[], flop_curves=[], validation=[],
                 roofs=[dict(s, ceilings=[]) for s in pages.model["roofs"][:1]])
    del model["roofs"][0]["ceilings"]
    url = pages.make("bare", model, None)
    drawn.loads(b, url, pages)
    for plot in drawn.PLOTS:
        drawn.drawn_at_values(b, plot)


LATENCIES = ("core", "latency", "latency_curves", "in_flight", "loaded", "core_to_core")


def latencies(b, _url, pages):
    """Curves with each point, a row for each figure, and names that are text; the sample says that it has none."""
    with open(os.path.join(pages.top, "tests", "data", "latency-model.json"), encoding="utf-8") as f:
        measured = json.load(f)
    model = dict(pages.model, **{key: measured[key] for key in LATENCIES})
    model["latency"][0]["note"] = model["loaded"][0]["ldst"] = HOSTILE[0]
    drawn.loads(b, pages.make("latencies", model, POINTS[:1]), pages)
    assert b.js("return window.pwned") is None, "a name is markup"
    for figure, key in (("curve-latency", "latency_curves"), ("curve-loaded", "loaded")):
        want = sum(len(c["points"]) for c in model[key])
        there = b.js("return document.querySelectorAll('#%s svg circle').length" % figure)
        assert there >= want > 0, "%s has %s of %s points" % (figure, there, want)
    rows = b.js("return [...document.querySelectorAll('#latency table')].map(t => t.tBodies[0].rows.length)")
    ids = {p[end] for p in model["core_to_core"] for end in ("from", "to")}
    assert rows == [len(model["latency"]), len(model["in_flight"]), len(ids), len(model["core"])], rows
    drawn.loads(b, pages.make("without", dict(pages.model), POINTS[:1]), pages)
    assert "no latencies" in b.js("return document.querySelector('#latency').textContent")


def one_point(b, _url, pages):
    url = pages.make("one", pages.model, POINTS[:1])
    drawn.loads(b, url, pages)
    drawn.collisions(b, "one point")


def integers(b, _url, pages):
    """Operations on integers have no height on an axis of flop/s."""
    drawn.loads(b, pages.make("integers", pages.model, POINTS[:1] + [("count", 2.0, 5e12, 4.0)]), pages)
    text = b.js("return document.querySelector('#places').textContent")
    assert "Top/s" in text, "it has no place in the table: %s" % text[:200]
    n = b.js("return document.querySelectorAll('#plot-cache-aware .point').length")
    assert n == 1, "%d points are drawn" % n


def without_bytes(b, _url, pages):
    """A loop that accesses no memory has an infinite intensity; one of integers has its own unit."""
    rows = ("name,flops,bytes,seconds,threads,operations,metric,precision\nregisters,2e9,0,0.2,1,,,\n"
            "count,0,1e9,0.2,1,5e8,op,int8\n")
    drawn.loads(b, pages.make("no-bytes", pages.model, rows), pages)
    cells = b.js("""return [...document.querySelectorAll('#places tbody tr[data-name]')].map(
        r => [...r.cells].find(c => c.dataset.label === 'flop/byte (core)').textContent)""")
    assert cells == ["\u221e, no bytes", "0.5 op/byte"], "intensities: %s" % cells


def parts(b, _url, pages):
    """Rows of carm run: a loop, the kernel without counts, the others without a time."""
    rows = ("name,flops,bytes,seconds,kind,time_share,entries,trips\n"
            "app: loop,2e9,1e9,0.2,loop,0.5,10,100\napp: the kernel,,,0.1,kernel,0.4,,\napp: others,0,5e5,,others,0.1,,\n")
    drawn.loads(b, pages.make("parts", pages.model, rows), pages)
    text = b.js("return document.querySelector('#places').textContent")
    for words in ("entered 10 times, 100 iterations each", "40.0% of the program's time"):
        assert words in text, "%s is not in %s" % (words, text[:400])


LOOP = {"verdict": {"limit": "l2", "iteration_seconds": 2e-9, "advice": [],
                    "bounds": [{"limit": "l2", "words": "L2 bandwidth", "seconds": 1.8e-9, "origin": HOSTILE[0], "estimate": False, "refuted": False},
                               {"limit": "issue", "words": "instructions", "seconds": 5e-10, "origin": "x", "estimate": True, "refuted": False}],
                    "accesses": 2 * [{"offset": 64, "kind": "load", "pattern": "stride", "stride_bytes": 4096, "executions": 1, "lines": 1}]},
        "iterations": 1e6, "file": "a.c", "why": "", "left_out": 0, "access_lines": [12, 12],
        "lines": [{"line": 11, "executions": 0, "text": "for (;;)"}, {"line": 12, "executions": 1e6, "text": HOSTILE[1]}]}


def verdicts(b, _url, pages):
    """The page begins with the table of verdicts; a row opens its loop with bounds, code and accesses."""
    rows = ("name,flops,bytes,seconds,kind,time_share,limit,limit_by,explains,second,gain_low,gain_high,advice\n"
            "cold,2e9,1e9,0.1,loop,0.1,issue,bound,0.8,,1,,\n%s,2e9,1e9,0.9,loop,0.9,l2,bound,0.9,,2,4,block\nnone,1e9,1e9,1,,,,,,,,,\n"
            % "<b>hot</b>")
    url = pages.make("verdicts", pages.model, rows)
    escaped = "".join("\\u%04x" % ord(c) if c in "<>&" else c for c in json.dumps([None, LOOP, None]))
    drawn.loads(b, pages.altered(url, "opened", lambda text: text.replace('"loops": []', '"loops": ' + escaped), policy=True), pages)
    b.js("document.querySelector('#verdicts td button').click()")
    seen = b.js("""const s = document.querySelector('#verdicts'), rows = [...s.querySelectorAll('tr[data-name]')];
        return {first: document.querySelector('main').firstElementChild.id, names: rows.map(r => r.dataset.name), text: s.textContent,
            bars: [...s.querySelectorAll('.bound i')].map(i => i.offsetWidth / i.parentNode.offsetWidth),
            hot: s.querySelector('tr.hottest').textContent, wide: document.documentElement.scrollWidth <= innerWidth,
            buttons: s.querySelectorAll('td button').length, pwned: window.pwned}""")
    assert seen["first"] == "verdicts" and seen["names"] == ["<b>hot</b>", "cold"], seen
    assert seen["text"].count("limited by L2 bandwidth for 90% of its time: block the loops") == 1, seen["text"]
    assert "2 times: load of line 12: moves by 4096 bytes each iteration, a new line of 64 bytes each time" in seen["text"], seen["text"]
    assert all(abs(w - want) < 0.02 for w, want in zip(seen["bars"], (0.9, 0.25), strict=True)), seen["bars"]
    assert "1.000 M12" in seen["hot"] and seen["buttons"] == 1 and seen["wide"] and seen["pwned"] is None, seen
    b.size(1400, 900)
    left, right = b.js("""return ['verdicts', 'rooflines'].map(id => {
        const r = document.getElementById(id).getBoundingClientRect(); return [r.left, r.right, r.top]; })""")
    assert left[1] <= right[0] and abs(left[2] - right[2]) < 1, "the rooflines are not beside the verdicts: %s, %s" % (left, right)
    beside, over = b.js("""const table = document.querySelector('#verdicts'), top = (id) => document.getElementById(id).getBoundingClientRect().top;
        table.style.paddingBottom = '2000px';
        table.scrollIntoView();
        window.scrollBy(0, 300);
        const beside = top('h-rooflines');
        document.querySelector('#placement').scrollIntoView();
        const over = document.querySelector('#plot-cache-aware').getBoundingClientRect().bottom - top('warnings');
        table.style.paddingBottom = '';
        window.scrollTo(0, 0);
        return [beside, over];""")
    assert beside >= 0 and over <= 0, "the rooflines do not stay beside the table, or lie on later sections: %s, %s" % (beside, over)
    b.size(390, 844)
    assert b.js("return document.documentElement.scrollWidth <= innerWidth"), "a phone scrolls sideways"
    cells = b.js("return [...document.querySelector('tr.hottest').cells].map((c) => [c.getBoundingClientRect().top, getComputedStyle(c).whiteSpace])")
    assert len({top for top, _ in cells}) == 1 and cells[2][1] == "pre", "code is no table on a phone: %s" % cells
    drawn.loads(b, pages.make("unjudged", pages.model, POINTS[:1]), pages)
    assert b.js("return document.querySelector('#verdicts').hidden"), "an empty table"


def labels(b, _url, pages):
    """A long name keeps its end, and peaks that differ by less than 1% have one label."""
    drawn.loads(b, pages.make("labels", pages.model, [("a_function_whose_name_is_long loop solver.c:123", 0.1, 1e9, 0.2)]), pages)
    seen = b.js("return [...document.querySelectorAll('#plot-cache-aware svg text')].map((t) => t.textContent)")
    assert [t for t in seen if t.endswith("loop solver.c:123") and "\u2026" in t], seen
    assert [t for t in seen if t.startswith(("add, mul ", "mul, add "))], seen
    # below its line where the point of a loop with most of the time is in the way above it
    url = pages.make("side", pages.model, "name,flops,bytes,seconds,threads,kind,time_share\nhot,1e9,8e9,0.5,1,loop,0.98\n")
    b.fresh(url, 440, 900)
    seen = b.js("return [...document.querySelectorAll('#plot-cache-aware text.label')].map((t) => t.textContent)")
    assert all([t for t in seen if t.startswith(level)] for level in ("L1 ", "L2 ", "L3 ", "DRAM ")), seen
    b.size(1400, 900)
    # a name keeps clear of the roof that its point lies on, and few points lie over the labels, many under them
    peak = b.js("return +document.querySelector('#plot-cache-aware .roofs [data-name=div]').dataset.value")
    drawn.loads(b, pages.make("on", pages.model, [("on", 2.0, peak, 0.2)]), pages)
    on = b.js("""const name = document.querySelector('#plot-cache-aware text.point-name').getBBox();
        const y = +document.querySelector('#plot-cache-aware circle.point').getAttribute('cy');
        return [name.y, name.y + name.height, y]""")
    assert on[2] < on[0] + 2 or on[2] > on[1] - 2, "a roof goes through a name: %s" % on
    order = "return [...document.querySelectorAll('#plot-cache-aware svg > g')].map((g) => g.getAttribute('class'))"
    few = b.js(order)
    drawn.loads(b, pages.make("many", pages.model, [("p%d" % i, 2.0, 1e9 + i, 0.2) for i in range(80)]), pages)
    many = b.js(order)
    assert few.index("points-layer") > few.index("labels") and many.index("points-layer") < many.index("labels"), (few, many)


def crowd_of_500(b, _url, pages):
    drawn.loads(b, pages.make("500", pages.model, many(500)), pages)
    n = b.js("return document.querySelectorAll('#plot-cache-aware .point').length")
    assert n == 500, "%d of 500 points are drawn" % n
    table.many_rows(b)


def figures_of_many(b, _url, pages):
    """Beyond some 2000 points, those that took longest have advice, and the others their figures."""
    rows = "name,flops,bytes,seconds\n" + "".join("p%d,1e9,8e9,%d\n" % (i, 5000 - i) for i in range(2500))
    drawn.loads(b, pages.make("many", pages.model, rows), pages)
    cells = """return ['p3', 'p2499'].map((name) => {
        const s = document.getElementById('search'); s.value = name; s.dispatchEvent(new Event('input'));
        return Object.fromEntries([...[...document.querySelectorAll('#places tbody tr')].find((r) => r.dataset.name === name).cells]
            .map((c) => [c.dataset.label, c.textContent])); })"""
    told, short = b.js(cells)
    assert "cache-aware: " in told["what to try, notes"] and short["what to try, notes"] in ("", "\u2013"), (told, short)
    assert short["flop/s"] == "399.8 kflop/s" and short["flop/byte (core)"] == "0.125", short
    assert {told[k] for k in ("under", "bound by (core)")} == {short[k] for k in ("under", "bound by (core)")}, (told, short)
    assert "is here for the 500 points that took longest" in b.js("return document.getElementById('placement').textContent")


def before_and_after(b, _url, pages):
    """Two files of points: an arrow for each name that is in both and has moved."""
    name, intensity, rate, dram = POINTS[0]
    drawn.loads(b, pages.make("arrows", pages.model, [(name, intensity, rate / 4, dram), *POINTS[1:3]], POINTS), pages)
    names = b.js("return [...document.querySelectorAll('#plot-cache-aware .arrow')]"
                 ".filter((a) => a.getAttribute('d')).map((a) => a.dataset.name)")
    assert names == [name], names


def narrower(b, _url, pages):
    """A narrower ISA that is faster in L1 and at the peak: its roofs come with the wider set."""
    narrow = scaled(pages.model["roofs"][1], "avx2", "dp", 1.2)
    narrow["memory"] = [m for m in narrow["memory"] if m["level"] == "L1"]
    model = dict(pages.model, roofs=[narrow] + pages.model["roofs"][:2])
    drawn.loads(b, pages.make("narrower", model, None), pages)
    have = drawn.look(b, "roofs", "return roofs('cache-aware')")
    lines = {r["name"]: r for r in have}
    peak = max(c["rate"] for c in narrow["compute"])
    for name, value in (("avx2 L1 2:1", narrow["memory"][0]["bandwidth"]), ("avx2 fma", peak)):
        assert name in lines, "%s is not among %s" % (name, sorted(lines))
        assert lines[name]["isa"] == "avx512" and abs(lines[name]["value"] / value - 1) < 1e-9, lines[name]


def tests():
    """(name, function of a browser and pages)"""
    yield "loads without network, errors or requests", on("sample", drawn.loads)
    yield "a bare model without points", lambda b, pages: bare(b, None, pages)
    yield "at most 1.5 MB without data", on("sample", drawn.size)
    yield "the machine, fitness, warnings and advice are there", on("sample", drawn.contents)
    yield "the roofs equal the model's", on("sample", drawn.roofs_equal_the_model)
    yield "roofs are drawn where their values are", on("sample", drawn.roofs_are_drawn_where_they_belong)
    yield "points are drawn where their values are", on("sample", drawn.points_are_drawn_where_they_belong)
    yield "texts neither overlap nor are cut", on("sample", drawn.texts_do_not_collide)
    yield "... with hostile names, too", on("nasty", drawn.texts_do_not_collide)
    yield "narrower vectors that are faster", lambda b, pages: narrower(b, None, pages)
    yield "arrows from before to after", lambda b, pages: before_and_after(b, None, pages)
    yield "latencies", lambda b, pages: latencies(b, None, pages)
    yield "one point", lambda b, pages: one_point(b, None, pages)
    yield "operations that are no flops stay off the plots", lambda b, pages: integers(b, None, pages)
    yield "no bytes is an infinite intensity, no empty cell", lambda b, pages: without_bytes(b, None, pages)
    yield "parts of a program, with and without counts", lambda b, pages: parts(b, None, pages)
    yield "verdicts come first, and open their loops", lambda b, pages: verdicts(b, None, pages)
    yield "names keep their ends, equal peaks share a label", lambda b, pages: labels(b, None, pages)
    yield "500 points", lambda b, pages: crowd_of_500(b, None, pages)
    yield "figures of many points", lambda b, pages: figures_of_many(b, None, pages)
    yield "every toggle changes what is drawn", on("sample", hands.toggles_change_what_is_drawn)
    yield "hovering a roof tells its value, interval and code", on("sample", hands.hover_roofs)
    yield "hovering a point tells its values", on("sample", hands.hover_points)
    yield "pointing at a point draws the roof of its own mix", on("sample", hands.own_roof)
    yield "pointing at a point draws it once for each level", on("sample", hands.levels)
    yield "keys reach toggles and roofs", on("sample", keys.keyboard)
    yield "keys scroll a roof into sight with its tip", on("sample", keys.keys_scroll)
    yield "keys zoom and move", on("sample", keys.keys_zoom)
    yield "arrow keys go through the points", on("sample", keys.keys_points)
    yield "wheel, drag and reset", on("sample", hands.zoom_and_pan)
    yield "a link restores the view", on("sample", hands.deep_link)
    yield "a garbled link does no harm", on("sample", hands.garbage_links)
    yield "400 pixels are wide enough", on("sample", media.narrow)
    yield "... with hostile names as well", on("nasty", media.narrow)
    yield "prints without toggles, black on white", on("sample", media.prints)
    yield "dark and light", on("sample", media.dark_and_light)
    yield "the switch of colours", on("sample", media.theme_switch)
    yield "the table sorts", on("sample", table.table_sorts)
    yield "the table's rows mark their points", on("sample", table.table_is_linked)
    yield "10000 points stay interactive", on("crowded", hands.crowd)
    yield from names_are_text(hostile_names_are_text)
    faults = [(page, *fault) for page, some in (
        ("sample", FAULTS), ("nasty", NASTY_FAULTS), ("crowded", CROWD_FAULTS)) for fault in some]
    for i, (page, check, name, script) in enumerate(faults):
        yield "%s fails with %s" % (check.__name__, name), fails(page, check, i, script)


if __name__ == "__main__":
    sys.exit(main("the report", Pages, tests))
