// Labels of edges: one for each tensor, where it covers neither a box nor another label.

import { extents } from "whence/graph/boxes";
import { Grid } from "whence/graph/grid";

/** @typedef {import("whence/graph/scene").Scene} Scene */
/** @typedef {{text: string, left: number, top: number, right: number, bottom: number}} Label */

export const LABEL = 10;
const LETTER = 5.6;
const BESIDE = 6;
const NEAR = 12;
const DEFAULT = "float32";

/** A type as labels show it: `1x64x56x56`, with names of sizes `[n, 64]`, and another dtype before it. @param {string} type */
export function labelOf(type) {
  const [, dtype, inside] = /^(\w+)\[(.*)\]$/s.exec(type) ?? [];
  if (!inside) return dtype ?? type;
  const shape = /^[\d, ]+$/.test(inside) ? extents(type) : `[${inside}]`;
  return dtype === DEFAULT ? shape : `${dtype} ${shape}`;
}

/** The tensor that an edge of a graph carries. @param {Scene["graph"]["edges"]} edges @param {number} e */
export function tensorOf({ source, output }, e) {
  return `${source[e]} ${output[e]}`;
}

/** The labels of a scene, which stay where they once are. */
export class Labels {
  /** By the tensor; null for one without room. @type {Map<string, Label | null>} */
  #labels = new Map();
  #grid = new Grid();
  /** @type {Label[]} */
  #placed = [];

  /** @param {Scene} scene */
  constructor(scene) {
    this.scene = scene;
  }

  /** Return the labels of some edges. @param {number[]} list @returns {Label[]} */
  of(list) {
    const { scene } = this;
    const seen = new Set();
    const labels = [];
    for (const e of list) {
      const key = tensorOf(scene.graph.edges, scene.edge[e]);
      if (seen.has(key)) continue;
      let label = this.#labels.get(key);
      if (label === undefined) this.#labels.set(key, (label = this.#place(e)));
      if (label === null) continue;
      seen.add(key);
      labels.push(label);
    }
    return labels;
  }

  /** The first place along an edge that is free: at its source, at its middle, at its target. @param {number} e */
  #place(e) {
    const { scene } = this;
    const text = labelOf(scene.graph.edges.text[scene.edge[e]]);
    if (!text) return null;
    const points = scene.route(e);
    const [x, y] = points;
    const [endX, endY] = points.slice(-2);
    const [bendX, bendY] = points.slice(2, 4);
    const middle = [(x + bendX) / 2, (y + bendY) / 2];
    const along = scene.at.sideways
      ? [[x + BESIDE, y - BESIDE], middle, [endX - text.length * LETTER - NEAR, endY - BESIDE]]
      : [[x + BESIDE, y + NEAR], [middle[0] + BESIDE, middle[1]], [endX + BESIDE, endY - NEAR]];
    for (const [left, base] of along) {
      const label = { text, left, top: base - LABEL, right: left + text.length * LETTER, bottom: base + 2 };
      if (!this.#isFree(label)) continue;
      this.#grid.add(this.#placed.push(label) - 1, left, label.top, label.right, label.bottom);
      return label;
    }
    return null;
  }

  /** @param {Label} label */
  #isFree({ left, top, right, bottom }) {
    const { scene } = this;
    const meets = (/** @type {readonly number[]} */ [l, t, r, b]) => l < right && left < r && t < bottom && top < b;
    for (const k of this.#grid.near([left, top, right, bottom])) {
      const other = this.#placed[k];
      if (meets([other.left, other.top, other.right, other.bottom])) return false;
    }
    return !scene.boxesIn([left, top, right, bottom]).some((k) => meets(scene.solid(k)));
  }
}
