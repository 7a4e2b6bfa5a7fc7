// SPDX-License-Identifier: GPL-3.0-or-later
// The boxes above the plots. Each is input[data-toggle="group:value"].

const GROUPS = [
  ["isa", "Instruction set"], ["precision", "Precision"], ["threads", "Threads"], ["level", "Level"],
  ["mix", "Loads to stores"], ["op", "Operation"], ["layer", "Layers"],
];

// group -> values of this model, in its order
function toggleValues(data) {
  const model = data.model;
  const unique = (values) => [...new Set(values)];
  const layers = [...(data.places.length ? ["points"] : []), ...(data.ceilings.length ? ["ceilings"] : [])];
  return {
    isa: unique(model.roofs.map((s) => s.isa)),
    precision: unique(model.roofs.map((s) => s.precision)),
    threads: unique(model.roofs.map((s) => s.threads)).sort((a, b) => a - b),
    level: model.levels.map((l) => l.level),
    mix: unique(model.roofs.flatMap((s) => s.memory.map((m) => m.ldst))),
    op: unique(model.roofs.flatMap((s) => s.compute.map((c) => c.op))),
    layer: layers,
  };
}

// Initially one set and the model's own mix are shown: all lines at once would be unreadable.
function defaultToggles(data, values) {
  const best = bestSet(data.model, data.places);
  const first = { ...(best || {}), mix: data.model.config.ldst };
  const toggles = {};
  for (const [group] of GROUPS) {
    const chosen = ["isa", "precision", "threads", "mix"].includes(group) && values[group].includes(first[group]);
    values[group].forEach((v) => (toggles[`${group}:${v}`] = !chosen || v === first[group]));
  }
  return toggles;
}

function makeToggles(report) {
  const form = byId("toggles");
  const models = byId("models");
  [form, models].forEach((f) => f.addEventListener("submit", (event) => event.preventDefault()));
  for (const shown of SHOWN) {
    const radio = el("input", { type: "radio", name: "model", value: shown });
    radio.addEventListener("change", () => {
      report.view.model = shown;
      report.changed();
    });
    models.append(el("label", {}, radio, ` ${shown === "both" ? "both models" : shown}`));
  }
  for (const [group, title] of GROUPS) {
    if (!report.values[group].length) {
      continue;
    }
    const box = el("fieldset", {}, el("legend", {}, title));
    for (const value of report.values[group]) {
      const name = `${group}:${value}`;
      const input = el("input", { type: "checkbox", "data-toggle": name });
      input.addEventListener("change", () => {
        report.view.toggles[name] = input.checked;
        report.changed();
      });
      box.append(el("label", {}, input, " ", el("span", { class: "name" }, value)));
    }
    form.append(box);
  }
}

// Sets the boxes from the view, and the folded line's text: the drawn sets and mixes.
function showToggles(report) {
  const { view } = report;
  for (const input of document.querySelectorAll("#models input, #toggles input")) {
    input.checked = input.type === "radio" ? input.value === view.model : view.toggles[input.dataset.toggle];
  }
  const sets = report.shownSets.map(setText);
  const mixes = report.values.mix.filter((mix) => isOn(view, `mix:${mix}`));
  const some = (texts) => texts.slice(0, 3).join(", ") + (texts.length > 3 ? ` and ${texts.length - 3} more` : "");
  byId("drawn-now").textContent = sets.length ? `: ${some(sets)}; loads to stores ${some(mixes)}` : ": no roofs";
}
