# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults planted in a report: each is a script that runs before the page's own and that the check
beside it must catch."""
import functools

import report_drawn as drawn
import report_hands as hands
import report_keys as keys
import report_media as media
import report_table as table
from browser_run import caught
from report_hostile import hostile_names_are_text

# what runs when the page says that it is ready, before anyone can look at it
READY = """const whenReady = f => new MutationObserver((_, o) => {
    if (document.body && document.body.dataset.ready === '1') { o.disconnect(); f(); }
}).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['data-ready']});
const style = css => document.head.append(Object.assign(document.createElement('style'), {textContent: css}));
const deaf = (kinds, selector) => kinds.forEach(kind => addEventListener(kind, e => {
    if (e.target.closest && e.target.closest(selector)) { e.stopImmediatePropagation(); }
}, {capture: true, passive: true}));
const lie = change => {
    const set = Element.prototype.setAttribute;
    Element.prototype.setAttribute = function (name, value) { set.call(this, name, change(name, value, this)); };
};
"""
POINTER = "['mouseover', 'mousemove', 'mouseenter', 'pointerover', 'pointermove', 'pointerenter']"

FAULTS = [
    (drawn.loads, "an error on the console", "console.error('planted')"),
    (drawn.loads, "an uncaught exception", "whenReady(() => queueMicrotask(() => { throw Error('planted'); }))"),
    (drawn.size, "a page of 1.6 MB", "//" + 1300000 * "x"),
    (drawn.loads, "a request", "new Image().src = 'http://example.invalid/planted.png'"),
    (drawn.roofs_equal_the_model, "a value 0.1% off",
     "lie((name, value) => name === 'data-value' ? value * 1.001 : value)"),
    (drawn.roofs_equal_the_model, "a roof that is not drawn", "style('.roof[data-name=\"L3 2:1\"] { display: none }')"),
    (drawn.roofs_equal_the_model, "another peak in the original",
     "lie((name, value, e) => name === 'data-value' && e.closest('#plot-original') ? value / 2 : value)"),
    (drawn.roofs_are_drawn_where_they_belong, "roofs 2 pixels down", "style('.roof { translate: 0 2px }')"),
    (drawn.points_are_drawn_where_they_belong, "points 3 pixels right", "style('.point { translate: 3px 0 }')"),
    (drawn.texts_do_not_collide, "large texts", "style('svg text { font-size: 30px !important }')"),
    (drawn.texts_do_not_collide, "a label on another",
     """whenReady(() => { const t = [...document.querySelectorAll('#plot-cache-aware text')].find(
         t => /L1/.test(t.textContent)); t.after(t.cloneNode(true)); })"""),
    (hands.toggles_change_what_is_drawn, "a toggle without effect",
     "deaf(['change', 'input', 'click'], '[data-toggle^=\"isa:\"]')"),
    (hands.hover_roofs, "a tip with wrong digits",
     """whenReady(() => new MutationObserver(() => {
         const walk = document.createTreeWalker(document.getElementById('tip'), NodeFilter.SHOW_TEXT);
         for (let n = walk.nextNode(); n; n = walk.nextNode()) {
             if (/[2468]/.test(n.data)) { n.data = n.data.replace(/[2468]/g, '9'); }
         }
     }).observe(document.getElementById('tip'), {subtree: true, childList: true, characterData: true}))"""),
    (hands.hover_points, "points without a tip", "deaf(" + POINTER + ", 'svg')"),
    (hands.levels, "no levels", "whenReady(() => new MutationObserver(() => document.querySelectorAll('.hierarchy g').forEach(g => g.remove()))"
     ".observe(document.body, {subtree: true, childList: true}))"),
    (hands.own_roof, "no roofs of points' own", "style('.own { display: none !important }')"),
    (hands.own_roof, "one that is 3 pixels off", "style('.own { translate: 0 3px }')"),
    (keys.keyboard, "toggles that no key reaches",
     "whenReady(() => document.querySelectorAll('[data-toggle]').forEach(e => { e.tabIndex = -1; }))"),
    (keys.keyboard, "roofs whose focus shows nothing", "deaf(['focus', 'focusin'], '.roof')"),
    (keys.keys_scroll, "tips that a scroll hides",
     "addEventListener('scroll', () => { document.getElementById('tip').hidden = true; })"),
    (keys.keys_zoom, "a plot without keys", "deaf(['keydown'], 'svg')"),
    (keys.keys_points, "points without keys", "deaf(['keydown'], '.point')"),
    (hands.zoom_and_pan, "a wheel without effect", "deaf(['wheel'], 'svg')"),
    (hands.zoom_and_pan, "a reset without effect", "deaf(['click'], '#reset-view')"),
    (hands.deep_link, "a link that is not read", "history.replaceState(null, '', location.pathname)"),
    (hands.garbage_links, "an address taken for JSON",
     "addEventListener('hashchange', () => JSON.parse(decodeURIComponent(location.hash.slice(1)) || '{}'))"),
    (media.narrow, "a page of 500 pixels", "style('body { min-width: 500px !important }')"),
    (media.narrow, "toggles that are not folded", "whenReady(() => { document.getElementById('drawn').open = true; })"),
    (media.prints, "printed toggles", "style('@media print { #drawn#drawn { display: block !important } }')"),
    (media.dark_and_light, "a page that is always light", "style('html, body { background: white !important }')"),
    (media.theme_switch, "a switch without effect", "deaf(['click'], '#theme')"),
    (table.table_sorts, "columns that do not sort", "deaf(['click'], 'th')"),
    (table.table_is_linked, "rows without their points", "deaf(" + POINTER + ", '#places')"),
    (drawn.contents, "no table of places", "style('#places { display: none }')"),
]
NASTY_FAULTS = [
    (hostile_names_are_text, "text behind an override",
     "whenReady(() => document.querySelectorAll('#places tbody tr').forEach(r => r.cells[0].append(' more')))"),
    (hostile_names_are_text, "names without their brackets",
     """const append = Element.prototype.append;
     Element.prototype.append = function (...children) {
         append.apply(this, children.map(c => typeof c === 'string' ? c.replace(/[<>]/g, '') : c));
     }"""),
]
CROWD_FAULTS = [
    (hands.crowd, "an empty canvas", "const p = CanvasRenderingContext2D.prototype;"
     "p.fill = p.stroke = p.fillRect = p.drawImage = p.putImageData = p.fillText = () => {}"),
]


def fails(page, check, number, script):
    """A test that the check catches a script that runs before the page's own."""
    def run(b, pages):
        url = pages.sabotaged(getattr(pages, page)(), "fault%d" % number, READY + script)
        return caught(b, functools.partial(check, b, url, pages))
    return run
