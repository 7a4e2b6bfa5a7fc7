// SPDX-License-Identifier: GPL-3.0-or-later
// Turns the model into what is drawn: sets of roofs, lines of both roofline models, points.

const MODELS = ["cache-aware", "original"];
const KEYS = { "cache-aware": "cache_aware", original: "original" };

function readData() {
  const data = JSON.parse(byId("carm-data").textContent);
  if (data.model.schema !== "carm-model/1") {
    throw new Error(`the page knows carm-model/1, the data is ${data.model.schema}`);
  }
  completeSets(data.model);
  fillMany(data);
  return data;
}

// Of many points, only the longest are objects in the data. Makes objects of the others from their figures.
function fillMany(data) {
  const { many, places } = data;
  if (!many) {
    return;
  }
  const over = Object.fromEntries(Object.values(KEYS).map((key) => [key, new Set(many[key].over)]));
  const placeOfMany = (key, i) => {
    const m = many[key];
    return !m.bound || m.bound[i] < 0 ? null : {
      intensity: m.intensity[i], share: m.share[i], roof: many.performance[i] / m.share[i], bound: many.bounds[m.bound[i]],
      above: known(m.left[i]) ? { left: m.left[i] } : null, over: over[key].has(i), advice: "",
    };
  };
  data.untold = places.filter((p) => !p).length;
  data.places = places.map((p, i) => p || {
    name: many.name[i], performance: many.performance[i], seconds: many.seconds[i],
    roofs: many.sets[many.set[i]] || null, metric: (many.sets[many.set[i]] || {}).metric || undefined,
    cache_aware: placeOfMany("cache_aware", i), original: placeOfMany("original", i), not_placed: [], note: "",
  });
}

// Gives vector sets of dp without memory roofs those of sp, or the reverse, like carm_scaling_fill.
function completeSets(model) {
  const floating = ["dp", "sp"];
  for (const s of model.roofs.filter((r) => !r.memory.length && r.isa !== "scalar" && floating.includes(r.precision))) {
    const from = model.roofs.find((o) => o.memory.length && o.isa === s.isa && o.threads === s.threads &&
      floating.includes(o.precision));
    if (from) {
      Object.assign(s, { memory: from.memory, dram_peak: from.dram_peak, memoryOf: from.precision });
    }
  }
}

function setText(s) {
  return `${s.isa} ${s.precision}, ${plural(s.threads, "thread")}`;
}

function sameSet(a, b) {
  return a.isa === b.isa && a.precision === b.precision && a.threads === b.threads;
}

function peakOf(set) {
  return Math.max(0, ...set.compute.map((c) => c.rate));
}

const ISAS = ["scalar", "sse", "avx", "avx2", "avx512", "amx"]; // narrowest first

// Sets of narrower ISAs with the same threads and precision, whose instructions a program of the set may use.
function narrowerSets(model, set) {
  const place = ISAS.indexOf(set.isa);
  return model.roofs.filter((s) => s.threads === set.threads && s.precision === set.precision &&
    ISAS.includes(s.isa) && ISAS.indexOf(s.isa) < place);
}

// The roofs of narrower ISAs that are clearly above a set's own roofs, as in carm_model_best_memory (models/model.c).
function fasterRoofs(model, set) {
  const clearly = 1.01;
  const peak = peakOf(set);
  return narrowerSets(model, set).flatMap((s) => [
    ...s.memory.filter((m) => {
      const own = set.memory.find((o) => o.level === m.level && o.ldst === m.ldst);
      return own && m.ci95[0] > clearly * own.bandwidth;
    }).map((m) => ({ ...memoryLine(model, s, m), name: `${s.isa} ${m.level} ${m.ldst}`, set })),
    ...s.compute.filter((c) => c.rate === peakOf(s) && c.ci95[0] > clearly * peak)
      .map((c) => ({ ...computeLine(s, c), name: `${s.isa} ${c.op}`, set })),
  ]);
}

