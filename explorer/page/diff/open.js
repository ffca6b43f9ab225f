// Opening the pane that compares two stages.

import { BESIDE } from "whence/diff/pane";
import { MOST_PANES } from "whence/kinds";

/** The greatest part of the page that a difference takes so that its texts fit side by side. */
const MOST = 0.7;

/** @typedef {import("whence/types").App} App */

/**
 * Show the difference of two stages in the pane that shows one already, or beside the pane of the keys.
 * @param {App} app @param {number} from @param {number} stage
 */
export function openDifference(app, from, stage) {
  const panes = app.state.get("panes");
  const shown = panes.find((pane) => pane.level === "diff") ?? (panes.length >= MOST_PANES ? app.pane() : null);
  const changes = { level: "diff", stage, from, call: -1, top: 0 };
  if (!shown) app.addPane({ ...changes, grow: grown(panes, innerWidth) });
  else {
    app.setPane(shown.id, changes);
    app.state.set({ focus: shown.id });
  }
}

/**
 * Return the share of a pane beside others: enough for two texts side by side where the page is wide enough.
 * @param {readonly import("whence/types").Pane[]} panes @param {number} width of the page in pixels
 */
export function grown(panes, width) {
  const others = panes.reduce((sum, { grow }) => sum + grow, 0);
  // A little more than that: there are bars between panes.
  const part = Math.max(2 / (2 + panes.length), (BESIDE + 10 * panes.length) / width);
  return part <= MOST ? (others * part) / (1 - part) : 2;
}
