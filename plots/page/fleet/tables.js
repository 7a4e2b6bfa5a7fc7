// SPDX-License-Identifier: GPL-3.0-or-later
// The tables: outliers of all groups, changes, and rows without a model.

const FLEET_ROWS = 250; // rows at once
const OUTLIERS_FIRST = 25;

const OUTLIER_COLUMNS = [
  { key: "node", title: "node", name: true, value: (o) => o.name },
  { key: "group", title: "group", number: true, value: (o) => o.group.index + 1, text: String },
  { key: "verdict", title: "verdict", value: (o) => o.verdict, text: String },
  { key: "off", title: "off", number: true, value: (o) => o.share, text: (v) => signed(v) },
  { key: "roof", title: "most certain on", value: (o) => o.roof, text: String },
  { key: "sigmas", title: "sigmas", number: true, value: (o) => Math.abs(o.z), text: (v, o) => (o.z < 0 ? "\u2212" : "+") + v.toFixed(1) },
  { key: "q", title: "q", number: true, value: (o) => -o.chance, text: (v, o) => chanceText(o.chance) },
  { key: "more", title: "roofs off", number: true, value: (o) => o.flags, text: String },
  { key: "hint", title: "look at", long: true, value: (o) => o.hint, text: String },
];

function outliersOf(data, suspects) {
  const wanted = suspects ? "sfu" : "sf";
  const all = [];
  for (const group of data.groups) {
    group.names.forEach((name, node) => {
      const worst = group.worst[node];
      if (worst >= 0 && wanted.includes(group.verdict[node])) {
        const at = group.cell(node, worst);
        all.push({
          group, node, name, verdict: VERDICTS[group.verdict[node]], share: group.share[at], z: group.z[at], roof: group.columns[worst].label,
          chance: group.q[at] < 0 ? group.chance[node] : group.q[at], flags: group.flags[node], hint: group.hints[node],
        });
      }
    });
  }
  return all;
}

// Sorts as in the view; by default slow nodes first, the most certain first.
function sortOutliers(list, sort) {
  const column = sort && OUTLIER_COLUMNS.find((c) => c.key === sort[0]);
  const rank = (o) => ["slow", "fast", "suspect"].indexOf(o.verdict);
  const sign = sort && sort[1] ? -1 : 1;
  return list.sort((a, b) => {
    if (!column) {
      return rank(a) - rank(b) || Math.abs(b.z) - Math.abs(a.z);
    }
    const [va, vb] = [column.value(a), column.value(b)];
    return va < vb ? -sign : va > vb ? sign : 0;
  });
}

function nodeButton(report, group, node) {
  const button = el("button", { type: "button", class: "node name" }, group.names[node]);
  button.addEventListener("click", () => {
    report.view.search = "";
    chooseNode(report, node, group.index);
    byId("node").scrollIntoView({ block: "start" });
  });
  return button;
}

function outlierRow(report, o) {
  const row = el("tr", { "data-name": o.name });
  for (const c of OUTLIER_COLUMNS) {
    const v = c.value(o);
    const kind = c.number ? "n" : c.name ? "name" : c.long ? "long" : null;
    const cell = c.name ? nodeButton(report, o.group, o.node) : v === "" || Number.isNaN(v) ? "\u2013" : c.text(v, o);
    row.append(el("td", { class: kind, "data-label": c.title }, cell));
  }
  if (o.group === report.group && o.node === report.node) {
    row.className = "chosen";
  }
  return row;
}

function outlierHeads(report) {
  return OUTLIER_COLUMNS.map((c) => {
    const { sort } = report.view;
    const button = el("button", { type: "button" }, c.title);
    button.addEventListener("click", () => {
      const again = sort && sort[0] === c.key;
      const first = Boolean(c.number);
      report.view.sort = !again ? [c.key, first] : sort[1] === first ? [c.key, !first] : null;
      report.tablesChanged();
      byId("outliers-table").querySelectorAll("th button")[OUTLIER_COLUMNS.indexOf(c)].focus({ preventScroll: true });
    });
    const mine = sort && sort[0] === c.key;
    return el("th", { scope: "col", class: c.number ? "n" : null, "aria-sort": mine ? (sort[1] ? "descending" : "ascending") : "none" }, button);
  });
}

