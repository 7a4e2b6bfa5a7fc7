# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of `carm fleet report` in a headless Chromium without network. Prints TAP.

usage: fleet_browser.py CARM TOP [WORD]  (WORD: only the tests whose names have it)"""
import sys

import fleet_checks as checks
from browser_run import main, on
from fleet_page import FleetPages
from report_faults import fails
from report_hostile import names_are_text

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
    yield from names_are_text(checks.hostile_names)
    for i, (check, name, script) in enumerate(FAULTS):
        yield "%s fails with %s" % (check.__name__, name), fails("sample", check, i, script)


if __name__ == "__main__":
    sys.exit(main("the fleet report", FleetPages, tests))
