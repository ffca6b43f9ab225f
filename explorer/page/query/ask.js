// Asking: the answer is the tab's table, and pin A: its layers, and the very lines where it has some.

import { answer } from "whence/query/answer";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/types").Mark} Mark */
/** @typedef {import("whence/query/types").Answer} Answer */
/** @typedef {import("whence/query/types").Place} Place */
/** @typedef {import("whence/query/types").Tables} Tables */
/** @typedef {{tables: Promise<Tables> | null, text: string, answer: Promise<Answer> | null}} Asked */

/** @type {WeakMap<App, Asked>} */
const all = new WeakMap();

/** @param {App} app */
function askedOf(app) {
  const asked = all.get(app) ?? { tables: null, text: "", answer: null };
  all.set(app, asked);
  return asked;
}

/** Return the tables of the session, which are loaded once. @param {App} app */
export function tablesOf(app) {
  const asked = askedOf(app);
  asked.tables ??= app.api.tables().catch((error) => {
    asked.tables = null;
    throw error;
  });
  return asked.tables;
}

/** Return the answer to a query; rejects with QueryError. @param {App} app @param {string} text */
export function answerOf(app, text) {
  const asked = askedOf(app);
  if (asked.text !== text || !asked.answer) {
    asked.text = text;
    asked.answer = tablesOf(app).then((tables) => answer(app.model, tables, text));
    asked.answer.catch(() => (asked.answer = null));
  }
  return asked.answer;
}

/** Show the answer to a query, pin it, and go to the first of its lines. @param {App} app @param {string} text */
export async function ask(app, text) {
  // The tab says what is wrong with a query.
  const found = await answerOf(app, text).catch(() => null);
  if (askedOf(app).text !== text) return;
  // All that an answer changes is one step of the browser's history.
  app.state.set({ query: text });
  app.openDock("answer");
  if (!found) return;
  const layers = layersOf(found);
  if (layers.length > 0) app.pin(layers);
  light(app, found);
  const first = found.rows.flatMap(({ places }) => places).find(([, line]) => line >= 0);
  if (first) app.open(...first);
}

/**
 * Have pin A light up the very lines of an answer, if it is the layers of this answer.
 * @param {App} app
 * @param {Answer} found
 */
export function light(app, found) {
  const [a, b] = app.state.get("pins");
  const layers = layersOf(found);
  const places = found.rows.flatMap((row) => row.places.filter(([, line]) => line >= 0));
  if (!a || a.at || a.lines || places.length === 0 || !a.rows.every((row, k) => row === layers[k])) return;
  /** @type {Map<number, Set<number>>} */
  const lines = new Map();
  for (const [stage, line] of places) lines.set(stage, (lines.get(stage) ?? new Set()).add(line));
  const sorted = [...lines].map(([stage, own]) => /** @type {[number, Int32Array]} */ ([stage, Int32Array.from(own).sort()]));
  app.state.set({ pins: [{ ...a, label: app.state.get("query"), lines: new Map(sorted) }, b] });
}

/** @param {Answer} found */
function layersOf({ rows }) {
  return [...new Set(rows.flatMap(({ layers }) => layers))].sort((a, b) => a - b);
}

/** Pin a row of an answer, and go to its line or stage. @param {App} app @param {import("whence/query/types").AnswerRow} row @param {0 | 1} slot */
export function pinRow(app, { layers, places }, slot) {
  const [[stage = -1, line = -1] = []] = places;
  const at = line >= 0 && places.length === 1 ? { stage, line, call: -1, tir: app.model.tirLine(stage, line) } : null;
  if (layers.length > 0 || at) app.pin(layers, slot, at);
  if (stage >= 0) app.open(stage, line);
}
