// SPDX-License-Identifier: GPL-3.0-or-later
// B(beta), bandwidth over the working set, and F(phi), performance over the flops of one run.

// Sizes at powers of two: "32 KiB"
function sizeTicks(low, high, most) {
  return powerTicks(low, high, 1, most).map((t) => ({ at: t.at, text: bytesText(t.at) }));
}

function countTicks(low, high, most) {
  return powerTicks(low, high, 1, most).map((t) => ({ at: t.at, text: bytesText(t.at).replace(/ ?B$|iB$/, "") }));
}

function extentOf(series, of, room) {
  const values = series.flatMap((s) => s.points.map(of)).filter((v) => v > 0);
  return values.length ? [Math.min(...values) / room, Math.max(...values) * room] : [1, 2];
}

// Curves and points of the shown sets. If the initial sets have none, such as sets of scalar code, the first set that
// has some replaces them.
function ofShownSets(report, list) {
  const { view } = report;
  const begins = list.some((item) => setIsOn({ ...view, toggles: view.defaults }, item));
  return begins ? list.filter((item) => setIsOn(view, item)) : list.filter((item) => sameSet(item, list[0]));
}

function curveSeries(report, curves, kind, point) {
  const shown = ofShownSets(report, curves).filter((c) => isOn(report.view, `${kind.group}:${kind.of(c)}`));
  return shown.map((c, i) => ({
    name: `${kind.of(c)}, ${setText(c)}`, style: kind.group === "mix" ? `lv${Math.min(4, i)}` : i ? `lv${Math.min(4, i)}` : "flat",
    set: i, line: true, points: c.points.map((p) => point(c, p)),
  }));
}

function bandwidthPoint(c, p) {
  return {
    x: p.working_set_bytes, y: p.bandwidth,
    tip: [
      `${si(p.bandwidth, "B/s")} at ${bytesText(p.working_set_bytes)}`, `${c.ldst}, ${setText(c)}`,
      intervalText(p.ci95, "B/s"), p.disturbed ? "disturbed" : "",
    ],
  };
}

function flopsPoint(c, p) {
  return {
    x: p.flops, y: p.performance,
    tip: [
      `${si(p.performance, `${operationOf(c)}/s`)} at ${short(p.flops)} ${operationOf(c)}`, `${c.op}, ${setText(c)}`,
      intervalText(p.ci95, `${operationOf(c)}/s`), p.disturbed ? "disturbed" : "",
    ],
  };
}

function levelMarks(model) {
  return model.levels.flatMap((l) => [
    l.os_size_bytes ? { x: l.os_size_bytes, os: true, text: `${l.level} OS`, tip: `${l.level} as the OS reports it: ${bytesText(l.os_size_bytes)}` } : null,
    l.knee_bytes ? { x: l.knee_bytes, os: false, text: l.level, tip: `${l.level}: the curve leaves its plateau at ${bytesText(l.knee_bytes)}` } : null,
  ]).filter(Boolean);
}

// Series over threads: marks are measured, lines between them interpolated.
function scalingSeries(model) {
  const several = (model.scaling || []).some((c) => c.layout !== model.scaling[0].layout);
  return (model.scaling || []).map((c, i) => ({
    name: `${c.level} ${c.kind}${several ? `, ${c.layout}` : ""}`, style: i ? `lv${Math.min(4, i)}` : "flat", set: i, line: true,
    points: c.points.map((p) => {
      const unit = c.level === "peak" ? `${operationOf(c)}/s` : "B/s";
      return {
        x: p.threads, y: p.rate,
        tip: [`${si(p.rate, unit)} with ${plural(p.threads, "thread")}`, `${c.level} ${c.kind}, ${c.layout}`, intervalText(p.ci95, unit), p.code,
          p.disturbed ? "disturbed" : ""],
      };
    }),
  }));
}

function threadTicks(low, high, most) {
  return powerTicks(low, high, 1, most).map((t) => ({ at: t.at, text: String(Math.round(t.at)) })).filter((t) => t.at >= 1);
}

function drawCurve(figure, series, chart) {
  const unit = axisUnit(extentOf(series, (p) => p.y, 1)[1], chart.unit);
  const y = extentOf(series, (p) => p.y, 1.4);
  const x = extentOf(series, (p) => p.x, 1.3);
  drawChart(figure.querySelector(".frame"), {
    ...chart, series, x, y, band: null, titles: [chart.xTitle, chart.yTitle ? chart.yTitle(unit.text) : unit.text],
    xTicks: (most) => chart.ticks(x[0], x[1], most), yTicks: (most) => powerTicks(y[0], y[1], unit.unit, most),
  });
  figure.querySelector(".key").replaceWith(chartKey(series));
}

function drawCurves(report) {
  const { model } = report.data;
  const [bandwidth, flops, scaling] = ["curve-bandwidth", "curve-flops", "curve-scaling"].map(byId);
  if (bandwidth) {
    drawCurve(bandwidth, curveSeries(report, model.curves, { group: "mix", of: (c) => c.ldst }, bandwidthPoint),
      { label: "bandwidth over working set", unit: "B/s", xTitle: "working set of all threads", ticks: sizeTicks, marks: levelMarks(model) });
  }
  if (flops) {
    drawCurve(flops, curveSeries(report, model.flop_curves, { group: "op", of: (c) => c.op }, flopsPoint),
      { label: "performance over flops", unit: "flop/s", xTitle: "flops of one run, one thread (Ki = 1024)", ticks: countTicks, marks: [] });
  }
  if (scaling) {
    drawCurve(scaling, scalingSeries(model), {
      label: "bandwidth and peak over threads", unit: "B/s", xTitle: "threads", ticks: threadTicks, marks: [],
      yTitle: (text) => `${text}, peak: ${text.replace("B/s", "flop/s")}`,
    });
  }
}

function curveFigure(id, title) {
  return el("figure", { id }, el("figcaption", {}, title), el("div", { class: "frame" }), el("ul", { class: "key" }));
}

function makeCurves(report) {
  const { model } = report.data;
  const host = document.querySelector("#curves .plots");
  if (model.curves.length) {
    host.append(curveFigure("curve-bandwidth", "B(\u03b2): bandwidth over the working set; dashed: the OS's sizes, lines: knees"));
  }
  if (model.flop_curves.length) {
    host.append(curveFigure("curve-flops", "F(\u03c6): performance over the flops of one run"));
  }
  if (scalingSeries(model).length) {
    host.append(curveFigure("curve-scaling", "Scaling: bandwidth and peak over the number of threads; lines between marks are interpolated"));
    document.getElementById("curves").append(el("ul", { id: "scaling" }, ...report.data.scaling.map((line) => el("li", {}, line))));
  }
  if (!host.childElementCount) {
    host.append(el("p", {}, "The model has no curves."));
  }
}
