# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a report's table of places."""
from report_page import POINTS, look, opened, read


def table_sorts(b, url, _pages):
    opened(b, url)
    names = "return [...document.querySelectorAll('#places tbody tr[data-name]')].map(r => r.dataset.name)"
    assert sorted(read(b, names)) == sorted(p[0] for p in POINTS), "the table has %s" % read(b, names)
    count = read(b, "return document.querySelectorAll('#places thead th').length")
    assert count >= 4, "%d columns" % count
    sortable = 0
    # by name, intensities and rate, both ways
    orders = {tuple(p[0] for p in sorted(POINTS, key=lambda p, k=k: p[k], reverse=r))
              for k in range(4) for r in (False, True)}
    seen = set()
    for i in range(count):
        way = []
        for _ in (1, 2):
            done = read(b, """const heads = [...document.querySelectorAll('#places thead th')];
                const h = heads[arguments[0]];
                (h.querySelector('button') || h).click();
                const way = h.getAttribute('aria-sort');
                return {way, marked: heads.filter(h => /ending$/.test(h.getAttribute('aria-sort') || '')).length,
                    names: [...document.querySelectorAll('#places tbody tr[data-name]')].map(r => r.dataset.name)}""", i)
            if not done["way"]:
                break
            way.append((done["way"], tuple(done["names"])))
            assert done["marked"] == 1, "%d columns are marked as sorted" % done["marked"]
        if len(way) == 2:
            sortable += 1
            assert {way[0][0], way[1][0]} == {"ascending", "descending"}, "aria-sort: %s" % (way,)
            seen |= {way[0][1], way[1][1]}
    assert sortable >= 4, "%d columns can be sorted" % sortable
    assert orders <= seen, "never sorted as %s" % (sorted(orders - seen)[0],)


def many_rows(b):
    """Of many points the table has 50, those that took longest, and finds the others."""
    rows = "return [...document.querySelectorAll('#places tbody tr')].map(r => r.dataset.name)"
    shown = read(b, rows)
    times = read(b, """const all = JSON.parse(document.getElementById('carm-data').textContent).places;
        const order = all.map((p, i) => i).sort((a, b) => all[b].seconds - all[a].seconds || a - b);
        return order.map(i => all[i].name)""")
    assert shown == times[:50], "the rows are %s ..." % shown[:3]
    found = read(b, """const s = document.getElementById('search'); s.value = arguments[0].toUpperCase();
        s.dispatchEvent(new Event('input')); """ + rows, times[400])
    assert times[400] in found and all(times[400].lower() in name.lower() for name in found), "found %s" % found[:3]
    read(b, "document.querySelectorAll('#plot-cache-aware .point')[0].dispatchEvent(new MouseEvent('click'))")
    assert len(read(b, rows)) >= 50, "a point that was not found does not lead to its row"


def table_is_linked(b, url, _pages):
    opened(b, url)
    near = """const center = e => {
            const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2];
        };
        const all = [...svgOf('cache-aware').querySelectorAll('*')];
        const p = center(all.find(e => e.matches('.point') && e.dataset.name === 'gemm'));
        const marks = all.filter(e => seen(e) && e instanceof SVGGeometryElement &&
            Math.hypot(center(e)[0] - p[0], center(e)[1] - p[1]) < 3);
        const now = marks.map(e => { const s = getComputedStyle(e);
            return [e.tagName, s.stroke, s.strokeWidth, s.fill, s.opacity, e.getBoundingClientRect().width].join();
        }).join();
        """
    before = read(b, near + "return now")
    x, y = read(b, """const r = [...document.querySelectorAll('#places tbody tr')].find(
        r => r.dataset.name === 'gemm'); r.scrollIntoView({block: 'center'});
        const c = r.cells[0].getBoundingClientRect(); return [c.x + 5, c.y + c.height / 2]""")
    b.move(x, y)
    look(b, "hovering a row marks its point", near + "return now !== arguments[0]", before)
    b.move(3, 3)
    look(b, "... until the mouse leaves", near + "return now === arguments[0]", before)
