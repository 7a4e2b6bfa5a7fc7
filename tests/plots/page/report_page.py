# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of `carm report` look at: models and points made up for them, the pages that the
program makes of them, and functions that read a drawn page back to data."""
import copy
import csv
import json
import os
import re
import subprocess

# Names that do harm wherever text is taken for markup, script, a path of properties or a format.
HOSTILE = [
    '<img src=x onerror="window.pwned=1">',
    "</script><script>window.pwned=1</script>",
    "<!--<script>window.pwned=1//",
    "\"quotes\" 'single' `back` \\ & &lt;b&gt; &quot;",
    "two\nlines\tand a tab",
    "%s %n %1$s {0} {{window.pwned=1}} ${window.pwned=1}",
    "right\u202eto left\u200f \u2066marks",
    "line\u2028separator\u2029paragraph \U0001f600 \u00e9",
    "__proto__",
    "constructor",
    "'\"></text></svg><svg onload=window.pwned=1>",
    "javascript:window.pwned=1",
    "long " + 60 * "name",
]
# point: name, flop/byte, flop/s, DRAM's flop/byte; all of 1 s and 1 thread
POINTS = [("stencil", 0.25, 2e9, 1.0), ("gemm", 8.0, 90e9, 64.0), ("spmv", 0.0625, 0.9e9, 0.125),
          ("lonely", 2.0, 3e8, 3.0)]


def scaled(roofs, isa, precision, factor):
    """A copy of a set of roofs, as another ISA or precision would have it."""
    new = copy.deepcopy(roofs)
    new.update(isa=isa, precision=precision)
    new.pop("ceilings", None)
    for key, value in (("memory", "bandwidth"), ("compute", "rate")):
        for roof in new[key]:
            roof[value] *= factor
            roof["ci95"] = [v * factor for v in roof["ci95"]]
            roof["spread"] = {k: v * factor for k, v in roof["spread"].items()}
    return new


def sample_model(top):
    """The sample model with two ISAs, both precisions, ceilings and a validation."""
    def data(name):
        with open(os.path.join(top, "tests", "data", name), encoding="utf-8") as f:
            return json.load(f)
    model = data("sample-model.json")
    model["validation"] = data("validation-model.json")["validation"]
    model["roofs"][1]["ceilings"] = data("ceilings.json")
    first = model["roofs"][0]
    model["roofs"] += [scaled(first, "avx2", "dp", 0.57), scaled(first, "avx512", "sp", 1.9)]
    return model


def hostile_model(top):
    model = sample_model(top)
    model["machine"]["cpu"] = HOSTILE[0] + " " + HOSTILE[6]
    model["machine"]["hostname"] = HOSTILE[0]
    model["machine"]["hypervisor"] = HOSTILE[1]
    for roofs in model["roofs"]:
        roofs["memory"][0]["note"] = HOSTILE[1]
        roofs["memory"][0]["disturbed"] = True  # so that its note is among the warnings
        roofs["memory"][0]["code"] = HOSTILE[0]
        roofs["compute"][-1]["op"] = HOSTILE[0]
        roofs["compute"][-2]["op"] = HOSTILE[3]
    model["levels"][0].update(note=HOSTILE[0], resolved=False)
    model["roofs"][1]["ceilings"][0]["name"] = HOSTILE[10]
    return model


# What is known of the mix of some of them: loads and stores (in vectors of 64 bytes), adds, FMAs.
COLUMNS = ("name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,loads,stores,"
           "load_bytes,store_bytes,fp_instructions,fp_adds,fp_muls,fp_fmas,dp_512,operations,metric,l2_bytes,l3_bytes")
LEVELS = {"spmv": (1.5, 1.2)}  # bytes of L2 and L3 over those of the core
COUNTS = {"count": "op"}  # in place of flops
MIXES = {"stencil": (3, 1, 1, 0), "gemm": (1, 0, 0, 1)}


def rows(points):
    for name, intensity, rate, dram in points:
        row = [name, rate, rate / intensity, 1, rate / dram, 1, "avx512", "dp", "constructed"]
        if name in MIXES:
            loads, stores, adds, fmas = MIXES[name]
            vectors = rate / intensity / 64 / (loads + stores)
            n = rate / 8 / (adds + 2 * fmas)
            row += [loads * vectors, stores * vectors, loads * vectors * 64, stores * vectors * 64,
                    n * (adds + fmas), n * adds, 0, n * fmas, rate]
        row += [""] * (len(COLUMNS.split(",")) - len(row))
        if name in COUNTS:
            row[1], row[7] = "", "int8"
            row[-4:-2] = [rate, COUNTS[name]]
        if name in LEVELS:
            row[-2:] = [share * rate / intensity for share in LEVELS[name]]
        yield row


def many(n):
    """n points in a cloud below the roofs, and the lonely one where none of them is."""
    x = 12345
    for i in range(n - 1):
        x = (1103515245 * x + 12345) % 2**31
        u = x / 2**31
        x = (1103515245 * x + 12345) % 2**31
        intensity = 2.0 ** (-4 + 8 * u)
        yield ("p%d" % i, intensity, min(15e9 * intensity, 100e9) * 2.0 ** (-1 - x / 2**31), 4 * intensity)
    yield POINTS[-1]


class Pages:
    """Makes pages in a folder; what is asked for again comes from there."""

    def __init__(self, carm, top, folder):
        self.carm, self.top, self.folder = carm, top, folder
        self.model, self.hostile = sample_model(top), hostile_model(top)

    def path(self, name):
        return os.path.join(self.folder, name)

    def url(self, name):
        return "file://" + self.path(name)

    def make(self, name, model, *files):
        """The URL of a new page; each file has points as in POINTS, is a text, or is None."""
        with open(self.path(name + ".json"), "w", encoding="utf-8") as f:
            json.dump(model, f)
        command = [self.carm, "report", self.path(name + ".json")]
        for i, points in enumerate(files):
            if points is not None:
                path = self.path("%s%s.csv" % (name, i or ""))
                with open(path, "w", encoding="utf-8", newline="") as f:
                    if isinstance(points, str):
                        f.write(points)
                    else:
                        writer = csv.writer(f, lineterminator="\n")
                        writer.writerow(COLUMNS.split(","))
                        writer.writerows(rows(points))
                command.append(path)
        command += ["-o", self.path(name + ".html")]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        if done.returncode:
            raise AssertionError("%s: status %d: %s" % (" ".join(command), done.returncode,
                                                        done.stderr.decode(errors="replace").strip()))
        return self.url(name + ".html")

    def _once(self, name, model, points):
        return self.url(name + ".html") if os.path.exists(self.path(name + ".html")) else \
            self.make(name, model, points)

    def without_d3(self):
        """Whether the program says that it cannot make pages; other errors are for the tests."""
        try:
            self.sample()
        except AssertionError as error:
            return "built without d3" in str(error)
        return False

    def sample(self):
        return self._once("sample", self.model, POINTS)

    def crowded(self):
        return self._once("crowded", self.model, many(10000))

    def nasty(self):
        names = [(name, 0.1 * 1.9 ** i, 1e8 * 1.7 ** i, 1.0 + i) for i, name in enumerate(HOSTILE)]
        return self._once("nasty", self.hostile, names)

    def text(self, url):
        with open(url[len("file://"):], encoding="utf-8", newline="") as f:
            return f.read()

    def altered(self, url, name, change, policy=False):
        """A copy of a page, changed by a function; its content security policy stays or goes."""
        text = self.text(url)
        without, n = POLICY.subn("", text)
        assert n == 1, "the page has %d content security policies" % n
        text = text if policy else without
        new = change(text)
        assert new != text, "%s: nothing was changed" % name
        with open(self.path(name + ".html"), "w", encoding="utf-8", newline="") as f:
            f.write(new)
        return self.url(name + ".html")

    def sabotaged(self, url, name, script):
        """A copy of a page in which a script runs before the page's own."""
        return self.altered(url, name, lambda text: re.sub(
            r"<head>|(?<=<html>)", lambda m: m.group() + "<script>" + script + "</script>", text, count=1))


