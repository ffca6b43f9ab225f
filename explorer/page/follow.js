// Panes follow a new pin to its kernel, and another program.

import { paneOfLevel } from "whence/picker";
import { callOf, lineOf } from "whence/navigate";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Mark} Mark */

/** @param {App} app */
export function followPins(app) {
  const { state } = app;
  let [a, b] = state.get("pins");
  state.on("pins", () => {
    const [newA, newB] = state.get("pins");
    const [oldA, oldB] = [a, b];
    [a, b] = [newA, newB];
    if (state.restoring) return;
    if (newA && newA !== oldA) follow(app, newA, null);
    // What shows A goes on showing it.
    else if (newB && newB !== oldB) follow(app, newB, newA);
  });
}

/** @param {App} app */
export function followProgram(app) {
  const { model, state } = app;
  state.on("program", () => {
    if (state.restoring) return;
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
 * Have panes of kernels show the call that a pin leads to, and those of another program without its layers that call's.
 * @param {App} app
 * @param {Mark} pin
 * @param {Mark | null} other whose panes stay
 */
function follow({ model, state }, pin, other) {
  const call = callOf(model, pin, state.get("program"));
  const kernel = model.document.calls[call]?.kernel ?? -1;
  if (kernel < 0) return;
  const panes = state.get("panes").map((pane) => {
    if (pane.stage < 0 || (other && model.valuesMeeting(pane.stage, other.rows, pane.call).length > 0)) return pane;
    const { level, name, program, kernel: shown } = model.stageRow(pane.stage);
    if (shown < 0) {
      const own = model.document.calls[call]?.program ?? program;
      if (program < 0 || program === own || lineOf(model, pin, pane.stage, -1) >= 0) return pane;
      const stages = model.stagesOf(level, -1, own);
      const stage = stages.find((number) => model.stageRow(number).name === name) ?? stages.at(-1) ?? -1;
      return stage < 0 ? pane : { ...pane, stage, top: 0 };
    }
    const only = model.callsOf(kernel).length > 1 ? call : -1;
    if (shown === kernel) return pane.call === only || pane.stage === pin.at?.stage ? pane : { ...pane, call: only };
    const stage = model.lastStage(pane.level, kernel);
    return stage < 0 ? pane : { ...pane, stage, call: only, top: 0 };
  });
  state.set({ panes });
}
