// SPDX-License-Identifier: GPL-3.0-or-later
// The machine, how it was measured, warnings, and the tables of roofs and counts.

// One clock if the clocks of all sets are within 0.2%, else a clock for each set.
function clocksText(sets) {
  const clocks = sets.map((s) => s.clock_hz);
  return Math.max(...clocks) <= 1.002 * Math.min(...clocks) ? si(Math.max(...clocks), "Hz")
    : [...new Set(sets.map((s) => `${si(s.clock_hz, "Hz")} (${setText(s)})`))].join(", ");
}

function makeFacts(report) {
  const { model, generated, version } = report.data;
  const m = model.machine;
  const c = model.config;
  const sizes = new Map(m.caches.map((cache) => [`L${cache.level}`, cache]));
  byId("facts").append(
    facts([
      ["CPU", m.cpu], ["Host", m.hostname], ["Hypervisor", m.hypervisor || "none seen"],
      ["Cores, threads", `${m.cores}, ${m.threads}`], ["Memory", bytesText(m.memory_bytes)],
      ["Pages of the buffers", bytesText(m.page_bytes)], ["Time stamp counter", si(m.tsc_hz, "Hz")],
      ["Core clock under load", clocksText(model.roofs)],
      ["Measured", model.created], ["By", `carm ${model.carm_version}`],
      ["Repetitions", c.reps], ["Mix of loads and stores", c.ldst], ["Precision", c.precision],
      ["Plan", c.quick ? "quick" : "full"], ["Validated", model.validated || (model.validation.length ? "yes, its time was not kept" : "never")],
      ["Page made", `${generated} by carm ${version}`],
    ]),
    plainTable("Levels: what the OS reports, and where the measured curve leaves the plateau",
      ["level", "OS size", "shared by", "knee", "plateau", "note"],
      model.levels.map((l) => [
        l.level, l.os_size_bytes ? bytesText(l.os_size_bytes) : "\u2013",
        sizes.has(l.level) ? plural(sizes.get(l.level).shared_by, "thread") : "\u2013",
        l.knee_bytes ? bytesText(l.knee_bytes) : "\u2013", l.resolved ? "resolved" : "unresolved", l.note || "\u2013",
      ]), [1, 3]));
}

// ---- warnings

function levelWarnings(model) {
  const out = [];
  for (const l of model.levels) {
    const ratio = l.os_size_bytes && l.knee_bytes ? l.knee_bytes / l.os_size_bytes : 1;
    if (!l.resolved) {
      out.push(`${l.level} is unresolved: ${l.note || "the curve has no plateau for it"}`);
    } else if (ratio < 0.67 || ratio > 1.5) {
      out.push(`${l.level}: the OS reports ${bytesText(l.os_size_bytes)}, the curve leaves its plateau at ${bytesText(l.knee_bytes)}`);
    } else if (l.note) {
      out.push(`${l.level}: ${l.note}`);
    }
  }
  return out;
}

function roofWarnings(model) {
  const out = [];
  for (const s of model.roofs) {
    const bad = (list, name) => list.filter((r) => r.disturbed)
      .forEach((r) => out.push(`disturbed: ${name(r)} (${setText(s)})${r.note ? `: ${r.note}` : ""}`));
    bad(s.memoryOf ? [] : s.memory, (r) => `${r.level} ${r.ldst}`);
    bad(s.compute, (r) => r.op);
    bad(s.ceilings || [], (r) => `ceiling ${r.name}`);
    (s.ceilings || []).filter((r) => !r.disturbed && !(r.rate > 0))
      .forEach((r) => out.push(`not measured: ceiling ${r.name} (${setText(s)})${r.note ? `: ${r.note}` : ""}`));
  }
  return out;
}

function otherWarnings(data) {
  const { model, places } = data;
  const out = [];
  const over = places.filter((p) => MODELS.some((w) => p[KEYS[w]] && p[KEYS[w]].over)).length;
  const off = (model.count_checks || []).filter((c) => Math.abs(c.deviation) > 0.01);
  const curves = [...model.curves, ...model.flop_curves].flatMap((c) => c.points).filter((p) => p.disturbed).length;
  if (!model.roofs.some((s) => s.memory.length && s.compute.length)) {
    out.push("no set of the model has both memory and compute roofs: carm build measures them");
  } else if (!model.roofs.some((s) => s.dram_peak && s.dram_peak.bandwidth > 0)) {
    out.push("the model has no peak bandwidth of DRAM, so the original roofline has no slope");
  }
  if (!model.validation.length) {
    out.push("the model was never validated: `carm validate` measures how well it predicts this machine");
  }
  if (model.config.quick) {
    out.push("the model is from a quick build, with fewer repetitions and points");
  }
  if (over) {
    out.push(`${plural(over, "point")} above the roof: see the notes and the advice`);
  }
  if (off.length) {
    out.push(`counters and construction differ by more than 1% for ${off.map((c) => c.code).join(", ")}`);
  }
  if (curves) {
    out.push(`${plural(curves, "point")} of the curves stayed disturbed`);
  }
  return out;
}