// The set that is shown first: the set of most points, where parts of a program count by their share of its time.
// Without points, or of equal sets: a set with own memory roofs, then the highest peak, among sets of its threads and
// precision the widest ISA, then the first.
function bestSet(model, places) {
  const weight = (p) => (p.part && p.part.time_share !== null ? p.part.time_share : 1);
  const points = (s) => places.filter((p) => p.roofs && sameSet(p.roofs, s)).reduce((sum, p) => sum + weight(p), 0);
  const ranked = model.roofs.map((s) => ({ s, points: points(s), own: Boolean(s.memory.length && !s.memoryOf), peak: peakOf(s) }));
  ranked.sort((a, b) => b.points - a.points || b.own - a.own || b.peak - a.peak);
  if (!ranked.length) {
    return null;
  }
  const first = ranked[0];
  const wider = ranked.find((r) => r.points === first.points && narrowerSets(model, r.s).includes(first.s));
  return (wider || first).s;
}

function levelIndex(model, level) {
  const i = model.levels.findIndex((l) => l.level === level);
  return Math.min(4, i < 0 ? 4 : i);
}

function noteLine(r) {
  return r.disturbed ? `disturbed: ${r.note}` : r.note;
}

function memoryTip(set, m) {
  return [
    `${m.level} ${m.ldst}: ${si(m.bandwidth, "B/s")}`,
    setText(set),
    intervalText(m.ci95, "B/s"),
    `${digits4(m.bytes_per_cycle)} byte/cycle of one core at ${si(m.clock_hz, "Hz")}`,
    `code ${m.code}, working set ${bytesText(m.working_set_bytes)}`,
    `counted: ${m.counted_by}; median of ${m.reps} repetitions`,
    noteLine(m),
  ];
}

// The name of a set's operations: "op" for integers.
function operationOf(set) {
  return set.precision.startsWith("int") ? "op" : "flop";
}

function computeTip(set, c) {
  const operation = operationOf(set);
  return [
    `${c.op}: ${si(c.rate, `${operation}/s`)}`,
    setText(set),
    intervalText(c.ci95, `${operation}/s`),
    `${digits4(c.flops_per_cycle)} ${operation}/cycle of one core at ${si(c.clock_hz, "Hz")}`,
    `code ${c.code}`,
    `counted: ${c.counted_by}; median of ${c.reps} repetitions`,
    noteLine(c),
  ];
}

// One line of a plot: slope (memory, value in byte/s) or horizontal (compute, value in flop/s).
function memoryLine(model, set, m) {
  return {
    kind: "memory", name: `${m.level} ${m.ldst}`, value: m.bandwidth, set, level: m.level, mix: m.ldst,
    style: `lv${levelIndex(model, m.level)}`, tip: memoryTip(set, m),
  };
}

function computeLine(set, c) {
  return { kind: "compute", name: c.op, value: c.rate, set, op: c.op, style: "flat", tip: computeTip(set, c) };
}

function dramLine(model, set) {
  const d = set.dram_peak;
  const last = model.levels.length ? model.levels[model.levels.length - 1].level : "DRAM";
  return {
    kind: "memory", name: last, value: d.bandwidth, set, level: last, style: `lv${levelIndex(model, last)}`,
    tip: [
      `${last}: ${si(d.bandwidth, "B/s")}`, setText(set),
      "bytes between last-level cache and memory; the best of several streaming codes", `code ${d.code}`,
    ],
  };
}

function ceilingLine(set, ceiling, kind, index) {
  const unit = kind === "memory" ? "B/s" : `${operationOf(set)}/s`;
  return {
    kind, name: ceiling.name, value: ceiling.rate, set, aside: ceiling.aside, id: `${kind}${index}`,
    tip: [
      `${ceiling.name}: ${si(ceiling.rate, unit)}`, setText(set),
      ceiling.ci95[0] < ceiling.ci95[1] ? intervalText(ceiling.ci95, unit) : "",
      `to break through: ${ceiling.step}`, ceiling.aside ? "limits only kernels of that kind" : "",
    ],
  };
}

