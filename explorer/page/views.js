// All views of the page: levels that panes show, and tabs of the dock.

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

for (const [level, title] of TEXTS) {
  registerPane(level, (app, element, pane) => new TextPane(app, element, pane), { title, stages: true });
}
