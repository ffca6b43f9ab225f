// Copying what is shown as a command: `c` takes the most fitting, `C` offers all.

import { commandsOf, fileCheck, stageBefore } from "whence/copying/commands";
import { openPalette } from "whence/palette/view";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/copying/commands").Subject} Subject */

const TITLES = {
  opt: "Copy as whence-opt command: the passes up to this stage",
  why: "Copy as whence why command: this line",
  where: "Copy as whence where command: the layer, or all",
  show: "Copy as whence tir command: the code of this kernel",
  python: "Copy as Python: this text",
};

/** What the pane of the keys shows, and what is chosen in it. @param {App} app @returns {Subject} */
export function subjectOf(app) {
  const { model, state } = app;
  const pane = app.pane();
  const cursor = app.view(pane.id)?.cursor?.() ?? null;
  const { layers } = model.document;
  const rows = [cursor, ...state.get("pins")].flatMap((mark) => mark?.rows ?? []);
  const row = rows.find((candidate) => layers.kind[candidate] === "layer") ?? rows.find((candidate) => layers.kind[candidate] === "tensor");
  return { stage: pane.stage, line: cursor?.at?.stage === pane.stage ? cursor.at.tir : 0, layer: row === undefined ? "" : layers.name[row] };
}

/** Copy the test of the pass that made the stage. @param {App} app @param {number} stage */
async function copyTest(app, stage) {
  const { model } = app;
  const { document: session } = model;
  const [before, after] = await Promise.all([model.stage(stageBefore(session, stage)), model.stage(stage)]);
  const added = new Set(session.stages[stage].diff?.new);
  await app.copy(fileCheck(session, stage, before.lines, after.lines.filter((_, line) => added.has(after.op[line]))));
}

/** @param {App} app */
export function copyActions(app) {
  const { actions, model } = app;
  const group = "Copy";
  const commands = () => commandsOf(model.document, subjectOf(app));
  for (const [id, title] of Object.entries(TITLES)) {
    const command = () => commands().find((candidate) => candidate.id === id);
    actions.add({ id: `copy-${id}`, title, group, enabled: () => command() !== undefined, run: () => void app.copy(command()?.text ?? "") });
  }
  actions.add({
    id: "copy-test",
    title: "Copy as FileCheck test: the pass that made this stage",
    group,
    enabled: () => app.pane().stage >= 0 && Boolean(model.stageRow(app.pane().stage).diff),
    run: () => void copyTest(app, app.pane().stage),
  });
  actions.add({ id: "copy", title: "Copy as command", key: "c", group, enabled: () => commands().length > 0, run: () => void app.copy(commands()[0].text) });
  actions.add({ id: "copy-menu", title: "Choose what to copy", key: "C", group, run: () => openPalette(app, "> copy as ") });
}
