// The rows of a stage as pictures and texts show them, and what differs between two frames.

import { aligned } from "whence/film/align";

/** @typedef {import("whence/document").LoopRow} LoopRow */
/** @typedef {import("whence/document").TreeStage} TreeStage */
/** @typedef {{text: string, note: string, type: string, loop: LoopRow | null}} Row */
/** @typedef {import("whence/film/align").Signed<Row>} SignedRow */
/**
 * A stage of one frame, or of two. `change`: how it differs; `head` and `rows` have the parts of both.
 * @typedef {{label: string, stage: TreeStage, change: "" | "new" | "gone" | "changed" | "was", head: SignedRow[], rows: SignedRow[]}} ShownStage
 */

/** TVM's types of iteration variables, and their colours in TEDD's drawings. @type {[string, string][]} */
export const ITERATION_TYPES = [
  ["kDataPar", "#ffffff"],
  ["kThreadIndex", "#2980b9"],
  ["kCommReduce", "#fad7a0"],
  ["kOrdered", "#d35400"],
  ["kOpaque", "#abb2b9"],
  ["kUnrolled", "#d2b4de"],
  ["kVectorized", "#aed6f1"],
  ["kParallelized", "#f5b7b1"],
  ["kTensorized", "#a9dfbf"],
];

/** @param {string} type */
export function colourOf(type) {
  return ITERATION_TYPES.find(([name]) => name === type)?.[1] ?? "#ffffff";
}

/** What a loop is marked with. @param {LoopRow} loop */
export function marksOf(loop) {
  const inside = loop.computes.length > 0 ? [`computes ${loop.computes.join(", ")}`] : [];
  return [...(loop.kind === "serial" ? [] : [loop.kind]), ...loop.notes, ...inside].join(", ");
}

/** @param {TreeStage} stage @returns {Row[]} */
function headRows(stage) {
  const told = [`scope: ${stage.scope}`, ...(stage.place === "root" ? [] : [stage.place]), ...(stage.storage ? [stage.storage] : [])];
  return told.map((text) => ({ text, note: "", type: "", loop: null }));
}

/** @param {TreeStage} stage @returns {Row[]} */
function bodyRows(stage) {
  const loops = stage.loops.map((loop) => {
    const extent = stage.place === "inlined" ? "no loop" : `range(${loop.extent})`;
    const inside = loop.computes.length > 0 ? [`computes ${loop.computes.join(", ")}`] : [];
    return { text: loop.name, note: [loop.type, extent, ...loop.notes, ...inside].join(" · "), type: loop.type, loop };
  });
  return [...loops, ...stage.compute.map((text) => ({ text, note: "", type: "", loop: null }))];
}

/** @param {Row} row */
const key = (row) => `${row.text}\n${row.note}`;

/** The stages of one frame, with no differences. @param {TreeStage[]} stages @returns {ShownStage[]} */
export function plainStages(stages) {
  return stages.map((stage) => shown(stage, stage, ""));
}

/**
 * Return the stages of a frame, each row with its sign against another frame; those that are gone come last.
 * @param {TreeStage[]} before
 * @param {TreeStage[]} after
 * @returns {ShownStage[]}
 */
export function comparedStages(before, after) {
  const old = new Map(before.map((stage) => [stage.label, stage]));
  const result = after.map((stage) => {
    const earlier = old.get(stage.label);
    old.delete(stage.label);
    return shown(earlier, stage, earlier ? (earlier === stage ? "" : "changed") : "new");
  });
  return [...result, ...[...old.values()].map((stage) => shown(stage, undefined, "gone"))];
}

/**
 * @param {TreeStage | undefined} before
 * @param {TreeStage | undefined} after
 * @param {ShownStage["change"]} change
 * @returns {ShownStage}
 */
function shown(before, after, change) {
  const stage = /** @type {TreeStage} */ (after ?? before);
  return {
    label: stage.label,
    stage,
    change,
    head: aligned(before ? headRows(before) : [], after ? headRows(after) : [], key),
    rows: aligned(before ? bodyRows(before) : [], after ? bodyRows(after) : [], key),
  };
}

/**
 * Return one side of compared stages: the rows that are there, with the signs of those that differ.
 * @param {ShownStage[]} stages
 * @param {"-" | "+"} sign
 * @returns {ShownStage[]}
 */
export function sideOf(stages, sign) {
  const here = stages.filter((stage) => stage.change !== (sign === "-" ? "new" : "gone"));
  /** @param {SignedRow[]} rows */
  const own = (rows) => rows.filter((row) => row.sign === " " || row.sign === sign);
  /** @param {ShownStage["change"]} change */
  const seen = (change) => (change === "changed" && sign === "-" ? "was" : change);
  return here.map((stage) => ({ ...stage, change: seen(stage.change), head: own(stage.head), rows: own(stage.rows) }));
}
