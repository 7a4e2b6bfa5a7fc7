// SPDX-License-Identifier: GPL-3.0-or-later
// Axes of a plot: places of ticks, lines and texts.

// Ticks at powers of two within [low, high], at most `most`; plain numbers where there are fewer
// than two powers.
// unit  the value of 1 in the axis' unit (1e9 for Gflop/s)
function powerTicks(low, high, unit, most) {
  const first = Math.ceil(Math.log2(low / unit) - 1e-9);
  const last = Math.floor(Math.log2(high / unit) + 1e-9);
  if (last - first >= 1) {
    const step = Math.max(1, Math.ceil((last - first + 1) / most));
    const ticks = [];
    for (let e = Math.ceil(first / step) * step; e <= last; e += step) {
      ticks.push({ at: 2 ** e * unit, text: powerText(e) });
    }
    return ticks;
  }
  const plain = d3.scale.linear().domain([low / unit, high / unit]).ticks(Math.min(5, most));
  return plain.filter((v) => v > 0).map((v) => ({ at: v * unit, text: short(v) }));
}

// The unit for values up to `value`: "Gflop/s".
function axisUnit(value, name) {
  const i = Math.max(0, Math.min(PREFIXES.length - 1, Math.floor(Math.log10(value / 4) / 3)));
  return { unit: 1000 ** i, text: `${PREFIXES[i]}${name}` };
}

// box {left, top, width, height} in pixels; x, y: scales to pixels of the whole svg
function drawAxes(layer, box, x, y, xTicks, yTicks, titles) {
  const join = (name, ticks, place) => {
    const g = layer.selectAll(`g.${name}`).data(ticks, (t) => t.at);
    const made = g.enter().append("g").attr("class", `tick ${name}`);
    made.append("line");
    made.append("text");
    g.exit().remove();
    g.select("text").text((t) => t.text);
    g.each(place);
  };
  const bottom = box.top + box.height;
  join("x", xTicks, function (t) {
    const at = x(t.at);
    d3.select(this).select("line").attr({ x1: at, x2: at, y1: box.top, y2: bottom });
    // keeps the last tick's text inside the picture
    const last = box.left + box.width + MARGIN.right - 2 - textLength(t.text, 11) / 2;
    d3.select(this).select("text").attr({ x: Math.min(at, last), y: bottom + 15, "text-anchor": "middle" });
  });
  join("y", yTicks, function (t) {
    const at = y(t.at);
    d3.select(this).select("line").attr({ x1: box.left, x2: box.left + box.width, y1: at, y2: at });
    d3.select(this).select("text").attr({ x: box.left - 6, y: at + 4, "text-anchor": "end" });
  });
  const texts = layer.selectAll("text.axis-title").data(titles);
  texts.enter().append("text").attr("class", "axis-title");
  texts.text((t) => t).attr("text-anchor", (t, i) => (i ? "start" : "middle"))
    .attr("x", (t, i) => (i ? 4 : box.left + box.width / 2))
    .attr("y", (t, i) => (i ? box.top - 8 : bottom + 33));
}
