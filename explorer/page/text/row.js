// A row of a text pane: gutter and text of a line, and the marks that it has now.

import { classOf } from "whence/colours";
import { fill, find, h, mark } from "whence/dom";
import { tokens } from "whence/text/tokens";
import { ROW } from "whence/text/geometry";

const BARS = 3;

/**
 * @typedef {object} LineFacts
 * @property {number} line from 0
 * @property {string} text
 * @property {number[]} layers
 * @property {boolean} exact
 * @property {string} output the layers whose output the line computes; "" for none
 * @property {string} lost who lost the layers of the line; "" where they are there
 * @property {number | null} heat share of the whole, 0 to 1, of a change -1 to 1; null where there is none
 * @property {boolean} signed true for a change
 * @property {number} hottest the largest share
 * @property {number} units height in units
 */

/**
 * @typedef {object} LineMarks
 * @property {boolean} kin
 * @property {"" | "A" | "B" | "AB"} pin
 * @property {boolean} cursor
 * @property {boolean} hit
 */

/** @returns {HTMLElement} */
export function newRow() {
  return h(
    "div",
    { class: "row", role: "row" },
    h(
      "span",
      { class: "gutter", role: "rowheader" },
      h("span", { class: "number" }),
      h("span", { class: "bars", "aria-hidden": true }),
      h("span", { class: "sign" }),
      h("span", { class: "letter" }),
      h("span", { class: "heat", "aria-hidden": true }, h("i")),
    ),
    h("span", { class: "code", role: "gridcell" }),
  );
}

/**
 * Show a line in a row.
 * @param {HTMLElement} row
 * @param {LineFacts} facts
 */
export function showLine(row, facts) {
  row.dataset.row = String(facts.line);
  row.id = "";
  row.className = facts.layers.length ? `row ${classOf(facts.layers[0] ?? 0)}` : "row";
  row.style.height = `${facts.units * ROW}px`;
  mark(row, "aria-rowindex", String(facts.line + 1));
  mark(row, "data-exact", facts.exact ? "1" : "0");
  mark(row, "data-lost", facts.lost || null);
  find(row, ".number").textContent = String(facts.line + 1);
  const bars = facts.layers.slice(0, BARS).map((layer) => h("i", { class: `bar ${classOf(layer)}` }));
  if (facts.layers.length > BARS) bars.push(h("i", { class: "more" }));
  fill(find(row, ".bars"), ...bars);
  const sign = find(row, ".sign");
  sign.textContent = facts.lost ? "!" : facts.output ? "o" : "";
  mark(sign, "title", facts.lost ? `lost: ${facts.lost}` : facts.output ? `output of ${facts.output}` : null);
  mark(sign, "data-output", facts.output || null);
  showHeat(row, facts);
  fill(find(row, ".code"), ...tokens(facts.text));
}

/** @param {HTMLElement} row @param {LineFacts} facts */
function showHeat(row, { heat, hottest, signed }) {
  const element = find(row, ".heat");
  const bar = find(row, ".heat i");
  const size = Math.abs(heat ?? 0);
  const way = !signed ? null : (heat ?? 0) > 0 ? "slower" : "faster";
  mark(element, "data-heat", heat === null ? null : String(heat));
  mark(element, "title", size > 0 ? `${(100 * size).toFixed(size < 0.01 ? 2 : 1)} %${way ? ` of the change: ${way}` : ""}` : null);
  mark(bar, "data-change", size > 0 ? way : null);
  bar.style.width = size > 0 ? `${Math.max(4, (100 * size) / hottest)}%` : "0";
}

/**
 * Show the marks of a row.
 * @param {HTMLElement} row
 * @param {LineMarks} marks
 */
export function showMarks(row, marks) {
  mark(row, "data-kin", marks.kin ? "" : null);
  if (row.dataset.pin !== (marks.pin || undefined)) {
    mark(row, "data-pin", marks.pin || null);
    mark(row, "aria-selected", marks.pin ? "true" : "false");
    find(row, ".letter").textContent = marks.pin;
  }
  mark(row, "data-cursor", marks.cursor ? "" : null);
  mark(row, "data-hit", marks.hit ? "" : null);
}
