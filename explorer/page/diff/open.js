// Opening the pane that compares two stages.

import { MOST_PANES } from "whence/kinds";

/** @typedef {import("whence/types").App} App */

/**
 * Show the difference of two stages in the pane that shows one already, or beside the pane of the keys.
 * @param {App} app @param {number} from @param {number} stage
 */
export function openDifference(app, from, stage) {
  const panes = app.state.get("panes");
  const shown = panes.find((pane) => pane.level === "diff") ?? (panes.length >= MOST_PANES ? app.pane() : null);
  const changes = { level: "diff", stage, from, call: -1, top: 0 };
  if (!shown) app.addPane({ ...changes, grow: 2 });
  else {
    app.setPane(shown.id, changes);
    app.state.set({ focus: shown.id });
  }
}
