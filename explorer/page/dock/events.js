// Events of the ledger as a table, and layers as buttons that pin them.

import { h } from "whence/dom";
import { opName } from "whence/words";

/** @typedef {import("whence/types").App} App */

const MOST_LAYERS = 8;

/**
 * @param {App} app
 * @param {readonly number[]} events
 * @param {{into?: (event: number) => readonly number[]}} [about] `into`: the layers of the last column, else those after the event
 */
export function eventTable(app, events, { into } = {}) {
  const { events: table, sets, passes } = app.model.document;
  const rows = events.map((event) => {
    const run = passes[table.run[event] ?? -1];
    const name = table.pass_name[event] ?? "";
    const what = opName(table.what[event] ?? "");
    const reason = table.reason[event] ?? "";
    return h(
      "tr",
      { "data-event": event },
      h("td", {}, run ? stageButton(app, run.stage, name || "import") : name || "import", sourceLine(run?.source)),
      h("td", {}, what, what.includes(reason) ? null : h("div", { class: "dim" }, reason)),
      h("td", {}, table.pattern[event] || "(unknown)", sourceLine(table.pattern_at[event])),
      h("td", {}, ...layerButtons(app, sets[table.before[event] ?? 0] ?? [])),
      h("td", {}, ...layerButtons(app, into ? into(event) : (sets[table.after[event] ?? 0] ?? []))),
    );
  });
  const titles = ["pass", "what it did", "pattern", "from", into ? "now in" : "into"];
  return h(
    "table",
    { class: "events", "data-test": "events" },
    h("thead", {}, h("tr", {}, ...titles.map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, ...rows),
  );
}

/**
 * Return a line that says where a pass or pattern is written; null for nowhere.
 * @param {string | undefined} at
 */
function sourceLine(at) {
  return at ? h("div", { class: "source" }, at) : null;
}

/**
 * Return buttons that pin layers, one each.
 * @param {App} app
 * @param {readonly number[]} rows
 * @returns {Node[]}
 */
export function layerButtons(app, rows) {
  const buttons = rows.slice(0, MOST_LAYERS).map((row) => {
    const lost = app.model.losers([row]).length > 0;
    const name = app.model.layerName(row);
    return h(
      "button",
      {
        type: "button",
        class: lost ? "layer lost" : "layer",
        title: "Pin as A; with Shift as B",
        onclick: (/** @type {MouseEvent} */ event) => app.pin([row], event.shiftKey ? 1 : 0),
        onpointerenter: () => app.hover([row]),
        onpointerleave: () => app.hover(null),
      },
      lost ? `lost by ${name}` : name,
    );
  });
  if (rows.length > MOST_LAYERS)
    buttons.push(h("button", { type: "button", class: "layer", onclick: () => app.pin(rows) }, `all ${rows.length}`));
  return buttons;
}

/**
 * Return a button that opens a stage.
 * @param {App} app
 * @param {number} stage
 * @param {string} text
 * @param {number} [line]
 * @param {number} [call]
 */
export function stageButton(app, stage, text, line = -1, call) {
  if (stage < 0) return h("span", {}, text);
  return h("button", { type: "button", class: "link", onclick: () => app.open(stage, line, call) }, text);
}

/**
 * Make an action that opens a dock about the pin, or about the line under the cursor, which it pins first.
 * @param {App} app
 * @param {string} dock
 */
export function askAbout(app, dock) {
  const point = app.view(app.pane().id)?.cursor?.();
  const [a, b] = app.state.get("pins");
  const pinned = [a, b].some((pin) => pin?.at && pin.at.stage === point?.at?.stage && pin.at.line === point.at.line);
  if (point && !pinned && (!a || a.at)) app.pin(point.rows, 0, point.at);
  app.openDock(dock);
}
