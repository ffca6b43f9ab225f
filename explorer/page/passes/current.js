// The pass that one stands at: what keys step from, and what a stage of a pane came of.

import { openDifference } from "whence/diff/open";
import { runsOf, stepped } from "whence/passes/runs";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Pane} Pane */

/** @type {WeakMap<App, number>} */
const current = new WeakMap();

/** The pane whose stage passes change: that of the keys, else the first that shows one. @param {App} app @returns {Pane | undefined} */
export function paneOfPasses(app) {
  const { stages, passes } = app.model.document;
  const fits = (/** @type {Pane} */ pane) => {
    const stage = stages[pane.stage];
    return stage !== undefined && passes.some((run) => run.program === stage.program && run.kernel === stage.kernel && stages[run.stage].level === stage.level);
  };
  return [app.pane(), ...app.state.get("panes")].find(fits);
}

/** The program or kernel whose passes are shown. @param {App} app */
export function unitOf(app) {
  const stage = app.model.document.stages[paneOfPasses(app)?.stage ?? -1];
  return { program: stage?.program ?? app.state.get("program"), kernel: stage?.kernel ?? -1 };
}

/** The run that one stands at; -1 for none. @param {App} app */
export function currentRun(app) {
  const { passes } = app.model.document;
  const stage = paneOfPasses(app)?.stage ?? -1;
  const run = current.get(app) ?? -1;
  if (run >= 0 && passes[run].stage === stage) return run;
  return passes.findIndex((candidate) => candidate.changed && candidate.stage === stage);
}

/** Show the stage after a run. @param {App} app @param {number} run */
export function goToRun(app, run) {
  const { name, stage, changed } = app.model.document.passes[run];
  current.set(app, run);
  const pane = paneOfPasses(app);
  if (pane?.level === "diff") openDifference(app, app.model.stageRow(stage).before, stage);
  else goToStage(app, stage);
  app.announce(changed ? name : `${name}: changed nothing`);
}

/** @param {App} app @param {number} stage */
function goToStage(app, stage) {
  const pane = paneOfPasses(app);
  if (pane && pane.level === app.model.stageRow(stage).level) app.setPane(pane.id, { stage });
  else app.open(stage);
}

/** Go to the next run. @param {App} app @param {1 | -1} way @param {boolean} all */
function step(app, way, all) {
  const { document: session } = app.model;
  const stage = paneOfPasses(app)?.stage ?? -1;
  const run = stepped(session, runsOf(session, unitOf(app)), current.get(app) ?? -1, stage, way, all);
  const before = session.stages[stage]?.before ?? -1;
  if (run >= 0) goToRun(app, run);
  else if (way < 0 && before >= 0 && paneOfPasses(app)?.level !== "diff") {
    goToStage(app, before);
    app.announce(`${session.stages[before].name}, before all passes`);
  } else app.announce(way > 0 ? "This is the last pass." : "This is the first pass.");
}

/** Show what the run before the shown stage changed. @param {App} app */
function differ(app) {
  const { document: session } = app.model;
  const stage = app.pane().stage >= 0 ? app.pane().stage : (paneOfPasses(app)?.stage ?? -1);
  const before = session.stages[stage]?.before ?? -1;
  const next = session.stages.findIndex((row) => row.before === stage);
  if (before >= 0) openDifference(app, before, stage);
  else if (next >= 0) openDifference(app, stage, next);
  else app.announce("There is no other stage of this text.");
}

/** @param {App} app */
export function passActions(app) {
  const group = "Passes";
  const add = (/** @type {string} */ id, /** @type {string} */ title, /** @type {string} */ key, /** @type {() => void} */ run) =>
    app.actions.add({ id, title, key, group, run });
  add("next-pass", "Next pass that changed something", "j", () => step(app, 1, false));
  add("previous-pass", "Previous pass that changed something", "k", () => step(app, -1, false));
  add("any-next-pass", "Next pass", "J", () => step(app, 1, true));
  add("any-previous-pass", "Previous pass", "K", () => step(app, -1, true));
  add("difference", "Compare with the stage before", "d", () => differ(app));
  add("passes", "Passes", "", () => app.openDock("passes"));
}
