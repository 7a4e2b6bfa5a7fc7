// SPDX-License-Identifier: GPL-3.0-or-later
// How well the models predict points outside of their own data: fitness and residuals.

const RESIDUAL_MOST = 0.5; // larger residuals are drawn at the edge; their tip has the value

// The performance that a roofline model predicts for a point of test code C, flop/s; 0 = no such
// roof.
function predicted(model, p, which) {
  const set = model.roofs.find((s) => sameSet(s, p));
  const compute = set && set.compute.find((c) => c.op === p.op);
  const intensity = pointIntensity(p, which);
  if (!compute || !intensity) {
    return 0;
  }
  const memory = which === "original"
    ? set.dram_peak
    : set.memory.find((m) => m.level === p.level && m.ldst === model.config.ldst);
  return memory ? Math.min(memory.bandwidth * intensity, compute.rate) : 0;
}

function pointIntensity(p, which) {
  const bytes = which === "original" ? p.traffic_bytes[p.traffic_bytes.length - 1] : p.bytes;
  return bytes > 0 ? p.flops / bytes : 0;
}

function residualPoint(p, which, promise) {
  const measured = p.flops / p.seconds;
  const error = measured / promise - 1;
  return {
    x: pointIntensity(p, which), y: Math.max(-RESIDUAL_MOST, Math.min(RESIDUAL_MOST, error)), value: error,
    tip: [
      `${error > 0 ? "+" : ""}${percent(error)} of the model's ${si(promise, "flop/s")}`,
      `measured ${si(measured, "flop/s")} at ${short(pointIntensity(p, which))} flop/byte, ${p.level}`,
      intervalText(p.ci95, "flop/s"), `${p.op}, ${setText(p)}; code ${p.code}`,
      `counted: ${p.counted_by}; median of ${p.reps} repetitions`, noteLine(p),
    ],
  };
}

function residualSeries(report, which) {
  const { model } = report.data;
  const { view } = report;
  const groups = new Map();
  for (const p of ofShownSets(report, model.validation_points || [])) {
    const promise = isOn(view, `op:${p.op}`) && isOn(view, `level:${p.level}`) ? predicted(model, p, which) : 0;
    if (promise > 0) {
      const points = groups.get(p.level) || [];
      points.push(residualPoint(p, which, promise));
      groups.set(p.level, points);
    }
  }
  return [...groups].map(([level, points]) => ({ name: level, style: `lv${levelIndex(model, level)}`, points }));
}

function percentTicks() {
  return [-0.5, -0.25, -0.1, 0, 0.1, 0.25, 0.5].map((v) => ({ at: v, text: v > 0 ? `+${percent(v, 0)}` : percent(v, 0) }));
}

function drawResiduals(report) {
  const figures = MODELS.map((which) => [which, byId(`residuals-${which}`)]).filter(([, figure]) => figure);
  for (const [which, figure] of figures) { // first, as a chart takes all room
    figure.hidden = report.view.model !== "both" && report.view.model !== which;
  }
  for (const [which, figure] of figures) {
    const series = residualSeries(report, which);
    const x = extentOf(series, (p) => p.x, 1.4);
    drawChart(figure.querySelector(".frame"), {
      label: `residuals of the ${which} model`, titles: ["flop/byte", "measured / model - 1"], x,
      y: [-0.55, 0.55], yLinear: true, series, marks: [], band: [-0.1, 0.1],
      xTicks: (most) => powerTicks(x[0], x[1], 1, most), yTicks: percentTicks,
    });
    figure.querySelector(".key").replaceWith(chartKey(series));
  }
}

// The validated sets and operations, fewer threads first.
function validatedColumns(model) {
  const columns = new Map();
  for (const v of model.validation) {
    columns.set(`${setText(v)} ${v.op}`, v);
  }
  return [...columns].sort(([, a], [, b]) => (a.isa < b.isa ? -1 : a.isa > b.isa ? 1 : a.threads - b.threads));
}

const MATRIX_NAMES = {
  "cache-aware": "cache-aware model", original: "original model", "original-mix": "original model, peak of the same mix",
};

// Fitness as carm validate prints it: a row for each model and level, a column for each set of roofs.
function fitnessMatrix(model) {
  const columns = validatedColumns(model);
  const has = (level) => model.validation.some((v) => v.model === "cache-aware" && v.level === level);
  const levels = [...model.levels.map((l) => l.level), "all"].filter(has);
  const score = (name, level, [, of], member) => {
    const found = model.validation.find((v) => v.model === name && v.level === level && v.op === of.op && sameSet(v, of));
    return found && known(found[member]) ? `${found[member].toFixed(1)}%` : "\u2013";
  };
  const row = (name, title, level, member) => [title, level, ...columns.map((c) => score(name, level, c, member))];
  const rows = levels.map((level) => row("cache-aware", MATRIX_NAMES["cache-aware"], level, "fitness"));
  if (model.validation.some((v) => v.model === "cache-aware" && known(v.fitness_beside))) {
    rows.push(row("cache-aware", "the same, roofs of the same rounds", "all", "fitness_beside"));
  }
  for (const name of new Set(model.validation.map((v) => v.model))) {
    if (name !== "cache-aware") {
      rows.push(row(name, MATRIX_NAMES[name] || name, "all", "fitness"));
    }
  }
  return plainTable("Fitness = 100 / (1 + rRMSE): how well a model predicts points that it was not made from. " +
    "all = the points of all levels together",
    ["model", "level", ...columns.map(([name]) => name)], rows, columns.map((c, i) => i + 2));
}

function makeValidation(report) {
  const { model } = report.data;
  const section = byId("validation");
  if (!model.validation.length) {
    section.append(el("p", {}, "This model was never validated. `carm validate` measures points that no roof comes from, and reports how far each model is from them."));
    return;
  }
  const beside = model.validation.some((v) => known(v.fitness_beside));
  section.append(fitnessMatrix(model));
  section.append(el("details", {}, el("summary", {}, `All ${plural(model.validation.length, "score")}, with rRMSE and worst point`),
    plainTable("rRMSE over the measured values, and over the model's",
    ["model", "level", "set", "op", "points", "rRMSE", "rRMSE over the model", "fitness", ...(beside ? ["fitness, paired"] : []), "worst point"],
    model.validation.map((v) => [
      v.model, v.level, setText(v), v.op, v.n, percent(v.rrmse), percent(v.rrmse_model), `${v.fitness.toFixed(1)}%`,
      ...(beside ? [known(v.fitness_beside) ? `${v.fitness_beside.toFixed(1)}%` : "\u2013"] : []),
      `${percent(v.worst_error)} at ${short(v.worst_intensity)} flop/byte`,
    ]), beside ? [4, 5, 6, 7, 8] : [4, 5, 6, 7])));
  if ((model.validation_points || []).length) {
    section.append(el("div", { class: "plots" }, ...MODELS.map((which) =>
      el("figure", { id: `residuals-${which}` }, el("figcaption", {}, `Residuals, ${which} model; band: 10%`),
        el("div", { class: "frame" }), el("ul", { class: "key" })))));
  }
}
