// Boxes of rows and lines between them, as SVG.

import { svg } from "whence/dom";

/** @typedef {{text: string, note?: string, colour?: string, index?: string, sign?: " " | "-" | "+", full?: string}} BoxRow */
/** @typedef {{x: number, y: number, width: number, height: number}} Place */

export const ROW = 30;
export const HEAD = 22;
export const WIDTH = 214;
const LETTER = 6.4;
const INDEX = 20;
/** The least size of a picture that is made to fit. */
const SMALLEST = 0.75;

/**
 * Cut a text so that it fits a width in pixels; the whole is in its title.
 * @param {string} text
 * @param {number} width
 */
export function fitted(text, width) {
  const most = Math.max(4, Math.floor(width / LETTER));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** The height of a box. @param {readonly BoxRow[]} rows @param {number} heads */
export function heightOf(rows, heads) {
  return HEAD + 14 * heads + rows.reduce((sum, row) => sum + rowHeight(row), 0);
}

/** @param {BoxRow} row */
export function rowHeight(row) {
  return row.note ? ROW : 20;
}

/**
 * Return a box: its name, lines below it, and rows, of which one with a colour has a cell of that colour.
 * @param {Place} place
 * @param {string} name
 * @param {readonly BoxRow[]} heads
 * @param {readonly BoxRow[]} rows
 * @param {{[name: string]: string | undefined}} [marks] attributes of the whole
 */
export function box(place, name, heads, rows, marks = {}) {
  const { x, y, width, height } = place;
  const parts = [
    svg("rect", { class: "box", x, y, width, height, rx: 2 }),
    svg("rect", { class: "box-head", x, y, width, height: HEAD + 14 * heads.length, rx: 2 }),
    text(x + width / 2, y + 15, fitted(name, width - 12), name, "box-name"),
    ...heads.flatMap((row, at) => line(row, x, y + HEAD + 14 * at, width, 14, true)),
  ];
  let top = y + HEAD + 14 * heads.length;
  for (const row of rows) {
    const height = rowHeight(row);
    parts.push(...line(row, x, top, width, height, false));
    top += height;
  }
  return svg("g", { ...marks }, ...parts);
}

/**
 * @param {BoxRow} row
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {boolean} middle
 */
function line(row, x, y, width, height, middle) {
  const sign = row.sign ?? " ";
  const kind = sign === "+" ? "row-new" : sign === "-" ? "row-old" : "row-same";
  const left = row.colour ? INDEX : 0;
  const full = row.full ?? [row.text, row.note].filter(Boolean).join(", ");
  const at = middle ? x + width / 2 : x + left + 6;
  const style = middle ? "box-note middle" : row.note ? "row-name" : "row-formula";
  /** @type {SVGElement[]} */
  const parts = [];
  if (!middle) parts.push(svg("rect", { class: "row", x, y, width, height }));
  if (sign === "-") parts.push(svg("rect", { class: "row-hatch", x, y, width, height, fill: "url(#film-hatch)" }));
  if (row.colour) {
    parts.push(svg("rect", { class: "cell", x, y, width: INDEX, height, style: { fill: row.colour } }));
    parts.push(text(x + INDEX / 2, y + height / 2 + 4, row.index ?? "", row.index ?? "", "cell-index"));
  }
  parts.push(text(at, y + (row.note ? 12 : height / 2 + 4), fitted(row.text, width - left - 10), full, style));
  if (row.note) parts.push(text(at, y + 25, fitted(row.note, width - left - 10), full, "row-note"));
  return [svg("g", { class: kind, "data-sign": sign === " " ? null : sign, "data-flip": full }, ...parts)];
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} shown
 * @param {string} full
 * @param {string} style
 */
export function text(x, y, shown, full, style) {
  return svg("text", { x, y, class: style }, svg("title", {}, full), shown);
}

/** The pattern of what is gone, and the head of an arrow. */
export function definitions() {
  const stripe = svg("path", { d: "M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2", class: "hatch" });
  return svg(
    "defs",
    {},
    svg("pattern", { id: "film-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse" }, stripe),
    svg("marker", { id: "film-arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z", class: "arrow" })),
  );
}

/**
 * Return a picture of so many pixels.
 * @param {number} width
 * @param {number} height
 * @param {string} label
 * @param {...Element} parts
 */
export function picture(width, height, label, ...parts) {
  const style = { "max-width": "100%", "min-width": `${Math.round(SMALLEST * width)}px`, height: "auto" };
  return svg("svg", { width, height, style, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "film-svg" }, definitions(), ...parts);
}
