// All views of the page: levels that panes show, and tabs of the dock.

import { copyActions } from "whence/copying/actions";
import { compareDock } from "whence/data/compare";
import { memoryDock } from "whence/data/memory";
import { tensorsDock } from "whence/data/tensors";
import { timeDock } from "whence/data/time";
import { timelineDock } from "whence/data/timeline";
import { DiffPane } from "whence/diff/pane";
import { registerDock } from "whence/dock";
import { verdict } from "whence/dock/verdict";
import { where } from "whence/dock/where";
import { why } from "whence/dock/why";
import { schedule } from "whence/film/dock";
import { graphPane } from "whence/graph/pane";
import { registerPane } from "whence/kinds";
import { paletteActions } from "whence/palette/view";
import { passActions } from "whence/passes/current";
import { passesDock } from "whence/passes/dock";
import { answerDock } from "whence/query/dock";
import { runActions } from "whence/run/actions";
import { run } from "whence/run/dock";
import { TextPane } from "whence/text/pane";

/** @typedef {import("whence/types").App} App */

/** @type {[string, string][]} */
const TEXTS = [
  ["python", "Python"],
  ["model", "model"],
  ["relay", "relay"],
  ["te", "te"],
  ["schedule", "schedule"],
  ["tir", "tir"],
  ["llvm", "llvm"],
  ["asm", "assembly"],
];

/** @type {[string, "model" | "calls", string][]} */
const GRAPHS = [
  ["graph", "model", "graph of layers"],
  ["calls", "calls", "graph of calls"],
];

/** @type {import("whence/kinds").Create} */
const text = (app, element, pane) => new TextPane(app, element, pane);
for (const [level, title] of TEXTS) {
  /** @param {App} app */
  const enabled = ({ model }) => model.document.stages.some((stage) => stage.level === level);
  registerPane(level, text, { title, stages: true, enabled });
}
for (const [level, graph, title] of GRAPHS) {
  /** @param {App} app */
  const enabled = ({ model }) => model.document.graphs.some((candidate) => candidate.level === graph);
  registerPane(level, (app, element, pane) => graphPane(app, element, pane, graph), { title, enabled });
}
registerPane("diff", (app, element, pane) => new DiffPane(app, element, pane), { title: "difference" });

registerDock(verdict);
registerDock({ id: "passes", title: "Passes", create: passesDock });
registerDock(why);
registerDock(where);
registerDock(run);
registerDock(schedule);
for (const dock of [timeDock, timelineDock, memoryDock, tensorsDock, compareDock, answerDock]) registerDock(dock);

/**
 * Add the actions of views.
 * @param {App} app
 */
export function viewActions(app) {
  for (const add of [passActions, paletteActions, copyActions, runActions]) add(app);
}
