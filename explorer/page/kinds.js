// What panes can show: a kind of view for each level.

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/types").PaneView} PaneView */
/** @typedef {(app: App, element: HTMLElement, pane: Pane) => PaneView} Create */
/** @typedef {{create: Create, title: string, stages: boolean, enabled: (app: App) => boolean}} Kind */

export const MOST_PANES = 6;

/** @type {Map<string, Kind>} */
const kinds = new Map();

/**
 * Say what shows panes of a level: one of the document's, whose panes show a stage, or a level of a name of its own.
 * @param {string} level
 * @param {Create} create
 * @param {Partial<Omit<Kind, "create">>} [about] `title`: in the picker; `stages`: whether it shows a stage; `enabled`:
 *   whether a session has something of it
 */
export function registerPane(level, create, about = {}) {
  kinds.set(level, { create, title: level, stages: false, enabled: () => true, ...about });
}

/**
 * @param {string} level
 * @returns {Kind | undefined}
 */
export function kindOf(level) {
  return kinds.get(level);
}

/** @returns {[string, Kind][]} the levels that panes can show */
export function paneKinds() {
  return [...kinds];
}
