// The schedule tree as a picture: stages below the loops that they are computed in.

import { svg } from "whence/dom";
import { box, heightOf, picture, ROW, rowHeight, text, WIDTH } from "whence/film/boxes";
import { colourOf } from "whence/film/rows";

/** @typedef {import("whence/film/boxes").BoxRow} BoxRow */
/** @typedef {import("whence/film/rows").ShownStage} ShownStage */
/** @typedef {import("whence/film/rows").SignedRow} SignedRow */
/**
 * @typedef {object} Node
 * @property {ShownStage | null} stage
 * @property {string} name
 * @property {BoxRow[]} heads
 * @property {BoxRow[]} rows
 * @property {number} width
 * @property {number} height
 * @property {number} span the width of it and all that stands below it
 * @property {Node[]} children
 * @property {Node | null} host
 * @property {number} row the row of the host that it hangs on
 * @property {number} x
 * @property {number} y
 */

const GAP = 22;
const DROP = 46;
const ROOT = 34;
const NARROW = 128;

/**
 * Return the picture of a schedule tree.
 * @param {ShownStage[]} stages
 * @param {[string, string][]} inputs names and types of the function's arguments
 * @param {string} label
 */
export function treePicture(stages, inputs, label) {
  const nodes = stages.map(nodeOf);
  const byLabel = new Map(nodes.map((node) => [node.name, node]));
  /** @type {Node[]} */
  const top = inputs.map(([name, type]) => plain(name, type));
  for (const node of nodes) {
    const [host, row] = hostOf(node, nodes);
    node.host = host;
    node.row = row;
    if (host && !circular(node)) host.children.push(node);
    else top.push(node);
  }
  // Producers come first in a schedule: a child's children are known when it is measured from the last to the first.
  const order = inOrder(top);
  for (const node of order.toReversed()) {
    const below = node.children.reduce((sum, child) => sum + child.span, 0) + GAP * Math.max(0, node.children.length - 1);
    node.span = Math.max(node.width, below);
  }
  let x = GAP;
  for (const node of top) {
    place(node, x, ROOT + DROP);
    x += node.span + GAP;
  }
  const placed = inOrder(top);
  const height = Math.max(...placed.map((node) => node.y + node.height), ROOT) + GAP;
  const width = Math.max(x, 2 * WIDTH);
  const root = { x: width / 2 - 34, y: 4 };
  return picture(
    width,
    height,
    label,
    ...top.map((node) => edge(node.x + node.width / 2, node.y, root.x + 34, root.y + 26)),
    svg("ellipse", { class: "root", cx: root.x + 34, cy: root.y + 13, rx: 34, ry: 13 }),
    text(root.x + 34, root.y + 17, "ROOT", "ROOT", "box-name"),
    ...placed.map((node) => drawn(node, byLabel)),
  );
}

/** @param {ShownStage} stage @returns {Node} */
function nodeOf(stage) {
  const heads = stage.head.map(({ sign, item }) => ({ text: item.text, sign }));
  let index = 0;
  const past = stage.change === "was" || stage.change === "gone";
  const rows = stage.rows.map((row) => rowOf(row, row.item.loop && (past || row.sign !== "-") ? String(index++) : ""));
  return { stage, name: stage.label, heads, rows, width: WIDTH, height: heightOf(rows, heads.length), span: WIDTH, children: [], host: null, row: -1, x: 0, y: 0 };
}

/** @param {string} name @param {string} type @returns {Node} */
function plain(name, type) {
  const heads = [{ text: "placeholder" }, { text: type }];
  return { stage: null, name, heads, rows: [], width: NARROW, height: heightOf([], heads.length), span: NARROW, children: [], host: null, row: -1, x: 0, y: 0 };
}

/** @param {SignedRow} row @param {string} index @returns {BoxRow} */
function rowOf({ sign, item }, index) {
  if (!item.loop) return { text: item.text, sign };
  return { text: item.text, note: item.note, colour: colourOf(item.type), index, sign };
}

/** The stage in whose loop a stage is computed, and the row of the loop. @param {Node} node @param {Node[]} nodes @returns {[Node | null, number]} */
function hostOf(node, nodes) {
  for (const host of nodes) {
    const row = host.stage?.rows.findIndex(({ sign, item }) => sign !== "-" && item.loop?.computes.includes(node.name)) ?? -1;
    if (row >= 0) return [host, row];
  }
  return [null, -1];
}

/** True where a stage would hang below itself. @param {Node} node */
function circular(node) {
  let steps = 0;
  for (let host = node.host; host; host = host.host) if (host === node || ++steps > 1000) return true;
  return false;
}

/** The nodes, hosts before what hangs on them. @param {Node[]} top */
function inOrder(top) {
  const order = [...top];
  for (let at = 0; at < order.length; at++) order.push(...(order[at]?.children ?? []));
  return order;
}

/** @param {Node} first @param {number} left @param {number} top */
function place(first, left, top) {
  /** @type {[Node, number, number][]} */
  const waiting = [[first, left, top]];
  for (const [node, x, y] of waiting) {
    node.x = x + (node.span - node.width) / 2;
    node.y = y;
    let at = x;
    for (const child of node.children) {
      waiting.push([child, at, y + node.height + DROP]);
      at += child.span + GAP;
    }
  }
}

/** @param {Node} node @param {Map<string, Node>} byLabel */
function drawn(node, byLabel) {
  const place = { x: node.x, y: node.y, width: node.width, height: node.height };
  const host = node.host ? byLabel.get(node.host.name) : undefined;
  const parts = host ? [edge(node.x + node.width / 2, node.y, host.x, rowMiddle(host, node.row), `edge-${node.row % 4}`)] : [];
  const state = node.stage?.change ?? "";
  const marks = { class: `stage ${state}`, "data-test": "stage", "data-label": node.name, "data-flip": node.name, "data-change": state || undefined };
  return svg("g", {}, box(place, node.name, node.heads, node.rows, marks), ...parts);
}

/** @param {Node} node @param {number} row */
function rowMiddle(node, row) {
  const above = node.rows.slice(0, row).reduce((sum, each) => sum + rowHeight(each), 0);
  return node.y + heightOf([], node.heads.length) + above + ROW / 2;
}

/** A curve from the top of a box to what it hangs on, on the left of that. @param {number} x @param {number} y @param {number} toX @param {number} toY @param {string} [kind] */
function edge(x, y, toX, toY, kind = "edge-root") {
  const left = toX - 0.6 * GAP;
  const path = kind === "edge-root"
    ? `M${x},${y} C${x},${y - 24} ${toX},${toY + 24} ${toX},${toY}`
    : `M${x},${y} C${x},${y - DROP} ${left},${y} ${left},${y - DROP} L${left},${toY + 10} Q${left},${toY} ${toX},${toY}`;
  return svg("path", { class: `edge ${kind}`, d: path, "marker-end": "url(#film-arrow)" });
}