POLICY = re.compile(r'<meta[^>]*http-equiv="?Content-Security-Policy[^>]*>', re.I)
DATA_BLOCK = re.compile(r'(<script[^>]*id="?carm-data"?[^>]*>)(.*?)(</script>)', re.S)


def unescaped(text):
    """The page as a build without escapes would write it."""
    block = DATA_BLOCK.search(text)
    raw = json.dumps(json.loads(block.group(2)), ensure_ascii=False)
    return text[:block.start(2)] + raw + text[block.end(2):]


# ---- numbers in texts

PREFIXES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "m": 1e-3}


def says(text, value, tolerance=0.006):
    """Whether the text has the value within its rounding, with any prefix that the text has."""
    text = text.replace("\u2212", "-").replace("\u202f", "").replace("\u00a0", " ")
    factors = {1.0} | {PREFIXES[p] for p in re.findall(r"([kKMGTPm])i?(?:B|byte|flop|FLOP|F/)", text)}
    numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text)]
    numbers += [float(a) / float(b) for a, b in re.findall(r"(\d+)/(\d+)", text) if float(b)]
    return any(abs(n * f / value - 1) <= tolerance for n in numbers for f in factors)


def shown_as(name):
    """A pattern of the text that shows a name: control, format and separator characters may be left
    out or replaced, white space may be folded, long names may be cut with an ellipsis."""
    parts = []
    for c in name[:40]:
        if c.isspace() or not c.isprintable():
            parts.append(r"(?:\\[nt]|.)?")
        else:
            parts.append(re.escape(c))
    return re.compile("".join(parts), re.S)


