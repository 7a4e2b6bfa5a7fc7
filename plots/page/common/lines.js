// SPDX-License-Identifier: GPL-3.0-or-later
// The geometry of roofs in a log-log plot: the part of each line that is drawn, and the place of
// its label.

// The visible part of a line, [x1, y1, x2, y2] in data units, or null.
// window  {x0, x1, y0, y1}; tops: the highest drawn slope and horizontal of the line's set
function visiblePart(line, tops, window) {
  if (line.kind === "compute") {
    const from = Math.max(window.x0, tops.memory > 0 ? line.value / tops.memory : 0);
    const seen = line.value > window.y0 && line.value < window.y1 && from < window.x1;
    return seen ? [from, line.value, window.x1, line.value] : null;
  }
  const b = line.value;
  const from = Math.max(window.x0, window.y0 / b);
  const to = Math.min(window.x1, window.y1 / b, tops.compute > 0 ? tops.compute / b : Infinity);
  return from < to ? [from, from * b, to, to * b] : null;
}

// The highest slope and horizontal of each set, which cut each other's lines where they meet.
function topsOf(lines) {
  const tops = new Map();
  for (const line of lines) {
    const key = setText(line.set);
    const top = tops.get(key) || { memory: 0, compute: 0 };
    top[line.kind] = Math.max(top[line.kind], line.value);
    tops.set(key, top);
  }
  return tops;
}

// ---- labels

// Corners of a text that starts at x, y and runs along angle (radians, screen), height upwards.
function cornersOf(x, y, length, height, angle) {
  const c = Math.cos(angle);
  const s = Math.sin(angle);
  const at = (u, v) => [x + u * c + v * s, y + u * s - v * c];
  return [at(0, -2), at(length, -2), at(length, height), at(0, height)];
}

// Whether two rotated rectangles overlap (separating axes).
function overlap(a, b) {
  for (const shape of [a, b]) {
    for (const i of [0, 1]) {
      const axis = [shape[i + 1][0] - shape[i][0], shape[i + 1][1] - shape[i][1]];
      const span = (corners) => {
        const along = corners.map((p) => p[0] * axis[0] + p[1] * axis[1]);
        return [Math.min(...along), Math.max(...along)];
      };
      const [a0, a1] = span(a);
      const [b0, b1] = span(b);
      if (a1 <= b0 || b1 <= a0) {
        return false;
      }
    }
  }
  return true;
}

function inside(corners, box) {
  return corners.every(([x, y]) => x >= box.left && x <= box.left + box.width && y >= box.top && y <= box.top + box.height);
}

// Distances of a label's baseline from its line, above or below, at which no parallel line crosses the text; the side
// with more room first.
function baselinesOf(item, items, angle) {
  const [nx, ny] = [Math.sin(angle), -Math.cos(angle)];
  const gaps = items.filter((other) => other.kind === item.kind)
    .map((other) => (other.part[0] - item.part[0]) * nx + (other.part[1] - item.part[1]) * ny);
  const above = Math.min(...gaps.filter((gap) => gap > 1));
  const below = Math.min(...gaps.filter((gap) => gap < -1).map((gap) => -gap));
  const sides = [[4, above], [-item.height, below]].filter(([, gap]) => gap >= item.height);
  return (above < item.height + 4 && below > above ? sides.reverse() : sides).map(([up]) => up);
}

// Whether a point of radius r covers a text.
function covers(corners, [px, py, r], item, angle) {
  const [x, y] = corners[0];
  const [dx, dy] = [px - x, py - y];
  const along = dx * Math.cos(angle) + dy * Math.sin(angle);
  const up = dx * Math.sin(angle) - dy * Math.cos(angle);
  return along > -r && along < item.length + r && up > 1 - r && up < item.height + r + 1;
}

// Places for labels along their lines: slopes from the left, horizontals from the right, up to the first free place.
// Places that cover no point are preferred, also with the short text. A label without room is left out: tip and tables
// have it.
// items  [{kind, part: [x1, y1, x2, y2] in pixels, text, length, height, short: {text, length}}], the most important first
// dots   [[x, y, r]], points in pixels
// returns [{item, x, y, angle}]
function placeLabels(items, dots, box) {
  const taken = [];
  return items.map((item) => {
    const at = placeOf(item, items, taken, dots, box) || placeOf({ ...item, ...item.short }, items, taken, dots, box) ||
      placeOf({ ...item, ...item.short }, items, taken, [], box);
    if (at) {
      taken.push(at.corners);
    }
    return at;
  }).filter(Boolean);
}

const OFFSETS = Array.from({ length: 24 }, (_, i) => 8 + 18 * i); // along the line, in pixels

function placeOf(item, items, taken, dots, box) {
  const [x1, y1, x2, y2] = item.part;
  const whole = Math.hypot(x2 - x1, y2 - y1);
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const places = baselinesOf(item, items, angle).flatMap((up) => OFFSETS.map((off) => [up, off]));
  for (const [up, off] of places.filter(([, o]) => o + item.length + 2 <= whole)) {
    const from = y1 === y2 ? whole - item.length - off : off;
    const x = x1 + from * Math.cos(angle) + up * Math.sin(angle);
    const y = y1 + from * Math.sin(angle) - up * Math.cos(angle);
    const corners = cornersOf(x, y, item.length, item.height, angle);
    if (inside(corners, box) && !taken.some((t) => overlap(t, corners)) &&
        !dots.some((dot) => covers(corners, dot, item, angle))) {
      return { item, x, y, angle, corners };
    }
  }
  return null;
}
