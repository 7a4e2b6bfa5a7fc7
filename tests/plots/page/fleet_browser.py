# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of `carm fleet report` in a headless Chromium without network. Prints TAP.

usage: fleet_browser.py CARM TOP [WORD]  (WORD: only the tests whose names have it)"""
import functools
import sys

import fleet_checks as checks
from browser_run import caught, main
from fleet_page import FleetPages
from report_faults import READY
from report_hostile import AS_MARKUP, policy_stops_script
from report_page import unescaped

# Each is a script that runs before the page's own, and that the check beside it must catch.
FAULTS = [
    (checks.loads, "a request", "new Image().src = 'http://example.invalid/planted.png'"),
    (checks.loads, "an error on the console", "console.error('planted')"),
    (checks.planted_node_stands_out, "a map without cells",
     "CanvasRenderingContext2D.prototype.fillRect = function () {}"),
    (checks.planted_node_stands_out, "values of other nodes",
     "whenReady(() => { const v = carmFleetView; window.carmFleetView = () => { const o = v(); o.shown.order.reverse(); return o; }; })"),
    (checks.hover_tells_values, "rates that are 1% off",
     "const f = Number.prototype.toFixed; Number.prototype.toFixed = function (n) { return f.call(this * 1.01, n); }"),
    (checks.hover_tells_values, "no tips", "deaf(['mousemove'], '#heat-scroll')"),
    (checks.chosen_node_is_shown, "a click that does nothing", "deaf(['click'], '#heat-scroll')"),
    (checks.chosen_node_is_shown, "a band of half the width",
     "lie((name, value) => (name === 'data-high' ? value * 0.98 : value))"),
    (checks.keyboard, "keys that do nothing", "deaf(['keydown'], '#heat-scroll')"),
    (checks.search, "a search that does nothing", "deaf(['input'], '#search')"),
    (checks.deep_link, "a link without the view", "history.replaceState = () => {}"),
    (checks.narrow, "a wide part", "whenReady(() => style('#summary { width: 500px; }'))"),
]


def tests():
    """(name, function of a browser and pages)"""
    def on(page, check):
        return lambda b, pages: check(b, getattr(pages, page)(), pages)

    def fails(check, number, script):
        def run(b, pages):
            url = pages.sabotaged(pages.sample(), "fault%d" % number, READY + script)
            return caught(b, functools.partial(check, b, url, pages))
        return run

    def careless(name, make, check=checks.hostile_names):
        def run(b, pages):
            url = make(pages, pages.nasty(), name)
            note = caught(b, functools.partial(check, b, url, pages))
            assert b.js("return window.pwned") == 1, "the names' script did not run"
            return note
        return run

    def guarded(b, pages):
        policy_stops_script(b, pages.altered(pages.nasty(), "guarded", unescaped, policy=True), pages)

    yield "loads without network, errors or requests", on("sample", checks.loads)
    yield "counts, outliers, changes and what failed", on("sample", checks.counts)
    yield "the planted nodes stand out on the map", on("sample", checks.planted_node_stands_out)
    yield "hovering a cell tells value, interval, median and deviation", on("sample", checks.hover_tells_values)
    yield "choosing a node changes roofline, deviations and distributions", on("sample", checks.chosen_node_is_shown)
    yield "a node's history", on("sample", checks.history)
    yield "every choice changes what is drawn", on("sample", checks.choices_change_the_map)
    yield "finding a node", on("sample", checks.search)
    yield "keys move on the map and choose", on("sample", checks.keyboard)
    yield "a link restores the view, a garbled one does no harm", on("sample", checks.deep_link)
    yield "400 pixels are wide enough", on("sample", checks.narrow)
    yield "... with hostile names as well", on("nasty", checks.narrow)
    yield "prints black on white", on("sample", checks.prints)
    yield "dark and light", on("sample", checks.dark_and_light)
    yield "two nodes", on("few", checks.few)
    yield "failed nodes alone", on("only_failed", checks.only_failed)
    yield "10000 nodes", on("crowded", checks.crowd)
    yield "hostile names are text", on("nasty", checks.hostile_names)
    yield "... which fails with data that is not escaped", careless(
        "unescaped", lambda pages, url, name: pages.altered(url, name, unescaped))
    yield "... which fails with texts as markup", careless(
        "markup", lambda pages, url, name: pages.sabotaged(url, name, AS_MARKUP))
    yield "the page's policy stops script in data that is not escaped", guarded
    for i, (check, name, script) in enumerate(FAULTS):
        yield "%s fails with %s" % (check.__name__, name), fails(check, i, script)


if __name__ == "__main__":
    sys.exit(main("the fleet report", FleetPages, tests))
