// Heat of a graph: the share of each node in time, operations or bytes, or its change against another session.

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
  if (heat === "change") return changeOfNodes(model, graph);
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
  return weights.some((weight) => weight !== 0) ? weights : null;
}

/**
 * Return how much slower (below 0: faster) each node is than in the other session. A call has of each layer the part
 * that it has of its time.
 * @param {SessionModel} model @param {Graph} graph
 */
function changeOfNodes(model, { nodes, level, program }) {
  const { sets, times } = model.document;
  const changes = weightOfLayers(model, "change");
  if (!changes) return null;
  if (level === "calls") {
    const run = times.find((candidate) => candidate.program === program);
    const whole = weightOfLayers(model, "time");
    if (!run || !whole) return null;
    /** @type {(parts: [number, number][]) => number} */
    const change = (parts) => parts.reduce((sum, [row, seconds]) => sum + (row >= 0 && whole[row] > 0 ? (changes[row] * seconds) / whole[row] : 0), 0);
    const calls = new Map(programCalls(model, program).map((call, position) => [call, change(run.parts[position] ?? [])]));
    return some(Float64Array.from(nodes.call, (call) => calls.get(call) ?? 0));
  }
  const sums = nodes.set.map((set, node) => (nodes.kind[node] === "node" ? (sets[set] ?? []).reduce((sum, row) => sum + changes[row], 0) : 0));
  return some(Float64Array.from(sums));
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
