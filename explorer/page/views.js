// All views of the page: levels that panes show, and tabs of the dock.

import { registerDock } from "whence/dock";
import { where } from "whence/dock/where";
import { why } from "whence/dock/why";
import { graphPane } from "whence/graph/pane";
import { registerPane } from "whence/kinds";
import { run } from "whence/run/dock";
import { TextPane } from "whence/text/pane";

/** @type {[string, string][]} */
const TEXTS = [
  ["model", "model"],
  ["relay", "relay"],
  ["te", "te"],
  ["schedule", "schedule"],
  ["tir", "tir"],
  ["llvm", "llvm"],
  ["asm", "assembly"],
];

/** @type {import("whence/kinds").Create} */
const text = (app, element, pane) => new TextPane(app, element, pane);
for (const [level, title] of TEXTS) {
  registerPane(level, text, { title, stages: true });
}
registerPane("graph", (app, element, pane) => graphPane(app, element, pane, "model"), { title: "graph of layers" });
registerPane("calls", (app, element, pane) => graphPane(app, element, pane, "calls"), { title: "graph of calls" });

registerDock(why);
registerDock(where);
registerDock(run);