// All lines that a model can show, whatever the toggles say.
function linesOf(model, which) {
  const lines = [];
  for (const set of model.roofs) {
    if (which === "cache-aware") {
      lines.push(...set.memory.map((m) => memoryLine(model, set, m)));
    } else if (set.dram_peak && set.dram_peak.bandwidth > 0) {
      lines.push(dramLine(model, set));
    }
    lines.push(...set.compute.map((c) => computeLine(set, c)));
    lines.push(...fasterRoofs(model, set).filter((l) => which === "cache-aware" || l.kind === "compute"));
  }
  lines.forEach((line, i) => (line.id = `${which}${i}`));
  return lines;
}

// Measured ceilings: the rates with one optimisation less. The roof itself has no step.
function ceilingsOf(sets, which) {
  const lines = [];
  for (const set of sets) {
    const of = (kind) => set[kind].map((r, i) => [r, i]).filter(([r]) => r.step)
      .map(([r, i]) => ceilingLine(set, r, kind, `${i} ${setText(set)}`));
    lines.push(...(which === "original" ? of("memory") : []), ...of("compute"));
  }
  return lines;
}

// Whether a point is drawn: operations of other metrics have no height on an axis of flop/s.
const isDrawn = (p) => !p.metric || Boolean(p.roofs && p.roofs.precision.startsWith("int"));

// Points with a place on a roofline model; index: row of the table. A point without bytes has an infinite intensity
// (null), which no axis shows.
function pointsOf(places, which) {
  const points = [];
  places.forEach((p, index) => {
    const at = p[KEYS[which]];
    if (at && at.intensity !== null && p.performance > 0 && isDrawn(p)) {
      points.push({ index, name: p.name, x: at.intensity, y: p.performance, over: at.over, place: p, at });
    }
  });
  return points;
}

// "entered 10 times, 100 iterations each"; entries are not always known
function tripsText(part) {
  if (!part.trips) {
    return "";
  }
  const trips = `${short(part.trips)} iterations`;
  return part.entries === 1 ? `entered once, ${trips}`
    : part.entries ? `entered ${short(part.entries)} times, ${trips} each` : `about ${trips} each time`;
}

// "61.2% of the time; entered 10 times, 100 iterations each; 98% of its flops in vectors; solve.c:42"
function partText(part) {
  return !part ? "" : [
    part.time_share === null ? "" : `${percent(part.time_share)} of the program's time`,
    tripsText(part),
    part.vector_share === null ? "" : `${percent(part.vector_share)} of its flops in vectors`,
    part.source, part.module,
  ].filter(Boolean).join("; ");
}

// "L2: 12% of its roof at 0.5 flop/byte", for each level of a point of the cache-aware plot; [] = not counted
function levelTips(p, which) {
  const { levels, binds } = p.place;
  return which !== "cache-aware" || !levels ? [] : levels.map((l) =>
    `${l.level}: ${percent(l.share)} of its roof of ${si(l.roof, "flop/s")} at ${short(l.intensity)} flop/byte${l.level === binds ? ", binds" : ""}`);
}

function pointTip(p, which) {
  const at = p.at;
  const low = at.intensity_low;
  const unit = p.place.metric || "flop";
  return [
    p.name,
    `${si(p.y, `${unit}/s`)} at ${short(p.x)} ${unit}/byte`,
    low ? `between ${short(low)} and ${short(at.intensity_high)} ${unit}/byte` : "",
    `${which} model, ${setText(p.place.roofs)}: ${percent(at.share)} of the roof of ${si(at.roof, `${unit}/s`)}; bound by ${at.bound}`,
    at.own ? `${percent(at.own.share)} of the roof of its own mix, ${si(at.own.roof, `${unit}/s`)}` : "",
    at.own ? [at.own.memory, at.own.compute].filter(Boolean).join("; ") : "",
    ...levelTips(p, which),
    partText(p.place.part),
    p.place.counted_by ? `counted: ${p.place.counted_by}` : "",
    at.over ? "above the roof" : "",
    at.advice,
  ];
}
