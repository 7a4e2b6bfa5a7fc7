# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages of `carm fleet report` made from fleets with planted truth, and what reads them back."""
import json
import subprocess

from fleet_make import Maker, failed, write
from report_page import HOSTILE, Pages, opened, read

SLOW, SLOW_LEVEL, SLOW_BY = "r0-n03", "L3", 0.9
FAST = "r1-n07"
NODES = 40


class FleetPages(Pages):
    """Each fleet is made once, on demand."""

    def __init__(self, carm, top, folder):
        super().__init__(carm, top, folder)
        self.top, self.maker, self.rows = top, Maker(top), {}

    def fleet(self, name, rows):
        """The URL of a page; rows() gives the lines."""
        if name not in self.rows:
            self.rows[name] = rows()
            write(self.path(name + ".jsonl"), self.rows[name])
            command = [self.carm, "fleet", "report", self.path(name + ".jsonl"), "-o", self.path(name + ".html")]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
            if done.returncode:
                del self.rows[name]
                raise AssertionError("%s: status %d: %s" % (" ".join(command), done.returncode,
                                                            done.stderr.decode(errors="replace").strip()))
        return self.url(name + ".html")

    def models(self, name):
        """{host: its model}, the newest of each."""
        found = {}
        for line in self.rows[name]:
            row = json.loads(line)
            model = row.get("model")
            if model and model["created"] >= found.get(row["host"], model)["created"]:
                found[row["host"]] = model
        return found

    def _sample_rows(self):
        slow = {SLOW: {(SLOW_LEVEL, 0, ""): SLOW_BY}, FAST: {("compute", 0, ""): 1.1}}
        other = Maker(self.top, cpu="Other CPU", cores=4, threads=4)
        names = ["r%d-n%02d" % (i // 20, i % 20) for i in range(NODES)]
        lines = [self.maker.row(n, i, "2026-10-01T00:%02d:00Z" % (59 - i), slow.get(n)) for i, n in enumerate(names)]
        for n in names[:8]:  # sound half a year ago
            for month in (4, 5, 6):
                lines.append(self.maker.row(n, n + str(month), "2026-%02d-01T00:00:00Z" % month))
        lines += [other.row("fat%d" % i, 100 + i) for i in range(6)]
        return lines + [failed("r9-n00"), failed("r9-n01", "killed", "signal 9"), '{"schema":3}\n']

    def sample(self):
        return self.fleet("fleet", self._sample_rows)

    def few(self):
        return self.fleet("few", lambda: [self.maker.row("n%d" % i, i) for i in range(2)])

    def only_failed(self):
        return self.fleet("failed", lambda: [failed("n1"), failed(HOSTILE[0], HOSTILE[1], HOSTILE[0])])

    def crowded(self):
        return self.fleet("crowd", lambda: [
            self.maker.row("c%03d-n%02d" % (i // 50, i % 50), i, slow={("DRAM", 0, ""): 0.9} if i == 7777 else None)
            for i in range(10000)])

    def nasty(self):
        """Names that do harm, of nodes, machines, operations, failed rows."""
        def rows():
            maker = Maker(self.top, cpu=HOSTILE[0] + " " + HOSTILE[6], hypervisor=HOSTILE[1])
            op = json.dumps(HOSTILE[0]).replace("%", "%%")
            maker.text = maker.text.replace('"op":"fma"', '"op":' + op)
            names = [n for n in HOSTILE if len(n) < 250]
            slow = {names[0]: {("L2", 0, ""): 0.8}}
            lines = [maker.row(n, i, slow=slow.get(n)) for i, n in enumerate(names)]
            lines += [maker.row(names[1], "old", "2026-01-01T00:00:00Z"), failed(names[0], names[3], names[1])]
            return lines
        return self.fleet("nasty", rows)


JS = r"""
const view = () => carmFleetView();
const map = document.getElementById('heat-map');
/* Where in the window a cell's middle is; null where it is not in sight. */
const cellAt = (node, label) => {
    const {order, columns, box} = view().shown, row = order.indexOf(node), k = columns.indexOf(label);
    const frame = document.getElementById('heat-scroll').getBoundingClientRect();
    const y = box.top + (row + 0.5) * box.row - box.y, x = box.left + (k + 0.5) * box.cell - box.x;
    return row < 0 || k < 0 || y < box.top || y > frame.height ? null : {x: frame.x + x, y: frame.y + y, inX: x, inY: y};
};
/* Its colour: how much more red than blue. */
const warmth = (node, label) => {
    const {inX, inY} = cellAt(node, label), dense = devicePixelRatio || 1;
    const [r, g, b] = map.getContext('2d').getImageData(Math.round((inX + 3) * dense), Math.round(inY * dense), 1, 1).data;
    return r - b;
};
const option = (select, value) => {
    select.value = value;
    select.dispatchEvent(new Event('change', {bubbles: true}));
};
const chooser = word => [...document.querySelectorAll('label')].find(l => l.textContent.startsWith(word)).querySelector('select');
const type = (input, text) => { input.value = text; input.dispatchEvent(new Event('input', {bubbles: true})); };
const markers = () => [...document.querySelectorAll('#spread-plots .mine')].map(m => Number(m.dataset.share));
"""


def fleet(b, script, *arguments):
    """A script of the page that uses the functions above and the report's."""
    return read(b, JS + script, *arguments)


def shown(b):
    return b.js("return carmFleetView().shown")


def on_map(b, url, **how):
    """The page with its map in sight."""
    opened(b, url, **how)
    b.js("document.getElementById('heat').scrollIntoView()")


def cell(b, node, label):
    at = fleet(b, "return cellAt(arguments[0], arguments[1])", node, label)
    assert at, "no cell of %s, %s in sight" % (node, label)
    return at


def rates(model):
    """{label of a column: rate} as the page names its roofs."""
    want = {}
    for s in model["roofs"]:
        head = "%s %s, %d thread%s: " % (s["isa"], s["precision"], s["threads"], "" if s["threads"] == 1 else "s")
        for m in s["memory"]:
            want[head + "%(level)s %(ldst)s" % m] = m["bandwidth"]
        for c in s["compute"]:
            want[head + c["op"]] = c["rate"]
    return want
