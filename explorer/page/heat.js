// Heat: the share of each line in time, operations or bytes.

import { isFrameOp } from "whence/words";

/** @typedef {import("whence/session").SessionModel} SessionModel */
/** @typedef {import("whence/types").Heat} Heat */
/** @typedef {{shares: Float64Array, hottest: number, total: number, signed: boolean}} LineHeat `signed`: below 0 is faster than in the other session */

/** @type {WeakMap<SessionModel, Map<string, LineHeat | null>>} */
const cache = new WeakMap();

/**
 * Return the heat of the lines of a stage whose columns are there; null where nothing of the kind was measured.
 *
 * A line's share is that of its samples where the session has them; else each layer's weight is spread evenly over its
 * lines that compute. The shares of a stage add up to 1, those of a change without their signs.
 * @param {SessionModel} model
 * @param {Heat} heat
 * @param {number} stage
 * @param {number} call
 * @returns {LineHeat | null}
 */
export function heatOfLines(model, heat, stage, call) {
  if (heat === "off") return null;
  const known = cache.get(model) ?? new Map();
  cache.set(model, known);
  const key = `${heat} ${stage} ${call}`;
  if (!known.has(key)) {
    const weights = heat === "time" ? sampled(model, stage, call) : null;
    known.set(key, shares(weights ?? spread(model, heat, stage, call), heat === "change"));
  }
  return known.get(key) ?? null;
}

/**
 * Return the weight of each layer: seconds of a run, operations or bytes, or how much slower it is than in the other
 * session, of a kernel in the part that it has of the layer's time; null where nobody knows them.
 * @param {SessionModel} model
 * @param {Heat} heat
 * @param {number} [kernel] only what its calls take
 * @param {number} [call] only what this call takes
 * @returns {Float64Array | null}
 */
export function weightOfLayers(model, heat, kernel = -1, call = -1) {
  const { layers, graphs, sets, times } = model.document;
  const weights = new Float64Array(layers.name.length);
  /** @type {(row: number, weight: number) => void} */
  const add = (row, weight) => {
    if (row >= 0) weights[row] = (weights[row] ?? 0) + weight;
  };
  if (heat === "change") return changeOfLayers(model, kernel, call);
  if (heat === "time") {
    if (times.length === 0) return null;
    const chosen = kernel < 0 ? null : new Set(call < 0 ? model.callsOf(kernel) : [call]);
    for (const run of times) {
      if (!chosen) for (const [row, seconds] of run.layers) add(row, seconds);
      else
        programCalls(model, run.program).forEach((number, position) => {
          if (chosen.has(number)) for (const [row, seconds] of run.parts[position] ?? []) add(row, seconds);
        });
    }
    return weights;
  }
  for (const { level, nodes } of graphs) {
    if (level !== "model") continue;
    nodes.set.forEach((set, node) => {
      const rows = sets[set] ?? [];
      const weight = (heat === "flops" ? nodes.flops : nodes.bytes)[node] ?? 0;
      for (const row of rows) add(row, weight / rows.length);
    });
  }
  return weights.some((weight) => weight > 0) ? weights : null;
}

/**
 * Return how much slower (below 0: faster) each layer is: in seconds, or where these were not measured in instructions.
 * @param {SessionModel} model @param {number} kernel @param {number} call
 */
function changeOfLayers(model, kernel, call) {
  const { comparison, layers } = model.document;
  if (!comparison) return null;
  const timed = comparison.layers.some(({ seconds: [a, b] }) => a >= 0 && b >= 0);
  const changes = new Float64Array(layers.name.length);
  for (const { first, seconds, instructions } of comparison.layers) {
    const [here, there] = timed ? seconds : instructions;
    if (first >= 0 && here >= 0 && there >= 0) changes[first] = here - there;
  }
  const [whole, own] = kernel < 0 ? [null, null] : [weightOfLayers(model, "time"), weightOfLayers(model, "time", kernel, call)];
  return whole && own ? changes.map((change, row) => ((whole[row] ?? 0) > 0 ? (change * (own[row] ?? 0)) / (whole[row] ?? 1) : 0)) : changes;
}

/**
 * The calls of a program, in order.
 * @param {SessionModel} model
 * @param {number} program
 */
export function programCalls(model, program) {
  return model.document.calls.flatMap((call, number) => (call.program === program ? [number] : []));
}

/** @param {SessionModel} model @param {number} stage @param {number} call */
function sampled(model, stage, call) {
  const rows = model.document.times
    .flatMap(({ lines }) => lines)
    .filter((row) => row.stage === stage && (call < 0 || row.call === call));
  if (rows.length === 0) return null;
  const weights = new Float64Array(model.stageRow(stage).lines);
  for (const { line, samples } of rows) {
    line.forEach((number, position) => {
      if (number > 0) weights[number - 1] = (weights[number - 1] ?? 0) + (samples[position] ?? 0);
    });
  }
  return weights;
}

/** @param {SessionModel} model @param {Heat} heat @param {number} stage @param {number} call */
function spread(model, heat, stage, call) {
  const columns = model.links(stage)?.columns;
  const layers = weightOfLayers(model, heat, model.stageRow(stage).kernel, call);
  if (!columns || !layers) return null;
  const { name } = model.document.ops;
  /** @type {Map<number, number[]>} */
  const rows = new Map();
  for (const value of columns.set) if (!rows.has(value)) rows.set(value, model.layersOfValue(stage, value, call));
  /** How many lines a layer has, of those that compute and of all. */
  const [computing, all] = [new Int32Array(layers.length), new Int32Array(layers.length)];
  const works = columns.op.map((op) => (isFrameOp(name[op] ?? "") ? 0 : 1));
  columns.set.forEach((value, line) => {
    for (const row of rows.get(value) ?? []) {
      all[row] = (all[row] ?? 0) + 1;
      computing[row] = (computing[row] ?? 0) + (works[line] ?? 0);
    }
  });
  const weights = new Float64Array(columns.set.length);
  columns.set.forEach((value, line) => {
    for (const row of rows.get(value) ?? []) {
      // Only where nothing computes a layer do the other lines share its weight.
      const count = computing[row] || all[row] || 1;
      if (works[line] || !computing[row]) weights[line] = (weights[line] ?? 0) + (layers[row] ?? 0) / count;
    }
  });
  return weights;
}

/** @param {Float64Array | null} weights @param {boolean} signed @returns {LineHeat | null} */
function shares(weights, signed) {
  if (!weights) return null;
  const total = weights.reduce((sum, weight) => sum + Math.abs(weight), 0);
  if (!(total > 0)) return null;
  const result = weights.map((weight) => weight / total);
  return { shares: result, hottest: result.reduce((most, share) => Math.max(most, Math.abs(share)), 0), total, signed };
}
