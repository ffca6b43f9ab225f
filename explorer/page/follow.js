// Panes follow a new pin, where their kernel has nothing of it, and another program.

import { paneOfLevel } from "whence/picker";
import { callsServing } from "whence/trace";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Mark} Mark */
/** @typedef {import("whence/types").Pane} Pane */

/** @param {App} app */
export function followPins(app) {
  const { state } = app;
  let [a, b] = state.get("pins");
  state.on("pins", () => {
    const [newA, newB] = state.get("pins");
    const [oldA, oldB] = [a, b];
    [a, b] = [newA, newB];
    if (newA && newA !== oldA) follow(app, newA, null);
    // What shows A goes on showing it.
    else if (newB && newB !== oldB) follow(app, newB, newA);
  });
}

/** @param {App} app */
export function followProgram(app) {
  const { model, state } = app;
  state.on("program", () => {
    const program = state.get("program");
    const panes = state.get("panes").map((pane) => {
      const stage = model.document.stages[pane.stage];
      const stays = !stage || stage.program < 0 || stage.program === program;
      return stays ? pane : { ...pane, ...paneOfLevel(app, pane.level, { ...pane, stage: -1 }) };
    });
    state.set({ panes });
  });
}

/**
 * @param {App} app
 * @param {Mark} pin
 * @param {Mark | null} other whose panes stay
 */
function follow({ model, state }, pin, other) {
  const calls = callsServing(model, pin.rows, state.get("program"));
  const at = pin.at?.call ?? -1;
  const target = calls.includes(at) ? at : (calls[0] ?? -1);
  const kernel = model.document.calls[target]?.kernel ?? -1;
  if (kernel < 0) return;
  /** @type {(pane: Pane, mark: Mark) => boolean} */
  const shows = (pane, mark) => model.valuesMeeting(pane.stage, mark.rows, pane.call).length > 0;
  const panes = state.get("panes").map((pane) => {
    if (pane.stage < 0 || model.stageRow(pane.stage).kernel < 0) return pane;
    if (pane.stage === pin.at?.stage || shows(pane, pin) || (other && shows(pane, other))) return pane;
    const stage = model.lastStage(pane.level, kernel);
    if (stage < 0) return pane;
    return { ...pane, stage, call: model.callsOf(kernel).length > 1 ? target : -1, top: 0 };
  });
  state.set({ panes });
}
