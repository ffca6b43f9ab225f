// The app: what views call to pin, hover, open and say something.

import { Actions } from "whence/actions";
import { programCalls } from "whence/heat";
import { MOST_PANES, kindOf } from "whence/kinds";
import { destination, heaviestCall, positionOf } from "whence/navigate";
import { paneOfLevel } from "whence/picker";
import { State } from "whence/state";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").At} At */
/** @typedef {import("whence/types").Mark} Mark */
/** @typedef {import("whence/types").Pane} Pane */
/** @typedef {import("whence/types").PaneView} PaneView */

/** The width in pixels from which on a fourth pane can be read. */
const WIDE = 1800;
/** Up to this width a page shows one pane at a time, as panes.css has it. */
const NARROW = 600;
/** Lines above the hottest. */
const ABOVE = 12;

/**
 * @param {import("whence/session").SessionModel} model
 * @param {{announce: (text: string) => void, view: (id: number) => PaneView | undefined}} page
 * @returns {App}
 */
export function createApp(model, page) {
  const state = new State();

  /** @param {readonly number[]} rows @param {At | null} at @returns {Mark} */
  const marked = (rows, at) => ({ rows: [...rows], label: model.label(rows), at });

  /** @type {App} */
  const app = {
    api: model.api,
    model,
    state,
    actions: new Actions(),
    pin(rows, slot = 0, at = null) {
      const [a, b] = state.get("pins");
      const pin = marked(rows, at);
      state.set({ pins: slot === 0 ? [pin, b] : [a, pin], newest: slot });
    },
    pinCall(call, slot = 0) {
      app.pin(model.layersOfCall(call), slot, positionOf(model, call));
    },
    newest() {
      const pins = state.get("pins");
      return pins[state.get("newest")] ?? pins[0] ?? pins[1];
    },
    unpin() {
      if (state.get("pins").some(Boolean)) state.set({ pins: [null, null] });
    },
    hover(rows, at = null) {
      const before = state.get("hover");
      if (rows === null || (rows.length === 0 && !at)) state.set({ hover: null });
      else if (!before || !sameAt(before.at, at) || before.rows.join() !== rows.join())
        state.set({ hover: marked(rows, at) });
    },
    open(stage, line = -1, call) {
      const { level, kernel, program } = model.stageRow(stage);
      if (program >= 0) state.set({ program });
      const panes = state.get("panes");
      const focused = app.pane();
      const pane =
        panes.find((candidate) => candidate.stage === stage) ??
        panes.find((candidate) => candidate.level === level) ??
        focused;
      const same = model.document.stages[pane.stage]?.kernel === kernel;
      /** @type {Partial<Pane>} */
      const changes = { level, stage, call: call ?? (same ? pane.call : -1) };
      if (pane.stage !== stage) changes.top = Math.max(0, line - 3);
      app.setPane(pane.id, changes);
      state.set({ focus: pane.id });
      if (line >= 0) app.view(pane.id)?.reveal?.(line);
    },
    openDock(id) {
      state.set({ dock: id });
    },
    async copy(text) {
      try {
        await navigator.clipboard.writeText(text);
        app.announce("Copied.");
      } catch {
        app.announce("The browser refused to copy.");
      }
    },
    announce: page.announce,
    pane() {
      const panes = state.get("panes");
      const pane = panes.find((candidate) => candidate.id === state.get("focus")) ?? panes[0];
      if (!pane) throw new Error("the page has no pane");
      return pane;
    },
    setPane(id, changes) {
      state.set({ panes: state.get("panes").map((pane) => (pane.id === id ? { ...pane, ...changes } : pane)) });
    },
    addPane(pane) {
      const panes = state.get("panes");
      if (panes.length >= MOST_PANES) {
        app.announce(`There are ${MOST_PANES} panes already.`);
        return;
      }
      const at = panes.findIndex((candidate) => candidate.id === state.get("focus"));
      const id = 1 + Math.max(0, ...panes.map((candidate) => candidate.id));
      const added = { level: "", stage: -1, call: -1, top: 0, wrap: false, grow: 1, ...pane, id };
      state.set({ panes: [...panes.slice(0, at + 1), added, ...panes.slice(at + 1)], focus: id });
    },
    removePane(id) {
      const panes = state.get("panes");
      if (panes.length < 2) return;
      const rest = panes.filter((pane) => pane.id !== id);
      state.set({ panes: rest, focus: state.get("focus") === id ? (rest[0]?.id ?? 0) : state.get("focus") });
    },
    view: page.view,
  };
  return app;
}

/**
 * Return the panes of a page that no address told anything: the model, relay as it was imported, and the hottest loop of
 * the kernel that does most, as many as fit.
 * @param {App} app
 * @param {number} width in pixels
 * @returns {Pane[]}
 */
export function firstPanes(app, width) {
  const model = kindOf("graph")?.enabled(app) ? "graph" : "model";
  const program = programOf(app);
  // Functions of tensor expressions have no relay, and those of statements no tensor expressions.
  const has = (/** @type {string} */ level, /** @type {number} */ kernel) => app.model.lastStage(level, kernel, program) >= 0;
  const upper = has("relay", -1) ? "relay" : has("te", heaviestKernel(app)) ? "te" : "schedule";
  const levels = [model, upper, "tir", "asm"];
  const wanted = width >= WIDE ? levels : width >= 900 || width <= NARROW ? levels.slice(0, 3) : levels.slice(1, 3);
  /** @type {Pane} */
  const nothing = { id: 0, level: "relay", stage: -1, call: -1, top: 0, wrap: false, grow: 1 };
  /** @type {Pane[]} */
  const panes = [];
  const start = { ...nothing, stage: app.model.lastStage("tir", heaviestKernel(app)) };
  const call = heaviestCall(app.model, heaviestKernel(app));
  for (const level of wanted) {
    const pane = { ...nothing, ...paneOfLevel(app, level, start), id: panes.length + 1 };
    if (level === "relay") pane.stage = app.model.stagesOf(level, -1, program)[0] ?? -1;
    const { line } = destination(app.model, { rows: [...app.model.layersOfCall(call)], label: "", at: null }, level, program, call);
    if (app.model.document.stages[pane.stage]?.kernel === app.model.document.calls[call]?.kernel) pane.top = Math.max(0, line - ABOVE);
    if (pane.stage >= 0 || level === "graph") panes.push(pane);
  }
  return panes.length > 0 ? panes : [{ ...nothing, id: 1 }];
}

/** The program that is chosen, or, where an interpreter runs that, the first with most calls of those that it runs. @param {App} app */
function programOf({ model, state }) {
  const counts = model.document.programs.map((_, number) => programCalls(model, number).length);
  const chosen = state.get("program");
  return counts[chosen] ? chosen : Math.max(0, counts.indexOf(Math.max(...counts)));
}

/**
 * The kernel whose calls do most, by time where that was measured, else by operations.
 * @param {App} app
 */
function heaviestKernel(app) {
  const { model } = app;
  const program = programOf(app);
  const { calls, times } = model.document;
  const seconds = times.find((run) => run.program === program)?.calls;
  const weights = new Map();
  programCalls(model, program).forEach((number, position) => {
    const call = calls[number];
    if (call) weights.set(call.kernel, (weights.get(call.kernel) ?? 0) + (seconds?.[position] ?? call.flops));
  });
  return [...weights].reduce((best, candidate) => (candidate[1] > best[1] ? candidate : best), [-1, -1])[0];
}

/** @param {At | null} first @param {At | null} second */
function sameAt(first, second) {
  return (
    first === second || (first?.stage === second?.stage && first?.line === second?.line && first?.call === second?.call)
  );
}
