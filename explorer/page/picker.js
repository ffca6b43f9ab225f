// The head of a pane: which level, kernel, call and stage it shows, and its buttons.

import { fill, h } from "whence/dom";
import { MOST_PANES, kindOf, paneKinds } from "whence/kinds";
import { shortSymbol } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Pane} Pane */

/**
 * Return the head of a pane, and what shows another state of the pane in it.
 * @param {App} app
 * @param {number} id
 */
export function picker(app, id) {
  const { model } = app;
  const level = choice("Level", "level", (value) => app.setPane(id, paneOfLevel(app, value, current())));
  const kernel = choice("Kernel", "kernel", (value) => {
    const pane = current();
    const wanted = Number(value);
    app.setPane(id, { stage: model.lastStage(pane.level, wanted, app.state.get("program")), call: -1, top: 0 });
  });
  const call = choice("Call", "call", (value) => app.setPane(id, { call: Number(value) }));
  const stage = choice("Stage", "stage", (value) => app.setPane(id, { stage: Number(value) }));
  const older = button("previous stage", "‹", "previous", () => step(-1));
  const newer = button("next stage", "›", "next", () => step(1));
  const wrap = button("wrap long lines", "↩", "wrap", () => app.setPane(id, { wrap: !current().wrap }));
  const split = button("split: another pane beside", "+", "split", () => app.addPane({ ...current(), id: 0 }));
  const close = button("close this pane", "×", "close", () => app.removePane(id));
  const element = h(
    "header",
    { class: "picker" },
    h("div", { class: "choices" }, level, kernel, call, stage, older, newer),
    h("div", { class: "tools" }, wrap, split, close),
  );

  function current() {
    return app.state.get("panes").find((pane) => pane.id === id) ?? app.pane();
  }

  /** @param {1 | -1} direction */
  function step(direction) {
    const next = neighbour(app, current(), direction);
    if (next >= 0) app.setPane(id, { stage: next });
  }

  /** @param {Pane} pane */
  function update(pane) {
    const { document: session } = model;
    const row = session.stages[pane.stage];
    choose(
      level,
      levels(app).map(([name, title]) => [name, title]),
      pane.level,
    );
    const kernels = row && row.kernel >= 0 ? kernelsOf(app, pane.level) : [];
    choose(
      kernel,
      kernels.map((number) => [String(number), shortSymbol(session.kernels[number]?.symbol ?? "")]),
      String(row?.kernel ?? -1),
    );
    const calls = row && row.kernel >= 0 ? model.callsOf(row.kernel) : [];
    const names = /** @type {[string, string][]} */ (
      calls.map((number) => [String(number), session.calls[number]?.name ?? ""])
    );
    choose(call, calls.length > 1 ? [["-1", `all ${calls.length} calls`], ...names] : [], String(pane.call));
    const stages = stagesOf(app, pane);
    choose(
      stage,
      stages.map((number) => [String(number), model.stageRow(number).name]),
      String(pane.stage),
    );
    const at = stages.indexOf(pane.stage);
    older.hidden = newer.hidden = stages.length < 2;
    older.disabled = at <= 0;
    newer.disabled = at < 0 || at >= stages.length - 1;
    wrap.hidden = pane.stage < 0 || !kindOf(pane.level)?.stages;
    wrap.setAttribute("aria-pressed", String(pane.wrap));
    const panes = app.state.get("panes");
    split.disabled = panes.length >= MOST_PANES;
    close.disabled = panes.length < 2;
  }
  return { element, update };
}

/**
 * Return what makes a pane one of a level, near what it shows now.
 * @param {App} app
 * @param {string} level
 * @param {Pane} pane
 * @returns {Partial<Pane>}
 */
export function paneOfLevel(app, level, pane) {
  const { model } = app;
  if (!kindOf(level)?.stages) return { level, stage: -1, call: -1, top: 0 };
  const program = app.state.get("program");
  const kernel = model.document.stages[pane.stage]?.kernel ?? -1;
  const candidates = kernel >= 0 ? [kernel] : [];
  for (const candidate of [-1, ...candidates, ...kernelsOf(app, level)]) {
    const stage = model.lastStage(level, candidate, program);
    if (stage >= 0) return { level, stage, call: candidate === kernel ? pane.call : -1, top: 0 };
  }
  return { level, stage: -1, call: -1, top: 0 };
}

/**
 * The stage before or after that of a pane; -1 for none.
 * @param {App} app
 * @param {Pane} pane
 * @param {1 | -1} direction
 */
export function neighbour(app, pane, direction) {
  const stages = stagesOf(app, pane);
  const at = stages.indexOf(pane.stage);
  return at < 0 ? -1 : (stages[at + direction] ?? -1);
}

/** @param {App} app @param {Pane} pane */
function stagesOf({ model, state }, { stage, level }) {
  return stage < 0 ? [] : model.stagesOf(level, model.stageRow(stage).kernel, state.get("program"));
}

/**
 * The kernels of the program that have stages of a level.
 * @param {App} app
 * @param {string} level
 */
function kernelsOf({ model, state }, level) {
  const { kernels, stages } = model.document;
  const program = state.get("program");
  return kernels.flatMap((kernel, number) =>
    kernel.program === program && kernel.stages.some((stage) => stages[stage]?.level === level) ? [number] : [],
  );
}

/**
 * The levels that the session has something of, by name and title.
 * @param {App} app
 * @returns {[string, string][]}
 */
function levels(app) {
  return paneKinds().flatMap(([level, kind]) => (kind.enabled(app) ? [[level, kind.title]] : []));
}

/** @param {string} label @param {string} test @param {(value: string) => void} pick */
function choice(label, test, pick) {
  return h("select", {
    "aria-label": label,
    title: label,
    "data-test": test,
    onchange: (/** @type {Event} */ event) => event.target instanceof HTMLSelectElement && pick(event.target.value),
  });
}

/** @param {HTMLSelectElement} element @param {string[][]} options value and text @param {string} value */
function choose(element, options, value) {
  const told = JSON.stringify(options);
  if (element.dataset["told"] !== told) {
    element.dataset["told"] = told;
    fill(element, ...options.map(([name, text]) => h("option", { value: name }, text)));
  }
  element.hidden = options.length === 0;
  element.value = value;
}

/** @param {string} label @param {string} sign @param {string} test @param {() => void} press */
function button(label, sign, test, press) {
  return h("button", { type: "button", title: label, "aria-label": label, "data-test": test, onclick: press }, sign);
}
