// SPDX-License-Identifier: GPL-3.0-or-later
// The fleet's data: the groups' whole numbers become arrays of floats, by node and column.

const VERDICTS = {
  ".": "sound", u: "suspect", m: "small", s: "slow", f: "fast",
};
const HAS = 1; // bit of a cell's state
const DISTURBED = 2;
const FLAGGED = 4;

function readFleet() {
  const block = byId("carm-data");
  const data = JSON.parse(block.textContent);
  if (data.schema !== "carm-fleet-page/1") {
    throw new Error(`the page knows carm-fleet-page/1, the data is ${data.schema}`);
  }
  block.textContent = ""; // frees the memory of a large fleet's text
  data.groups.forEach(decodeGroup);
  data.model = { config: { ldst: "" } }; // for the roofline's code, which expects a model
  return data;
}

function floats(values, step) {
  return Float32Array.from(values, (v) => (v === null ? NaN : v * step));
}

function decodeGroup(group, index) {
  group.index = index;
  for (const [name, step] of [["share", 1e-5], ["own", 1e-5], ["z", 1e-2]]) {
    group[name] = floats(group[name], step);
  }
  group.q = Int32Array.from(group.q);
  group.state = Uint8Array.from(group.state, (digit) => Number(digit));
  const cells = group.columns.length;
  group.columns.forEach((c, j) => {
    c.index = j;
    c.set = c.kind === "level" ? "" : setText(c);
    c.label = labelOf(c);
    c.short = c.kind === "level" && c.threads ? `${c.name} ${c.threads}T` : c.name;
  });
  group.sets = setsOf(group.columns);
  group.cell = (node, column) => node * cells + column;
  group.history = new Map(group.history.map(([node, total, ...models]) => [node, { total, models }]));
  group.score = Float32Array.from(group.names, (_, i) => scoreOf(group, i));
  group.flags = Uint16Array.from(group.names, (_, i) => {
    let n = 0;
    for (let j = 0; j < cells; j++) {
      n += group.state[group.cell(i, j)] & FLAGGED ? 1 : 0;
    }
    return n;
  });
}

function labelOf(c) {
  if (c.kind === "level") {
    return `${c.name}${c.threads ? `, ${plural(c.threads, "thread")}` : ""} (${plural(c.roofs, "roof")})`;
  }
  return `${c.set}: ${c.name}`;
}

// Sets of roofs in their order: [{isa, precision, threads, text, columns}]
function setsOf(columns) {
  const sets = new Map();
  for (const c of columns.filter((column) => column.kind !== "level")) {
    if (!sets.has(c.set)) {
      sets.set(c.set, { isa: c.isa, precision: c.precision, threads: c.threads, text: c.set, columns: [] });
    }
    sets.get(c.set).columns.push(c);
  }
  return [...sets.values()];
}

function stateOf(group, node, column) {
  return group.state[group.cell(node, column)];
}

// The deviation of a node, for the order of rows: sigmas where known, else per cent; outliers come before the rest.
function scoreOf(group, node) {
  let most = 0;
  group.columns.forEach((c, j) => {
    const at = group.cell(node, j);
    if (c.kind !== "clock" && !(group.state[at] & DISTURBED) && group.state[at] & HAS) {
      const z = group.z[at];
      most = Math.max(most, Math.abs(Number.isFinite(z) ? z : group.share[at] || 0));
    }
  });
  return most + ("sf".includes(group.verdict[node]) ? 1e6 : group.verdict[node] === "u" ? 1e5 : 0);
}

function rateOf(group, node, column) {
  return group.columns[column].median * (1 + group.share[group.cell(node, column)]);
}

// ---- texts

function signed(share, decimals) {
  const text = percent(share, decimals === undefined ? (Math.abs(share) < 0.9995 ? 1 : 0) : decimals);
  return share > 0 ? `+${text}` : text.replace("-", "\u2212");
}

function chanceText(code) {
  if (code < 0) {
    return "not judged";
  }
  const q = 10 ** (-code / 100);
  return q < 1e-12 ? "< 1e-12" : String(Number(q.toPrecision(2)));
}

// "q = 0.003"
function sureText(code) {
  const text = chanceText(code);
  return code < 0 ? text : text.startsWith("<") ? `q ${text}` : `q = ${text}`;
}

function unitOf(c) {
  return c.unit === "byte/s" ? "B/s" : c.unit;
}

// The certainty of a cell's deviation, or why it was not judged.
function judgedText(group, node, column) {
  const at = group.cell(node, column);
  const c = group.columns[column];
  if (group.state[at] & DISTURBED) {
    return "disturbed: it accuses nobody";
  }
  if (c.kind === "clock") {
    return "the clock is shown, not judged";
  }
  const q = sureText(group.q[at]);
  return group.state[at] & FLAGGED ? `${q}: an outlier` : q;
}

function cellTip(group, node, column) {
  const c = group.columns[column];
  const at = group.cell(node, column);
  const head = [group.names[node], c.label];
  if (!(group.state[at] & HAS)) {
    return [...head, "this node has no such roof"];
  }
  const z = group.z[at];
  const off = `${signed(group.share[at], 2)} off the median${Number.isFinite(z) ? `, ${z.toFixed(1).replace("-", "\u2212")} sigmas` : ""}`;
  if (c.kind === "level") {
    return [...head, off, `weighted mean of ${plural(c.roofs, "roof")}`, judgedText(group, node, column)];
  }
  const rate = rateOf(group, node, column);
  const half = 1.959964 * group.own[at];
  const unit = unitOf(c);
  return [
    ...head, si(rate, unit), half > 0 ? intervalText([rate * (1 - half), rate * (1 + half)], unit) : "",
    `median of ${plural(c.n, "node")}: ${si(c.median, unit)}`, off, judgedText(group, node, column),
  ];
}
