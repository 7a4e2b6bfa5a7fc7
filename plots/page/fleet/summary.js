// SPDX-License-Identifier: GPL-3.0-or-later
// The counts, what to do next, and the shown group.

function countVerdicts(data, verdict) {
  return data.groups.reduce((n, g) => n + [...g.verdict].filter((v) => v === verdict).length, 0);
}

function makeHeader(report) {
  const { data } = report;
  const nodes = data.groups.reduce((n, g) => n + g.names.length, 0);
  const text = data.title || `Fleet of ${plural(nodes, "node")}`;
  byId("title").textContent = text;
  byId("title").classList.add("name");
  document.title = text;
  byId("subtitle").textContent = `${plural(data.counts.models, "model")} from ${plural(data.counts.files, "file")}, ${plural(data.groups.length, "group")}`;
  byId("made").textContent = `Made ${data.generated} by carm ${data.version}. This page holds its data and loads nothing.`;
}

function nextSteps(data, slow, suspects) {
  const steps = [];
  if (slow) {
    steps.push("Measure a slow node again while nothing else runs on it: carm build.",
      "If it stays slow, compare it with a sound node of its group: carm compare SOUND.json NODE.json.",
      "If its core clock does not explain it, drain the node and look at its hardware; the column \u201clook at\u201d says where.");
  } else if (suspects) {
    steps.push("Measure the suspects again (carm build): up to 1% of sound nodes are suspects, and a second run tells them apart.");
  }
  if (data.failed.length) {
    steps.push("Run the failed nodes again; their reasons are at the end of this page.");
  }
  if (data.broken.length) {
    steps.push("Replace the broken files, which are named at the end of this page, or remove them.");
  }
  return steps.length ? steps : ["Nothing: no node falls short. Keep this page: a later one shows what a firmware update did."];
}

function makeSummary(report) {
  const { data } = report;
  const [slow, fast, suspects] = ["s", "f", "u"].map((v) => countVerdicts(data, v));
  const nodes = data.groups.reduce((n, g) => n + g.names.length, 0);
  const count = (n, text, bad) => el("li", { class: bad && n ? "bad" : null, "data-count": text }, el("b", {}, n), text);
  byId("summary").append(
    el("ul", { class: "counts" }, count(nodes, nodes === 1 ? "node" : "nodes"), count(data.groups.length, data.groups.length === 1 ? "group" : "groups"),
      count(slow, "slow", true), count(fast, "fast"), count(suspects, "suspects"), count(data.failed.length, "failed", true),
      count(data.broken.length, "broken", true)),
    el("p", {}, `${plural(data.counts.judged, "node")} judged. Expect at most 1 false alarm in ${Math.round(1 / data.counts.fdr)} outliers; ` +
      `differences below ${percent(data.counts.least, 1)} are ignored. A suspect would be an outlier if it were the only node.`),
    el("div", { class: "next" }, el("b", {}, "What to do next"), el("ol", {}, ...nextSteps(data, slow, suspects).map((s) => el("li", {}, s)))));
  byId("outliers").append(el("div", { id: "outliers-list" }));
}

// ---- the group

function groupText(g) {
  return `Group ${g.index + 1}: ${plural(g.names.length, "node")}, ${g.cpu || "unknown CPU"}, ${plural(g.cores, "core")}`;
}

function memoryText(g) {
  const [low, high] = g.memory.map(bytesText);
  return low === high ? low : `${low} to ${high}`;
}

function drawGroup(report) {
  const { data, group, view } = report;
  renew(byId("group-form"), choice("Shown", data.groups.map((g) => [String(g.index), groupText(g)]), String(group.index), (value) => {
    Object.assign(view, firstView(), { group: Number(value), theme: view.theme, unit: view.unit, suspects: view.suspects, sort: view.sort });
    report.changed();
  }));
  const n = group.names.length;
  const few = n < 3 ? "With fewer than three nodes, carm cannot tell which one differs: carm compare compares two of them."
    : n < data.counts.few ? `Fewer than ${data.counts.few} nodes do not show their spread: the usual variation from run to run on such machines is used instead.` : "";
  const count = (v) => [...group.verdict].filter((x) => x === v).length;
  byId("group-facts").replaceChildren(facts([
    ["CPU", group.cpu], ["Nodes", `${n}: ${count("s")} slow, ${count("f")} fast, ${plural(count("u"), "suspect")}`],
    ["Cores, threads", `${group.cores}, ${group.threads}`], ["Memory", memoryText(group)],
    ["Caches", group.caches], ["Pages", bytesText(group.page_bytes)],
    ["Measured", group.isas + (group.quick ? "; carm build --quick" : "")], ["Hypervisor", group.hypervisor || "none seen"],
  ]), few ? el("ul", { class: "warnings" }, el("li", {}, few)) : "");
}
