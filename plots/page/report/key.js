// SPDX-License-Identifier: GPL-3.0-or-later
// The key below the boxes: the signs in the present plots.

// Entries for sets; sets beyond the third look alike.
function setEntries(report) {
  const sets = report.shownSets;
  const text = (s, i) => (i < 3 ? setText(s) : sets.slice(3).map(setText).join("; "));
  return sets.length < 2 ? [] : sets.slice(0, 4).map((s, i) => ({ text: text(s, i), group: `set${i}` }));
}

function ceilingEntries(report) {
  const sets = isOn(report.view, "layer:ceilings") ? report.data.ceilings : [];
  const shown = report.plots.flatMap((plot) => plot.ceilings).filter((c) => sets.length && setIsOn(report.view, c.set));
  return [
    sets.length && !shown.length && { text: `ceilings were measured for ${sets.map(setText).join("; ")}` },
    shown.some((c) => !c.aside) && { text: "ceiling: one optimisation is missing", group: "ceiling" },
    shown.some((c) => c.aside) && { text: "ceiling for kernels of that trait", group: "ceiling aside" },
  ];
}

function pointEntries(report) {
  const points = isOn(report.view, "layer:points") ? report.plots.flatMap((plot) => plot.points) : [];
  const pale = (p) => !setIsOn(report.view, p.place.roofs);
  return [
    points.some((p) => !p.over) && { text: "point", dot: "dot" },
    points.some((p) => p.over) && { text: "above its roof", dot: "dot over" },
    points.some((p) => p.place.part) && { text: "its area: share of the program's time", dot: "dot" },
    arrowsOf(points).length > 0 && { text: "arrow: from one file of points to the next" },
    points.some(pale) && { text: "pale: of roofs that are not shown", dot: "dot pale" },
  ];
}

function drawKey(report) {
  const entries = [...setEntries(report), ...ceilingEntries(report), ...pointEntries(report)].filter(Boolean);
  byId("plot-key").replaceChildren(...entries.map((entry) => {
    const item = el("li", { class: "name" });
    if (!entry.dot && !entry.group) {
      item.append(entry.text);
      return item;
    }
    const svg = d3.select(item).append("svg").attr({ viewBox: "0 0 26 12", "aria-hidden": "true" });
    if (entry.dot) {
      svg.append("circle").attr({ class: entry.dot, cx: 13, cy: 6, r: 4.5 });
    } else {
      svg.append("g").attr("class", entry.group).append("path").attr({ class: "line", d: "M0,6L26,6" });
    }
    item.append(entry.text);
    return item;
  }));
}
