#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a roofline that carm plot drew as SVG back to data and compares it with its model.

svg.py PICTURE.svg [MODEL.json...] [--points FILE.csv] [--original | --levels] [--panel N]
            [--arrows N] [--text]

The axes come from the ticks' places and texts alone. Each slope and horizontal of the models has to
be drawn within a pixel of its values, from its beginning to its end, and nothing else may be drawn
as one; so have the points, with --levels once for each level. --arrows: so many lines lead from point to point. --text: no text may
leave the picture, no label lie on another.
Prints what it compared; ends with 1 and a line for each difference."""
import argparse
import csv
import json
import math
import re
import sys

NUMBER = r"-?[0-9.]+"
ELEMENT = re.compile(
    r"<path stroke='rgb\((?P<rgb>[^)]*)\)'(?P<more>[^>]*?)d='(?P<d>[^']*)'/?>"
    r'|<g transform="translate\((?P<tx>' + NUMBER + r"),(?P<ty>" + NUMBER + r")\)"
    r"(?: rotate\((?P<angle>" + NUMBER + r')\))?"[^>]*?font-size="(?P<size>' + NUMBER + r')"[^>]*?'
    r'text-anchor="(?P<anchor>\w+)"[^>]*>\s*<text>(?P<text>.*?)</text>'
    r"|<use xlink:href='#(?P<mark>gpPt\d+)' transform='translate\((?P<mx>" + NUMBER + r"),(?P<my>"
    + NUMBER + r")\)", re.S)
UNITS = {"M": 1e6, "G": 1e9, "T": 1e12}
AXES = "64,64,64"  # the frame and the ticks; of lines, the ceilings
LEADER = "96,96,96"


def number(text):
    """1/32, 2^-20, 1e-3, 50"""
    if re.fullmatch(r"2\^-?\d+", text):
        return 2.0 ** int(text[2:])
    if re.fullmatch(r"1/\d+", text):
        return 1 / int(text[2:])
    return float(text) if re.fullmatch(r"-?\d*\.?\d+(e-?\d+)?", text) else None


class Axis:
    """log10 of a value to a pixel: a line through the ticks."""

    def __init__(self):
        self.ticks = []

    def fit(self):
        xs = [math.log10(v) for _, v in self.ticks]
        ys = [p for p, _ in self.ticks]
        mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
        self.slope = sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)
        self.zero = my - self.slope * mx
        return max(abs(self.pixel(v) - p) for p, v in self.ticks)

    def pixel(self, value):
        return self.zero + self.slope * math.log10(value)

    def value(self, pixel):
        return 10 ** ((pixel - self.zero) / self.slope)


class Panel:
    def __init__(self):
        self.x, self.y, self.lines, self.marks, self.frame, self.unit = Axis(), Axis(), [], [], None, 1


def corners(d):
    return [(float(a), float(b)) for a, b in re.findall(r"(" + NUMBER + r"),(" + NUMBER + r")", d)]


def read(text):
    """The panels, and all texts: (text, x, y, angle, size, anchor)."""
    panels, texts, tick = [Panel()], [], None
    for m in ELEMENT.finditer(text):
        panel = panels[-1]
        if m["d"] is not None and "gridline" not in m["more"]:
            c, rgb = corners(m["d"]), re.sub(r"\s", "", m["rgb"])
            (ax, ay), (bx, by) = c[0], c[-1]
            tick = None
            if len(c) == 2 and rgb == AXES and 4 < math.hypot(bx - ax, by - ay) < 9:
                if panel.frame:  # the next panel's first tick
                    panel = Panel()
                    panels.append(panel)
                tick = (panel.x, ax) if abs(bx - ax) < 0.01 else (panel.y, ay)
            elif len(c) >= 3 and c[0][0] == c[1][0] and c[1][1] == c[2][1] and rgb == AXES:
                panel.frame = (c[1][0], c[0][1], c[2][0], c[1][1])  # left, top, right, bottom
            elif len(c) == 2 and panel.frame and rgb != LEADER and by < panel.frame[3] + 1:
                panel.lines.append((ax, ay, bx, by))
        elif m["mark"] and panel.frame and m["mark"] != "gpPt0":
            panel.marks.append((float(m["mx"]), float(m["my"])))
        elif m["text"] is not None:
            plain = m["text"].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
            if tick and number(plain) is not None:
                tick[0].ticks.append((tick[1], number(plain)))
            else:
                texts.append((plain, float(m["tx"]), float(m["ty"]), float(m["angle"] or 0),
                              float(m["size"]), m["anchor"]))
            unit = re.fullmatch(r"performance, ([MGT])flop/s", plain)
            panel.unit = UNITS[unit[1]] if unit else panel.unit
            tick = None
    return panels, texts


def peak(roofs):
    return max((c["rate"] for c in roofs.get("compute", [])), default=0.0)


COLUMNS = {"cache-aware": ["bytes"], "original": ["dram_bytes"],
           "levels": ["bytes", "l2_bytes", "l3_bytes", "dram_bytes"]}


def fastest(roofs, level, mixes):
    return max((m["bandwidth"] for m in roofs["memory"] if m["level"] == level and m["ldst"] in mixes), default=0)


def expected(path, view, alone):
    """Of the set with the highest peak: slopes as (bandwidth, peak), horizontals as (rate, fastest
    slope)."""
    with open(path, encoding="utf-8") as f:
        model = json.load(f)
    roofs = max(model["roofs"], key=peak)
    top = peak(roofs)
    if view == "original":
        slopes = [roofs["dram_peak"]["bandwidth"]]
        slopes += [d["bandwidth"] for d in model.get("numa", []) if alone and d["from"] == d["to"] and d["from"] >= 0]
    elif view == "levels":
        slopes = [fastest(roofs, "L1", [model["config"]["ldst"]])]
        slopes += [fastest(roofs, level, ["1:0", "update"]) for level in ("L2", "L3")]
        slopes += [roofs["dram_peak"]["bandwidth"]]
    else:
        slopes = [m["bandwidth"] for m in roofs["memory"] if m["ldst"] == model["config"]["ldst"]]
    flats = [c["rate"] for c in roofs["compute"]] if alone else [top]
    flats += [peak(r) for r in model["roofs"] if alone and r is not roofs and
              (r["threads"], r["precision"]) == (roofs["threads"], roofs["precision"])]
    return [(s, top) for s in slopes], [(f, max(slopes)) for f in flats]


class Checker:
    def __init__(self):
        self.wrong = []

    def near(self, what, drawn, wanted, limit=1.0):
        if abs(drawn - wanted) > limit:
            self.wrong.append(f"{what}: drawn at {drawn:.2f}, not {wanted:.2f}")

    def take(self, what, found, lines):
        """Takes the line that is found off the list."""
        if found is None:
            self.wrong.append(f"{what} is not drawn")
            return None
        lines.remove(found)
        return found

    def panel(self, p, slopes, flats, arrows):
        left, _, right, bottom = p.frame
        for name, axis in (("x", p.x), ("y", p.y)):
            if len(axis.ticks) < 3:
                self.wrong.append(f"{name} has {len(axis.ticks)} ticks")
                return
            self.near(f"a tick of {name}", axis.fit(), 0, 0.1)
        lines = list(p.lines)
        for bandwidth, roof in slopes:
            what = f"slope {bandwidth:.4g}"
            at = min((l for l in lines if abs(l[3] - l[1]) > 1), default=None,
                     key=lambda l: abs(p.y.pixel(bandwidth * p.x.value(l[2]) / p.unit) - l[3]))
            line = self.take(what, at, lines)
            if line:
                x0, y0, x1, y1 = line
                self.near(what + " at its beginning", y0,
                          p.y.pixel(bandwidth * p.x.value(x0) / p.unit))
                self.near(what + " at its end across", x1, p.x.pixel(roof / bandwidth))
                self.near(what + " at its end upwards", y1, p.y.pixel(roof / p.unit))
                if abs(x0 - left) > 1 and abs(y0 - bottom) > 1:
                    self.wrong.append(what + " does not begin at an axis")
        for rate, fastest in flats:
            what = f"horizontal {rate:.4g}"
            at = min((l for l in lines if abs(l[3] - l[1]) <= 1), default=None,
                     key=lambda l: abs(p.y.pixel(rate / p.unit) - l[1]))
            line = self.take(what, at, lines)
            if line:
                self.near(what, line[1], p.y.pixel(rate / p.unit))
                self.near(what + " at its beginning", line[0], p.x.pixel(rate / fastest))
                self.near(what + " at its end", line[2], right)
        if len(lines) != arrows:
            self.wrong += [f"a line that no roof has: {l}" for l in lines]
        print(f"{len(slopes)} slopes, {len(flats)} horizontals; a decade is {abs(p.x.slope):.1f} x "
              f"{abs(p.y.slope):.1f} pixels")

    def points(self, p, path, view):
        marks, n = list(p.marks), 0
        with open(path, encoding="utf-8", newline="") as f:
            for row, column in ((r, c) for r in csv.DictReader(f) for c in COLUMNS[view]):
                if float(row[column] or 0) <= 0:
                    continue
                n += 1
                x = p.x.pixel(float(row["flops"]) / float(row[column]))
                y = p.y.pixel(float(row["flops"]) / float(row["seconds"]) / p.unit)
                at = min(marks, default=None, key=lambda m: math.hypot(m[0] - x, m[1] - y))
                if at is None or math.hypot(at[0] - x, at[1] - y) > 1:
                    self.wrong.append(f"point {row['name'][:40]} is not at {x:.1f}, {y:.1f}")
                else:
                    marks.remove(at)
        print(f"{n} points")

    def texts(self, texts, width, height):
        boxes = []
        for text, x, y, angle, size, anchor in texts:
            long, high = 0.52 * size * len(text), 0.7 * size  # less than most fonts take
            begin = {"start": 0, "middle": -long / 2, "end": -long}[anchor]
            u = (math.cos(math.radians(angle)), math.sin(math.radians(angle)))
            v = (u[1], -u[0])  # upwards from the baseline
            box = [(x + a * u[0] + b * v[0], y + a * u[1] + b * v[1])
                   for a, b in ((begin, 0), (begin + long, 0), (begin + long, high), (begin, high))]
            if not all(-1 <= a <= width + 1 and -1 <= b <= height + 1 for a, b in box):
                self.wrong.append(f"'{text[:60]}' leaves the picture")
            for other, name in boxes:
                if overlap(box, other):
                    self.wrong.append(f"'{text[:60]}' lies on '{name[:60]}'")
            boxes.append((box, text))
        print(f"{len(boxes)} texts")


def overlap(a, b):
    """Of two rectangles: no side of either parts them."""
    for r in (a, b):
        for i in range(2):
            n = (r[i + 1][0] - r[i][0], r[i + 1][1] - r[i][1])
            pa = [p[0] * n[0] + p[1] * n[1] for p in a]
            pb = [p[0] * n[0] + p[1] * n[1] for p in b]
            if max(pa) <= min(pb) or max(pb) <= min(pa):
                return False
    return True


def main():
    args = argparse.ArgumentParser()
    args.add_argument("picture")
    args.add_argument("models", nargs="*")
    args.add_argument("--points")
    args.add_argument("--original", dest="view", action="store_const", const="original", default="cache-aware")
    args.add_argument("--levels", dest="view", action="store_const", const="levels")
    args.add_argument("--panel", type=int, default=1)
    args.add_argument("--arrows", type=int, default=0)
    args.add_argument("--text", action="store_true")
    a = args.parse_args()
    with open(a.picture, encoding="utf-8") as f:
        text = f.read()
    panels, texts = read(text)
    check = Checker()
    slopes, flats = [], []
    for path in a.models:
        s, f = expected(path, a.view, len(a.models) == 1)
        slopes += s
        flats += f
    if a.models and (len(panels) < a.panel or not panels[a.panel - 1].frame):
        check.wrong.append(f"there is no panel {a.panel}")
    elif a.models:
        p = panels[a.panel - 1]
        check.panel(p, slopes, flats, a.arrows)
        if a.points and not check.wrong:
            check.points(p, a.points, a.view)
    if a.text:
        size = re.search(r'width="(\d+)" height="(\d+)"', text)
        check.texts(texts, int(size[1]), int(size[2]))
    for line in check.wrong:
        print(line)
    return 1 if check.wrong else 0


sys.exit(main())
