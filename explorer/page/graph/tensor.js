// What is known of a tensor of a graph: its size, its range in the recorded run, and its life in memory.

import { tensorOf } from "whence/graph/labels";

/** @typedef {import("whence/types").Session} Session */
/** @typedef {Session["graphs"][number]} Graph */

const TYPE = /^([a-z]+)(\d*)\[(.*)\]$/;
const BYTE = 8;

/**
 * @typedef {object} TensorFacts
 * @property {number} source the node that gives it
 * @property {number[]} readers
 * @property {string} type
 * @property {number} bytes -1 where sizes are open
 * @property {{minimum: number, maximum: number, mean: number} | null} range null where no values were recorded
 * @property {{first: number, last: number, offset: number, size: number}[]} lives where it is in memory, in calls
 */

/** The bytes of a type, `float32[1, 64]`; -1 for one with open sizes. @param {string} type */
export function bytesOf(type) {
  const [, kind, bits, inside] = TYPE.exec(type) ?? [];
  if (inside === undefined) return -1;
  const sizes = inside.split(",").map((text) => text.trim()).filter(Boolean);
  if (!sizes.every((size) => /^\d+$/.test(size))) return -1;
  const width = kind === "bool" ? BYTE : Number(bits);
  return width ? Math.ceil((sizes.reduce((product, size) => product * Number(size), 1) * width) / BYTE) : -1;
}

/**
 * Return the facts of the tensor that an edge carries.
 * @param {Session} document @param {Graph} graph @param {number} edge
 * @returns {TensorFacts}
 */
export function tensorFacts({ sets, tensors, memory }, graph, edge) {
  const { nodes, edges, program } = graph;
  const [key, source, type] = [tensorOf(edges, edge), edges.source[edge], edges.text[edge]];
  const readers = edges.target.filter((_, e) => tensorOf(edges, e) === key);
  const rows = new Set(sets[nodes.set[source]] ?? []);
  const shape = (TYPE.exec(type)?.[3] ?? "").replaceAll(" ", "");
  const values = tensors.find((table) => table.program === program);
  const own = values?.layer.flatMap((row, k) => (rows.has(row) ? [k] : [])) ?? [];
  const at = own.find((k) => values?.shape[k].join() === shape) ?? -1;
  const range = values && at >= 0 ? { minimum: values.minimum[at], maximum: values.maximum[at], mean: values.mean[at] } : null;
  const plan = memory.find((table) => table.program === program);
  const lives = plan?.set.flatMap((set, k) =>
    plan.kind[k] === "tensor" && (sets[set] ?? []).some((row) => rows.has(row))
      ? [{ first: plan.first[k], last: plan.last[k], offset: plan.offset[k], size: plan.size[k] }]
      : []) ?? [];
  return { source, readers, type, bytes: bytesOf(type), range, lives };
}
