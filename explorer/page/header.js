// The header: which model this is, the search box, heat, theme and help.

import { fill, h } from "whence/dom";
import { count, duration } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Heat} Heat */

/** @type {[Heat, string][]} */
const HEATS = [
  ["off", "no heat"],
  ["time", "heat: time"],
  ["flops", "heat: FLOPs"],
  ["bytes", "heat: bytes"],
  ["change", "heat: change"],
];

/** The most letters that a program's sizes may have in its label. */
const LABEL = 48;

/** @param {App} app @param {HTMLElement} element */
export function showHeader(app, element) {
  const { model, state } = app;
  const { made_by: made, programs, times, comparison } = model.document;
  /** @param {Heat} value */
  const unknown = (value) => (value === "time" && times.length === 0) || (value === "change" && comparison === null);
  const programList = h(
    "select",
    {
      "aria-label": "Program",
      "data-test": "program",
      hidden: programs.length < 2,
      onchange: () => state.set({ program: Number(programList.value) }),
    },
    ...programs.map((program, number) => h("option", { value: number, title: program.about }, labelOf(program))),
  );
  const heat = h(
    "select",
    {
      "aria-label": "Heat",
      "data-test": "heat",
      onchange: () => state.set({ heat: /** @type {Heat} */ (heat.value) }),
    },
    ...HEATS.map(([value, title]) => h("option", { value, disabled: unknown(value) }, title)),
  );
  const legend = h("span", { class: "legend", "data-test": "heat-legend" }, h("i", { class: "slower" }), "slower ", h("i", { class: "faster" }), "faster than the other session");
  const facts = h("button", {
    type: "button",
    class: "facts",
    "data-test": "facts",
    onclick: () => app.actions.run("about", app),
  });
  const theme = actionButton(app, "theme", "◐");
  const help = actionButton(app, "help", "?");
  const search = h(
    "button",
    { type: "button", class: "command", "data-test": "command", onclick: () => app.actions.run("palette", app) },
    "Search or command ",
    h("kbd", {}, "Ctrl+K"),
  );
  search.hidden = !app.actions.list().some(({ id }) => id === "palette");
  fill(
    element,
    h("h1", {}, "whence ", h("span", { class: "model" }, made.model)),
    facts,
    programList,
    h("span", { class: "space" }),
    search,
    heat,
    legend,
    theme,
    help,
    comparison && h("button", { type: "button", class: "headline", "data-test": "headline", title: "compare", onclick: () => app.openDock("compare") }, comparison.headline),
  );

  function update() {
    const program = state.get("program");
    const run = times.find((candidate) => candidate.program === program);
    const total = run ? run.calls.reduce((sum, seconds) => sum + seconds, 0) : -1;
    const parts = [
      made.target,
      `O${made.opt_level}`,
      made.threads > 0 ? `${made.threads} T` : "",
      total >= 0 ? `${duration(total)} CPU` : "",
    ];
    facts.textContent = parts.filter(Boolean).join(" · ");
    facts.title = `${app.actions.get("about").title} (${app.actions.get("about").key})`;
    if (made.notes.length > 0) facts.append(" · ", count(made.notes.length, "note"));
    programList.value = String(program);
    programList.title = programs[program]?.about ?? "";
    heat.value = state.get("heat");
    legend.hidden = heat.value !== "change";
  }
  state.on(["program", "heat"], update);
  update();
}

/** Return the name of a program with its sizes, or where a sentence says more, with its kind. @param {import("whence/document").Program} program */
export function labelOf({ name, kind, about }) {
  return about ? `${name}: ${about.length > LABEL ? kind : about}` : name;
}

/**
 * Return a button that runs an action, whose title it has.
 * @param {App} app
 * @param {string} id
 * @param {string} sign
 */
export function actionButton(app, id, sign) {
  const { title, key } = app.actions.get(id);
  return h(
    "button",
    {
      type: "button",
      title: key ? `${title} (${key})` : title,
      "aria-label": title,
      "data-test": `action-${id}`,
      onclick: () => app.actions.run(id, app),
    },
    sign,
  );
}