// The warnings' subjects in one line.
function summaryOf(all) {
  const disturbed = all.filter((t) => t.startsWith("disturbed: ")).length;
  const missing = all.filter((t) => t.startsWith("not measured: ")).length;
  const others = all.filter((t) => !/^(disturbed|not measured): /.test(t));
  return [
    disturbed && `${plural(disturbed, "roof")} stayed disturbed`,
    missing && `${plural(missing, "ceiling")} could not be measured`,
    ...others,
  ].filter(Boolean).join("; ");
}

function makeWarnings(report) {
  const all = [...otherWarnings(report.data), ...levelWarnings(report.data.model), ...roofWarnings(report.data.model)];
  const list = (texts) => el("ul", {}, ...texts.map((t) => el("li", { class: "name" }, t)));
  const section = byId("warnings");
  if (!all.length) {
    section.append(el("p", { class: "hint" }, "No warnings: no roof was disturbed, all levels are resolved, the model was validated."));
    return;
  }
  // one line, so that the plots come first; the style sheet cuts its names
  section.append(el("details", { class: "warnings" },
    el("summary", {}, el("b", {}, plural(all.length, "warning")), `: ${summaryOf(all)}`), list(all)));
}

// ---- roofs and counts

function roofRow(set, what, value, unit, r, perCycle) {
  return [
    what, setText(set), si(value, unit), isKnown(r.ci95) ? rangeText(r.ci95[0], r.ci95[1], unit) : "not known",
    r.spread ? rangeText(r.spread.p5, r.spread.p95, unit) : "\u2013",
    perCycle ? digits4(perCycle) : "\u2013", r.clock_hz > 0 ? si(r.clock_hz, "Hz") : "\u2013",
    r.code, `${r.counted_by}, ${r.reps}`, noteLine(r) || "\u2013",
  ];
}

function roofRows(view, model) {
  const rows = [];
  for (const s of model.roofs.filter((set) => setIsOn(view, set))) {
    s.memory.filter((m) => isOn(view, `level:${m.level}`) && isOn(view, `mix:${m.ldst}`))
      .forEach((m) => rows.push(roofRow(s, `${m.level} ${m.ldst}`, m.bandwidth, "B/s", m, m.bytes_per_cycle)));
    s.compute.filter((c) => isOn(view, `op:${c.op}`))
      .forEach((c) => rows.push(roofRow(s, c.op, c.rate, `${operationOf(s)}/s`, c, c.flops_per_cycle)));
    (s.ceilings || []).filter((c) => isOn(view, "layer:ceilings") && c.rate > 0)
      .forEach((c) => rows.push(roofRow(s, `ceiling ${c.name}`, c.rate, ["memory", "traffic"].includes(c.group) ? "B/s" : "flop/s", c, 0)));
  }
  return rows;
}

// Draws the table of the roofs that the toggles show, again after each change of the toggles.
function drawRoofs(report) {
  const box = byId("roofs-table");
  box.replaceChildren(plainTable("Medians with their 95% intervals, and between which rates 90% of the repetitions lie; the boxes above choose",
    ["roof", "set", "median", "95% interval", "p5 \u2013 p95", "each cycle", "clock", "code", "counted, repetitions", "note"],
    roofRows(report.view, report.data.model), [2, 5, 6]));
}

function makeRoofs(report) {
  const checks = report.data.model.count_checks || [];
  const section = byId("roofs");
  section.append(el("div", { id: "roofs-table" }), el("h3", {}, "Counts"));
  if (!checks.length) {
    section.append(el("p", {}, "No counter counted the test codes: their flops and bytes are known by construction and " +
      "recounted by disassembly."));
    return;
  }
  const pair = (c) => (c && known(c.counted) ? `${c.counted} of ${c.constructed}` : "\u2013");
  section.append(plainTable("Counts of the test codes by a counter, as a share of their construction",
    ["code", "by", "flops", "loads", "stores", "deviation", "note"],
    checks.map((c) => [c.code, `${c.counted_by} ${c.recipe}`, pair(c.flops), pair(c.loads), pair(c.stores), percent(c.deviation, 2), c.note || "\u2013"]),
    [2, 3, 4, 5]));
}