# ---- functions that run in the page

JS = r"""
const svgOf = plot => document.querySelector(`#plot-${plot} svg`);
const seen = e => e.checkVisibility({opacityProperty: true, visibilityProperty: true}) &&
    e.getClientRects().length > 0;
const shapeOf = e => e instanceof SVGGeometryElement ? e : [...e.querySelectorAll('path, line, polyline')].find(
    s => seen(s) && !/^(none|transparent|rgba\(0, 0, 0, 0\))$/.test(getComputedStyle(s).stroke));
const at = (shape, part) => {
    const p = shape.getPointAtLength(part * shape.getTotalLength()).matrixTransform(shape.getScreenCTM());
    return [p.x, p.y];
};
const roofsOf = plot => [...svgOf(plot).querySelectorAll('.roof')].filter(seen);
const roofs = plot => roofsOf(plot).map(e => ({...e.dataset, value: Number(e.dataset.value),
    from: at(shapeOf(e), 0), to: at(shapeOf(e), 1)}));
/* The scales of a plot as a reader takes them, from its ticks' lines and texts alone: {x, y}, each
 * {a, b, off} with log2(value) = a + b * pixel; off is the furthest tick's distance from that, in pixels. */
const PREFIXES = {'': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15};
const axes = plot => {
    const svg = svgOf(plot), found = {}, ticks = {x: [], y: []};
    const title = [...svg.querySelectorAll('text')].map(t => t.textContent.match(/([kMGTP]?)flop\/s/)).find(m => m);
    for (const tick of [...svg.querySelectorAll('.tick')].filter(seen)) {
        const line = tick.querySelector('line'), [x0, y0] = at(line, 0), [x1, y1] = at(line, 1);
        const m = tick.textContent.match(/^(?:([\d.e+-]+)(?:\/([\d.]+))?|2\^(-?\d+))$/);
        const v = m[3] ? 2 ** m[3] : m[1] / (m[2] || 1);
        if (Math.abs(x1 - x0) < 0.01) { ticks.x.push({at: x0, v: Math.log2(v)}); }
        if (Math.abs(y1 - y0) < 0.01) { ticks.y.push({at: y0, v: Math.log2(v * PREFIXES[title[1]])}); }
    }
    for (const axis of ['x', 'y']) {
        const t = ticks[axis].sort((p, q) => p.v - q.v), first = t[0], last = t[t.length - 1];
        if (t.length < 2) { continue; }
        const b = (last.v - first.v) / (last.at - first.at), a = first.v - b * first.at;
        found[axis] = {a, b, n: t.length, off: Math.max(...t.map(t => Math.abs((t.v - a) / b - t.at))),
            from: Math.min(first.at, last.at), to: Math.max(first.at, last.at)};
    }
    return found;
};
const distance = ([x, y], [[ax, ay], [bx, by]]) => {
    const dx = bx - ax, dy = by - ay, l = dx * dx + dy * dy;
    const t = l ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / l)) : 0;
    return Math.hypot(x - ax - t * dx, y - ay - t * dy);
};
/* Where in the window a roof is furthest from all others, within the axes; null where it is not. */
const spot = (plot, name, isa, precision, threads) => {
    const all = roofs(plot), axis = axes(plot);
    const me = all.find(r => r.name === name && r.isa === isa && r.precision === precision &&
        r.threads === threads);
    if (!me) { return null; }
    const lines = all.filter(r => r !== me).map(r => [r.from, r.to]);
    const dots = [...svgOf(plot).querySelectorAll('.point')].filter(seen).map(p => {
        const r = p.getBoundingClientRect(), c = [r.x + r.width / 2, r.y + r.height / 2];
        return [c, c];
    });
    let best = null;
    for (let i = 1; i < 100; i++) {
        const p = me.from.map((v, k) => v + (me.to[k] - v) * i / 100);
        const inside = p[0] > axis.x.from && p[0] < axis.x.to && p[1] > axis.y.from && p[1] < axis.y.to;
        const free = Math.min(99, ...lines.concat(dots).map(l => distance(p, l)));
        if (inside && (!best || free > best.free)) { best = {x: p[0], y: p[1], free, value: me.value}; }
    }
    return best;
};
const tip = () => {
    const e = document.getElementById('tip');
    return e && seen(e) ? e.innerText : '';
};
const toggles = () => [...document.querySelectorAll('input[type=checkbox][data-toggle]')];
const toggle = name => toggles().find(e => e.dataset.toggle === name);
/* A hash (FNV-1a's form, two of them) of everything that the plots show, to tell whether it changed. */
const drawing = () => {
    const text = ['cache-aware', 'original'].map(plot => svgOf(plot)).filter(e => e && seen(e)).map(e =>
        [...e.querySelectorAll('path, line, circle, rect, polyline, text, use')].filter(seen).map(s =>
            s.outerHTML + (s.parentNode.getAttribute('transform') || '')).sort().join('')).join('');
    let one = 0x811c9dc5, two = 0x1234567;
    for (let i = 0; i < text.length; i++) {
        one = Math.imul(one ^ text.charCodeAt(i), 0x01000193);
        two = Math.imul(two ^ text.charCodeAt(i), 0x5bd1e995);
    }
    return `${text.length} ${one} ${two}`;
};
"""


def ready(b, seconds=20):
    b.wait("document.body.dataset.ready is 1",
           "return document.body && document.body.dataset.ready === '1'", seconds=seconds)


def read(b, script, *arguments):
    """A script of the page that uses the functions above."""
    return b.js(JS + script, *arguments)


def look(b, what, script, *arguments, seconds=5):
    return b.wait(what, JS + script, *arguments, seconds=seconds)


def opened(b, url, unfolded=True, **how):
    """The page, drawn; its toggles are folded at first."""
    b.fresh(url, **how)
    ready(b)
    if unfolded:
        read(b, "document.querySelectorAll('#drawn').forEach(d => d.open = true)")  # a page of a fleet has none
