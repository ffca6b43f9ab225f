// The list of passes: what each changed, how long it took, and those that changed nothing together.

import { fill, h } from "whence/dom";
import { openDifference } from "whence/diff/open";
import { currentRun, goToRun, unitOf } from "whence/passes/current";
import { countsOf, runsOf, stretches, timeText, unitsOf } from "whence/passes/runs";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/passes/runs").Unit} Unit */

const KINDS = /** @type {const} */ (["new", "gone", "changed", "moved"]);

/** @param {App} app @param {HTMLElement} element @returns {import("whence/types").DockView} */
export function passesDock(app, element) {
  const { document: session } = app.model;
  const units = unitsOf(session);
  /** The unit that was chosen here, which the panes do not decide. @type {Unit | null} */
  let chosen = null;
  /** Stretches that are unfolded, by their first run. @type {Set<number>} */
  const open = new Set();
  const filter = h("input", { type: "search", placeholder: "filter", "aria-label": "Filter passes", "data-test": "pass-filter", oninput: () => show() });
  const unit = h("select", { "aria-label": "Program or kernel", "data-test": "pass-unit", onchange: () => {
    chosen = units[Number(unit.value)] ?? null;
    show();
  } }, ...units.map((row, k) => h("option", { value: k }, nameOf(row))));
  const total = h("span", { class: "muted" });
  const body = h("tbody", {});
  const heads = ["pass", ...KINDS, "time", "source"].map((name) => h("th", { scope: "col" }, name));
  const table = h("table", { class: "passes", "data-test": "passes" }, h("thead", {}, h("tr", {}, ...heads)), body);
  const tools = h("div", { class: "pass-tools" }, unit, filter, total);
  fill(element, h("div", { class: "pass-dock" }, tools, h("div", { class: "pass-list" }, table)));

  /** @param {Unit} row */
  function nameOf({ program, kernel }) {
    const whole = session.programs.length > 1 ? `${session.programs[program].name}: ` : "";
    return whole + (kernel < 0 ? "program" : session.kernels[kernel].symbol);
  }

  /** @param {number} run @param {number} now */
  function row(run, now) {
    const { name, spec, stage, changed, seconds, source } = session.passes[run];
    const counts = countsOf(session, run);
    const before = session.stages[stage]?.before ?? -1;
    const show = h("button", { type: "button", class: "link", title: spec, "data-test": "pass", onclick: () => goToRun(app, run) }, name);
    const compare = changed && before >= 0 && h("button", { type: "button", title: `compare before and after ${name}`, "aria-label": `compare before and after ${name}`,
      "data-test": "pass-difference", onclick: () => openDifference(app, before, stage) }, "±");
    return h("tr", { "data-run": run, "data-changed": changed ? "1" : "0", "aria-current": run === now && "step" },
      h("td", {}, show, " ", compare),
      ...KINDS.map((kind) => h("td", { class: "count", "data-kind": kind }, counts ? counts[kind] || "" : "")),
      h("td", { class: "count" }, timeText(seconds)),
      h("td", { class: "muted" }, source));
  }

  function show() {
    const now = currentRun(app);
    const at = chosen ?? unitOf(app);
    unit.value = String(units.findIndex(({ program, kernel }) => program === at.program && kernel === at.kernel));
    const word = filter.value.trim().toLowerCase();
    const runs = runsOf(session, at).filter((run) => session.passes[run].spec.toLowerCase().includes(word));
    const changed = runs.filter((run) => session.passes[run].changed).length;
    const seconds = runs.reduce((sum, run) => sum + Math.max(0, session.passes[run].seconds), 0);
    total.textContent = `${runs.length} passes, ${changed} changed something, ${timeText(seconds)}`;
    fill(body, ...stretches(session, runs).flatMap((stretch) => {
      const rows = stretch.runs.map((run) => row(run, now));
      if (stretch.changed || stretch.runs.length === 1) return rows;
      const [first] = stretch.runs;
      const wide = open.has(first) || word !== "" || stretch.runs.includes(now);
      const press = () => {
        if (!open.delete(first)) open.add(first);
        show();
      };
      const head = h("button", { type: "button", class: "link muted", "aria-expanded": String(wide), "data-test": "unchanged", onclick: press },
        `${wide ? "▾" : "▸"} ${stretch.runs.length} that changed nothing`);
      return [h("tr", {}, h("td", { colspan: heads.length }, head)), ...(wide ? rows : [])];
    }));
    body.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  const off = app.state.on(["panes", "focus", "program"], () => {
    const moved = app.state.get("focus");
    if (moved !== focus) [focus, chosen] = [moved, null];
    show();
  });
  let focus = app.state.get("focus");
  show();
  return { update: show, destroy: off };
}
