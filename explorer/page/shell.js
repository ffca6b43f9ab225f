// Actions of the page as a whole.

import { showAbout } from "whence/about";
import { askAbout } from "whence/dock/events";
import { showHelp } from "whence/help";
import { paneKinds } from "whence/kinds";
import { neighbour, paneOfLevel } from "whence/picker";
import { toggleTheme } from "whence/theme";

/** @typedef {import("whence/types").Action} Action */
/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Heat} Heat */

/** @type {Heat[]} */
const HEATS = ["off", "time", "flops", "bytes", "change"];

/** @param {App} app */
export function shellActions(app) {
  for (const [group, actions] of [
    ["Pins", pins(app)],
    ["Panes", panes(app)],
    ["Page", page(app)],
  ]) {
    for (const action of /** @type {Action[]} */ (actions)) app.actions.add({ ...action, group: String(group) });
  }
}

/** @param {App} app @returns {Action[]} */
function pins(app) {
  const { state } = app;
  const pinned = () => state.get("pins").some(Boolean);
  return [
    { id: "why", title: "Why is this here?", key: "w", run: () => askAbout(app, "why") },
    { id: "where", title: "Where did it go?", key: "g", run: () => askAbout(app, "where") },
    {
      id: "filter",
      title: "Show pinned lines only, or all again",
      key: "f",
      enabled: () => pinned() || state.get("filter"),
      run: () => state.set({ filter: !state.get("filter") }),
    },
    { id: "unpin", title: "Remove the pins", key: "Escape", enabled: pinned, run: () => app.unpin() },
  ];
}

/** @param {App} app @returns {Action[]} */
function panes(app) {
  const { state } = app;
  /** @param {0 | 1 | -1} step */
  const search = (step) => app.view(app.pane().id)?.search?.(step);
  /** @param {1 | -1} step */
  const focus = (step) => {
    const all = state.get("panes");
    const at = all.findIndex((pane) => pane.id === app.pane().id);
    const next = all[(at + step + all.length) % all.length];
    if (!next) return;
    state.set({ focus: next.id });
    app.view(next.id)?.focus();
  };
  /** @param {1 | -1} direction */
  const turn = (direction) => {
    const stage = neighbour(app, app.pane(), direction);
    if (stage >= 0) app.setPane(app.pane().id, { stage });
  };
  return [
    { id: "search", title: "Search in the pane", key: "/", run: () => search(0) },
    { id: "search-next", title: "Next hit", key: "n", run: () => search(1) },
    { id: "search-previous", title: "Previous hit", key: "N", run: () => search(-1) },
    { id: "pane-left", title: "To the pane on the left", key: "[", run: () => focus(-1) },
    { id: "pane-right", title: "To the pane on the right", key: "]", run: () => focus(1) },
    { id: "stage-previous", title: "Previous stage of the pane", key: ",", run: () => turn(-1) },
    { id: "stage-next", title: "Next stage of the pane", key: ".", run: () => turn(1) },
    { id: "pane-split", title: "Split: another pane beside", key: "s", run: () => app.addPane({ ...app.pane() }) },
    {
      id: "pane-close",
      title: "Close the pane",
      key: "x",
      enabled: () => state.get("panes").length > 1,
      run: () => app.removePane(app.pane().id),
    },
    {
      id: "pane-wrap",
      title: "Wrap long lines of the pane, or not",
      key: "z",
      run: () => app.setPane(app.pane().id, { wrap: !app.pane().wrap }),
    },
    {
      id: "graph-sideways",
      title: "Graph from left to right, or from top to bottom",
      key: "h",
      enabled: () => ["graph", "calls"].includes(app.pane().level),
      run: () => app.setPane(app.pane().id, { sideways: !app.pane().sideways }),
    },
    ...paneKinds().map(([level, kind], number) => ({
      id: `level-${level}`,
      title: `Show ${kind.title} in the pane`,
      key: number < 9 ? String(number + 1) : "",
      enabled: kind.enabled,
      run: () => app.setPane(app.pane().id, paneOfLevel(app, level, app.pane())),
    })),
  ];
}

/** @param {App} app @returns {Action[]} */
function page(app) {
  const { state } = app;
  return [
    {
      id: "heat",
      title: "Other heat: time, FLOPs, bytes, change or none",
      key: "t",
      run: () => {
        const { times, comparison } = app.model.document;
        const heats = HEATS.filter((heat) => (heat !== "time" || times.length > 0) && (heat !== "change" || comparison !== null));
        const heat = heats[(heats.indexOf(state.get("heat")) + 1) % heats.length] ?? "off";
        state.set({ heat });
        app.announce(`Heat: ${heat}`);
      },
    },
    { id: "theme", title: "Light or dark theme", key: "T", run: () => toggleTheme(app) },
    { id: "help", title: "Help: keys and actions", key: "?", run: () => showHelp(app) },
    { id: "about", title: "About this session", key: "i", run: () => showAbout(app) },
    {
      id: "dock-close",
      title: "Close the dock",
      key: "q",
      enabled: () => state.get("dock") !== "",
      run: () => app.openDock(""),
    },
  ];
}
