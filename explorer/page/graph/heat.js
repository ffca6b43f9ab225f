// Heat of a graph: the share of each node in time, operations or bytes.

import { programCalls, weightOfLayers } from "whence/heat";

/** @typedef {import("whence/types").Heat} Heat */
/** @typedef {import("whence/types").Session["graphs"][number]} Graph */
/** @typedef {import("whence/session").SessionModel} SessionModel */
/** @typedef {import("whence/graph/scene").Scene} Scene */

/**
 * Return the weight of each node; null where nobody knows any. A layer's seconds are those of its node.
 * @param {SessionModel} model @param {Graph} graph @param {Heat} heat
 * @returns {Float64Array | null}
 */
export function weightOfNodes(model, graph, heat) {
  const { nodes, level, program } = graph;
  if (heat === "off") return null;
  if (heat !== "time") return some(Float64Array.from(nodes[heat]));
  const { times, sets } = model.document;
  if (level === "calls") {
    const run = times.find((candidate) => candidate.program === program);
    const seconds = new Map(programCalls(model, program).map((call, position) => [call, run?.calls[position] ?? 0]));
    return some(Float64Array.from(nodes.call, (call) => seconds.get(call) ?? 0));
  }
  const layers = weightOfLayers(model, heat);
  if (!layers) return null;
  const weights = Float64Array.from(nodes.set, (set) => (sets[set] ?? []).reduce((sum, row) => sum + layers[row], 0));
  return some(weights.map((weight, node) => (nodes.kind[node] === "node" ? weight : 0)));
}

/** @param {Float64Array} weights */
function some(weights) {
  return weights.some((weight) => weight > 0) ? weights : null;
}

/**
 * Return the weight of each item; a folded group has that of all its nodes.
 * @param {Scene} scene @param {Float64Array} weights
 */
export function weightOfItems(scene, weights) {
  const items = new Float64Array(scene.ids.length);
  scene.shows.forEach((item, node) => {
    if (item >= 0) items[item] += weights[node];
  });
  return items;
}
