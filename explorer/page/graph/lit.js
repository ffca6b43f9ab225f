// What of a graph is lit up: pinned items, those of the hovered layers, and heat.

import { tensorOf } from "whence/graph/labels";
import { weightOfItems, weightOfNodes } from "whence/graph/heat";
import { callOf } from "whence/navigate";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/graph/scene").Scene} Scene */

/**
 * @typedef {object} Lit
 * @property {Set<number>[]} pins the items of pins A and B
 * @property {Set<number>} kin
 * @property {Set<number>} same the items with nodes of the operator that is lit up
 * @property {string} tensor the tensor whose edges are lit up, "" for none
 * @property {((k: number) => number) | null} heat 0 to 1; of a change -1 (faster) to 1 (slower)
 */

/** @type {Lit} */
export const NOTHING = { pins: [new Set(), new Set()], kin: new Set(), same: new Set(), tensor: "", heat: null };

/**
 * @param {App} app @param {Scene} scene @param {string} label the operator that is lit up, "" for none
 * @param {number} edge that of the graph whose tensor is lit up, -1 for none
 * @returns {Lit}
 */
export function litOf({ state, model }, scene, label, edge) {
  /** @param {readonly number[] | undefined} rows */
  const items = (rows) => {
    /** @type {Set<number>} */
    const all = new Set();
    const sets = rows?.length ? model.setsMeeting(rows) : new Set();
    if (sets.size) scene.graph.nodes.set.forEach((set, node) => sets.has(set) && all.add(scene.shows[node]));
    all.delete(-1);
    return all;
  };
  const weights = weightOfNodes(model, scene.graph, state.get("heat"));
  const heats = weights && weightOfItems(scene, weights);
  const most = heats?.reduce((a, b) => Math.max(a, Math.abs(b)), 0) ?? 0;
  return {
    pins: state.get("pins").map((pin) => items(pin?.rows)),
    same: new Set(label ? scene.graph.nodes.label.flatMap((own, node) => (own === label && scene.shows[node] >= 0 ? [scene.shows[node]] : [])) : []),
    tensor: edge < 0 ? "" : tensorOf(scene.graph.edges, edge),
    kin: items(state.get("hover")?.rows),
    heat: heats && most > 0 ? (k) => heats[k] / most : null,
  };
}

/** The item that the newest pin leads to: its call, else its node; -1 for none. @param {App} app @param {Scene} scene */
export function pinnedItem({ model, state, newest }, scene) {
  const pin = newest();
  if (!pin) return -1;
  const { nodes, level } = scene.graph;
  const call = level === "calls" ? callOf(model, pin, state.get("program")) : -1;
  const sets = model.setsMeeting(pin.rows);
  const meeting = nodes.set.flatMap((set, node) => (sets.has(set) && scene.shows[node] >= 0 ? [node] : []));
  const node = meeting.find((candidate) => call >= 0 && nodes.call[candidate] === call) ?? meeting.find((candidate) => nodes.kind[candidate] === "node") ?? meeting[0];
  return node === undefined ? -1 : scene.shows[node];
}

/** Whether the item of the newest pin is in view, wholly or as far as it fits. @param {App} app @param {Scene} scene @param {import("whence/graph/camera").Camera} camera */
export function seesPin(app, scene, camera) {
  const item = pinnedItem(app, scene);
  if (item < 0) return false;
  const [x, y] = camera.revealing(scene.area(item));
  return Math.abs(x - camera.x) < 1e-6 && Math.abs(y - camera.y) < 1e-6;
}

/** The letters of the pins that an item has. @param {Lit} lit @param {number} k */
export function lettersOf({ pins: [a, b] }, k) {
  return `${a.has(k) ? "A" : ""}${b.has(k) ? "B" : ""}`;
}
