// SPDX-License-Identifier: GPL-3.0-or-later
// Colours of the map and its key.

const COLOUR_STEPS = 100; // to each side
const LIMITS = { percent: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1], sigmas: [4, 6, 10, 20, 50] };

// (value / limit, -1 to 1) -> colour
function makePalette() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const side = (near, far) => d3.scale.linear().domain([0, 0.5, 1]).range([colour("mid"), colour(near), colour(far)]).interpolate(d3.interpolateRgb);
  const [slow, fast] = [side("slow-1", "slow-2"), side("fast-1", "fast-2")];
  const table = [];
  for (let i = -COLOUR_STEPS; i <= COLOUR_STEPS; i++) {
    table.push(i < 0 ? slow(-i / COLOUR_STEPS) : fast(i / COLOUR_STEPS));
  }
  return {
    of: (t) => table[Math.round(Math.max(-1, Math.min(1, t)) * COLOUR_STEPS) + COLOUR_STEPS],
    none: colour("none"), ink: colour("ink"), dim: colour("dim"), ground: colour("ground"), rule: colour("rule"),
    focus: colour("focus"), hot: colour("hot"), slow: colour("slow-2"), fast: colour("fast-2"), soft: colour("soft"),
  };
}

function quantileOf(values, share) {
  const sizes = values.map(Math.abs).filter(Number.isFinite).sort((a, b) => a - b);
  return sizes.length ? sizes[Math.min(sizes.length - 1, Math.floor(sizes.length * share))] : 0;
}

// The end of the scale, a round value. At most one sound cell in 200 exceeds it; about half of the outliers do, if
// sound cells remain distinguishable.
function limitOf(values, flagged, unit) {
  const base = quantileOf(values, 0.995);
  const high = Math.max(base, Math.min(4 * base, quantileOf(flagged, 0.5)));
  const limits = LIMITS[unit];
  return limits.find((l) => l >= high) || limits[limits.length - 1];
}

function drawLegend(report) {
  const { palette, limit } = report.heat;
  const strip = el("canvas", { width: 181, height: 1, role: "img", "aria-label": "from orange, slower, to blue, faster" });
  const draw = strip.getContext("2d");
  for (let x = 0; x <= 180; x++) {
    draw.fillStyle = palette.of(x / 90 - 1);
    draw.fillRect(x, 0, 1, 1);
  }
  const end = (v) => (report.view.unit === "percent" ? signed(v, 0) : `${v > 0 ? "+" : "\u2212"}${limit}`);
  byId("heat-legend").replaceChildren(
    el("span", {}, `${end(-limit)} slower`, strip, `faster ${end(limit)}`),
    el("span", {}, el("i", { class: "flagged" }), "outlier"), el("span", {}, el("i", { class: "disturbed" }), "disturbed"),
    el("span", {}, el("i", { class: "missing" }), "not there, or not known"),
    el("span", {}, "\u25bc slow, \u25b2 fast, \u25cb suspect node"));
}
