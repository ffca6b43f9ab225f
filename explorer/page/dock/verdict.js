// The verdict on the pinned layers, or on the run.

import { layerButtons, stageButton } from "whence/dock/events";
import { fill, h } from "whence/dom";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/document").Verdict} Verdict */

const MOST = 4;

/** @type {import("whence/types").Dock} */
export const verdict = {
  id: "verdict",
  title: "Verdict",
  create(app, element) {
    const update = () => {
      const parts = verdictsOfPins(app).slice(0, MOST).map((each) => article(app, each));
      fill(element, h("div", { class: "answers", "data-test": "verdict" }, ...parts));
    };
    const off = app.state.on(["pins", "program"], update);
    update();
    return { update, destroy: off };
  },
};

/**
 * The verdicts on the pins, in the page's program if they can; without pins that on its run.
 * @param {App} app
 */
function verdictsOfPins({ api, model, state }) {
  const { owner } = model.document.layers;
  const layers = new Set(state.get("pins").flatMap((pin) => pin?.rows.map((row) => owner[row] ?? row) ?? []));
  const program = state.get("program");
  return [...(layers.size > 0 ? layers : [-1])].flatMap((layer) => {
    const of = api.head.verdicts.filter((each) => each.layer === layer);
    const served = of.filter((each) => each.answers.length > 1);
    return served.find((each) => each.program === program) ?? served[0] ?? of[0] ?? [];
  });
}

/**
 * Open the verdict with a pin, unless a tab was opened
 * @param {App} app
 */
export function openWithPins(app) {
  const { state } = app;
  let wanted = state.get("dock") === "";
  state.on("dock", () => (wanted = false));
  state.on("pins", () => {
    if (wanted && !state.restoring && state.get("pins").some(Boolean)) app.openDock(verdict.id);
  });
}

/** @param {App} app @param {Verdict} each */
function article(app, each) {
  const { programs } = app.model.document;
  const where = programs.length > 1 ? ` in ${programs[each.program]?.name ?? ""}` : "";
  const title = each.layer < 0 ? ["The run"] : layerButtons(app, [each.layer]);
  const facts = each.answers.flatMap(({ about, phrases }) => {
    const parts = phrases.map(([text, layer, stage, line, call]) => {
      if (stage >= 0) return stageButton(app, stage, text, line - 1, call);
      return layer < 0 ? text : h("button", { type: "button", class: "link", onclick: () => app.pin([layer]) }, text);
    });
    return [h("dt", {}, about), h("dd", { "data-about": about }, ...parts)];
  });
  return h("article", {}, h("h3", {}, ...title, where), h("dl", {}, ...facts));
}