function drawOutliers(report) {
  const { data, view } = report;
  const list = sortOutliers(outliersOf(data, view.suspects), view.sort);
  const host = byId("outliers-list");
  const shown = list.slice(0, report.outliersShown);
  const box = el("input", { type: "checkbox" });
  box.checked = view.suspects;
  box.addEventListener("change", () => {
    view.suspects = box.checked;
    report.tablesChanged();
  });
  const suspects = data.groups.reduce((n, g) => n + [...g.verdict].filter((v) => v === "u").length, 0);
  const more = el("button", { type: "button", class: "more" }, `Show ${Math.min(FLEET_ROWS, list.length - shown.length)} more of ${list.length - shown.length}`);
  more.addEventListener("click", () => {
    report.outliersShown += FLEET_ROWS;
    drawOutliers(report);
  });
  renew(host,
    el("form", { class: "choose" }, el("label", {}, box, ` with suspects (${suspects}: each would be an outlier if it were the only node)`)),
    list.length ? el("div", { class: "scroll" }, el("table", { id: "outliers-table", class: "cards" },
      el("caption", {}, `${plural(list.length, "node")}; a name shows the node below`, el("span", { class: "heads screen" }, ", heads sort")),
      el("thead", {}, el("tr", {}, ...outlierHeads(report))), el("tbody", {}, ...shown.map((o) => outlierRow(report, o)))))
      : el("p", {}, "None: no node differs by more than its own interval and the spread of its group explain."),
    shown.length < list.length ? more : null);
}

// ---- changes over time

function changeRow(group, d) {
  return [
    group.names[d.node], String(group.index + 1), VERDICTS[d.verdict], signed(d.share * 1e-5), d.roof,
    d.z === null ? "\u2013" : (d.z / 100).toFixed(1).replace("-", "\u2212"), chanceText(d.chance),
    plural(group.history.get(d.node).total - 1, "earlier model"),
  ];
}

function makeChanges(report) {
  const { data } = report;
  if (!data.counts.drifting) {
    return;
  }
  const section = byId("changes");
  section.hidden = false;
  section.append(el("p", {}, `${plural(data.counts.drifting, "node")} with earlier models: the newest against their median. ` +
    "A change that a whole group shares is reported for the group, as after a firmware update; a node's own change is what goes beyond it."));
  const shifts = data.groups.flatMap((g) => g.shifts.map((s) => [String(g.index + 1), signed(s.share * 1e-5), s.roof, String(s.n)]));
  if (shifts.length) {
    section.append(plainTable("Groups that changed as a whole", ["group", "change", "roof", "nodes"], shifts, [0, 1, 3]));
  }
  const mine = data.groups.flatMap((g) => g.drift.filter((d) => "sf".includes(d.verdict)).map((d) => ({ g, d })));
  mine.sort((a, b) => Math.abs(b.d.z) - Math.abs(a.d.z));
  if (!mine.length) {
    section.append(el("p", {}, "No node's own change is significant."));
    return;
  }
  const table = plainTable(`${plural(mine.length, "node")} changed beyond the group${mine.length > FLEET_ROWS ? `; the ${FLEET_ROWS} most certain` : ""}`,
    ["node", "group", "now", "change", "roof", "sigmas", "q", "against"], mine.slice(0, FLEET_ROWS).map(({ g, d }) => changeRow(g, d)), [1, 3, 5, 6]);
  table.querySelectorAll("tbody tr").forEach((row, i) => row.firstChild.replaceChildren(nodeButton(report, mine[i].g, mine[i].d.node)));
  section.append(table);
}

// ---- rows without a model

function placeOfRow(r) {
  return r.line ? `${r.file}, line ${r.line}` : r.file;
}

function cutTable(caption, head, rows) {
  const cut = rows.length > FLEET_ROWS ? `; the first ${FLEET_ROWS}: carm fleet show --top 0 lists all` : "";
  return plainTable(`${caption}${cut}`, head, rows.slice(0, FLEET_ROWS), []);
}

function makeFailed(report) {
  const { failed, broken, notes } = report.data;
  const section = byId("failed");
  section.hidden = !failed.length && !broken.length && !notes.length;
  if (failed.length) {
    section.append(cutTable(`Failed: ${plural(failed.length, "row")}`, ["node", "time", "status", "reason", "job", "row"],
      failed.map((r) => [r.host, r.time || "\u2013", r.status, r.reason || "\u2013", r.job || "\u2013", placeOfRow(r)])));
  }
  if (broken.length) {
    section.append(cutTable(`Broken, left out: ${broken.length}`, ["file", "reason"],
      broken.map((r) => [placeOfRow(r), r.reason])));
  }
  if (notes.length) {
    section.append(el("h3", {}, "Notes"), el("ul", {}, ...notes.slice(0, FLEET_ROWS).map((n) => el("li", { class: "name" }, n))));
  }
}
