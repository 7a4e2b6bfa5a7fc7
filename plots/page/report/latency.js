// SPDX-License-Identifier: GPL-3.0-or-later
// Latencies of loads, idle and beside streams; loads in flight; the core's operations; lines from core to core.

const NANO = 1e9;
const PAIRS_MOST = 16; // hardware threads whose matrix is shown; carm plot --kind core-to-core draws more

function nsText(seconds) {
  return `${digits4(NANO * seconds)} ns`;
}

function nsPoint(x, what, p) {
  return {
    x, y: NANO * p.seconds,
    tip: [`${nsText(p.seconds)} at ${what}`, isKnown(p.ci95) ? `95% interval ${nsText(p.ci95[0])} to ${nsText(p.ci95[1])}`
      : "95% interval not known", p.disturbed ? "disturbed" : ""],
  };
}

function latencySeries(model) {
  return (model.latency_curves || []).map((c, i) => ({
    name: `${c.order}, ${bytesText(c.page_bytes)} pages`, style: i ? `lv${Math.min(4, i)}` : "flat", set: i, line: true,
    points: c.points.map((p) => nsPoint(p.working_set_bytes, `${bytesText(p.working_set_bytes)}, ${c.order}`, p)),
  }));
}

function loadedSeries(model) {
  return (model.loaded || []).map((c, i) => ({
    name: `${c.ldst}, ${plural(c.threads, "thread")}`, style: i ? `lv${Math.min(4, i)}` : "flat", set: i, line: true,
    points: c.points.map((p) => nsPoint(p.bandwidth / 1e9, `${si(p.bandwidth, "B/s")} of ${c.ldst}`, p)),
  }));
}

function drawLatencies(report) {
  const { model } = report.data;
  const [idle, loaded] = ["curve-latency", "curve-loaded"].map(byId);
  if (idle) {
    drawCurve(idle, latencySeries(model), { label: "latency over working set", unit: "ns", xTitle: "working set", ticks: sizeTicks, marks: levelMarks(model) });
  }
  if (loaded) {
    drawCurve(loaded, loadedSeries(model), {
      label: "latency beside streams", unit: "ns", xTitle: "bandwidth of all threads, GB/s", marks: [],
      ticks: (low, high, most) => powerTicks(low, high, 1, most),
    });
  }
}

function latencyTables(model) {
  const level = (l) => [
    l.level, l.order, bytesText(l.page_bytes), l.seconds > 0 ? nsText(l.seconds) : "\u2013",
    l.seconds > 0 ? digits4(l.cycles) : "\u2013", l.reach_bytes ? bytesText(l.reach_bytes) : "\u2013", noteLine(l) || "\u2013",
  ];
  const flight = (f) => [
    f.level, f.code, nsText(f.latency_seconds), nsText(1 / f.rate), String(f.chains), f.lines.toFixed(1), noteLine(f) || "\u2013",
  ];
  return [
    plainTable("Latency of dependent loads, one thread; TLB2 and walk: added by a miss",
      ["level", "order", "pages", "load to use", "cycles", "up to", "note"], (model.latency || []).map(level), [3, 4, 5]),
    plainTable("Loads in flight, one thread: independent chains until the rate no longer grows",
      ["level", "loads", "one chain", "each at most", "chains", "lines in flight", "note"], (model.in_flight || []).map(flight), [2, 3, 4, 5]),
  ];
}

function coreTable(model) {
  const figure = (cycles) => (cycles > 0 ? cycles.toFixed(2) : "\u2013");
  return el("details", {}, el("summary", {}, `${plural(model.core.length, "operation")} of the core`),
    plainTable("Latency and reciprocal throughput in cycles of the core clock", ["operation", "ISA", "precision", "latency", "throughput", "code", "note"],
      model.core.map((c) => [c.kind, c.isa || "\u2013", c.precision || "\u2013", figure(c.latency), figure(c.throughput), c.code || "\u2013",
        noteLine(c) || "\u2013"]), [3, 4]));
}

function pairsTable(model) {
  const pairs = model.core_to_core;
  const ids = [...new Set(pairs.flatMap((p) => [p.from, p.to]))].sort((a, b) => a - b);
  const times = pairs.map((p) => NANO * p.seconds);
  const range = `A cache line from core to core, one way: ${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)} ns`;
  if (ids.length > PAIRS_MOST) {
    return el("p", {}, `${range}, ${plural(pairs.length, "pair")}; \`carm plot --kind core-to-core\` draws them.`);
  }
  const of = (a, b) => pairs.find((p) => (p.from === a && p.to === b) || (p.from === b && p.to === a));
  const cell = (p) => (p ? `${(NANO * p.seconds).toFixed(0)}${p.disturbed ? " !" : ""}` : "\u2013");
  return plainTable(`${range}; hardware threads by the operating system's numbers`, ["from, to", ...ids.map(String)],
    ids.map((a) => [String(a), ...ids.map((b) => cell(of(a, b)))]), ids.map((_, i) => i + 1));
}

// Rows are nodes with cores, columns nodes with memory.
function domainsTable(report) {
  const { model, domains } = report.data;
  const rows = model.numa_nodes.filter((n) => n.cores > 0);
  const cell = (p) => (p ? `${p.bandwidth > 0 ? si(p.bandwidth, "B/s") : "\u2013"}, ${p.seconds > 0 ? nsText(p.seconds) : "\u2013"}${p.disturbed ? " !" : ""}` : "\u2013");
  const of = (from, to) => model.numa.find((p) => p.from === from && p.to === to);
  return el("div", {}, plainTable("Memory domains: bandwidth and latency from the cores of a NUMA node to the memory of each", [
    "cores, memory", ...model.numa_nodes.map((n) => `numa:${n.node}${n.kind ? ` (${n.kind})` : ""}`)],
  rows.map((r) => [`numa:${r.node}`, ...model.numa_nodes.map((n) => cell(of(r.node, n.node)))]), model.numa_nodes.map((_, i) => i + 1)),
  el("ul", { id: "domains" }, ...domains.map((line) => el("li", {}, line))));
}

function makeLatencies(report) {
  const { model } = report.data;
  const section = byId("latency");
  const host = section.querySelector(".plots");
  if (latencySeries(model).length) {
    host.append(curveFigure("curve-latency", "Latency of dependent loads over working set, one thread"));
  }
  if (loadedSeries(model).length) {
    host.append(curveFigure("curve-loaded", "Latency of dependent loads beside streams in the other threads"));
  }
  if ((model.latency || []).length) {
    section.append(...latencyTables(model));
  }
  if ((model.core_to_core || []).length) {
    section.append(pairsTable(model));
  }
  if ((model.numa || []).length) {
    section.append(domainsTable(report));
  }
  if ((model.core || []).length) {
    section.append(coreTable(model));
  }
  if (section.childElementCount === 2 && !host.childElementCount) {
    section.append(el("p", {}, "The model has no latencies: carm build --latency yes measures them."));
  }
}
