// All views of the page: levels that panes show, and tabs of the dock.

import { registerDock } from "whence/dock";
import { where } from "whence/dock/where";
import { why } from "whence/dock/why";
import { registerPane } from "whence/panes";
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

registerDock(why);
registerDock(where);
