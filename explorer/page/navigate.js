// Where to go: the calls that serve a mark, the stage and line of each level to begin at, and how far to scroll.

import { columnIndex, kin } from "whence/links";
import { isFrameOp } from "whence/words";

/** @typedef {import("whence/session").SessionModel} SessionModel */
/** @typedef {import("whence/types").At} At */
/** @typedef {import("whence/types").Mark} Mark */
/** @typedef {{level: string, stage: number, call: number, line: number}} Destination a line from 0; -1 for none */

export const KERNEL_LEVELS = /** @type {const} */ (["te", "schedule", "tir", "llvm", "asm"]);
const LOOP = /^\s*(?:for\b|.*\bscf\.for\b|.*\bfor \w+ in\b|.*tir\.for\b)/;
const MARGIN = 0.3;

/** @type {WeakMap<SessionModel, import("whence/links").Index>} */
const indexes = new WeakMap();

/** The rows of `Session.leads` about a layer. @param {SessionModel} model @param {number} row */
function leadsOf(model, row) {
  const { layer } = model.document.leads;
  const { offsets, items } = indexes.get(model) ?? columnIndex(Int32Array.from(layer));
  indexes.set(model, { offsets, items });
  return items.subarray(offsets[row] ?? 0, offsets[row + 1] ?? 0);
}

/**
 * Return the calls of a program that serve layers, those with most of them first; where it has none, those of others.
 * @param {SessionModel} model
 * @param {readonly number[]} rows
 * @param {number} program
 * @returns {number[]}
 */
export function servingCalls(model, rows, program) {
  const { leads, calls } = model.document;
  const weights = new Map();
  for (const row of rows) {
    for (const lead of leadsOf(model, row)) {
      const call = leads.call[lead] ?? -1;
      weights.set(call, (weights.get(call) ?? 0) + (leads.weight[lead] ?? 0));
    }
  }
  const all = [...weights].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([call]) => call);
  const own = all.filter((call) => calls[call]?.program === program);
  return own.length > 0 ? own : all;
}

/**
 * Return the call that a mark leads to: that where it was set, else the one with most of it; -1 for none.
 * @param {SessionModel} model
 * @param {Mark} mark
 * @param {number} program
 */
export function callOf(model, mark, program) {
  const calls = servingCalls(model, mark.rows, program);
  const { at } = mark;
  if (at && at.call >= 0) return at.call;
  const kernel = at ? model.stageRow(at.stage).kernel : -1;
  return calls.find((call) => model.document.calls[call]?.kernel === kernel) ?? calls[0] ?? -1;
}

/**
 * Return where a mark leads at a level. The columns of the stage, where it has some, should be there.
 * @param {SessionModel} model
 * @param {Mark} mark
 * @param {string} level
 * @param {number} program
 * @param {number} [call] another call than `callOf`
 * @returns {Destination}
 */
export function destination(model, mark, level, program, call = callOf(model, mark, program)) {
  const stage = stageOf(model, mark, level, program, call);
  const below = stage >= 0 && model.stageRow(stage).kernel >= 0;
  return { level, stage, call: below ? call : -1, line: stage < 0 ? -1 : lineOf(model, mark, stage, below ? call : -1) };
}

/**
 * Return the last stage of a level that a mark leads to; -1 for none.
 * @param {SessionModel} model
 * @param {Mark} mark
 * @param {string} level
 * @param {number} program
 * @param {number} call
 */
export function stageOf(model, mark, level, program, call) {
  const { calls, layers, sources } = model.document;
  if (level === "model") return sources[layers.source[mark.rows[0] ?? -1] ?? 0]?.stage ?? -1;
  if (level === "relay") return model.lastStage(level, -1, program);
  const kernel = calls[call]?.kernel ?? -1;
  return kernel < 0 ? -1 : model.lastStage(level, kernel);
}

/**
 * Return the line of a stage to begin at for a mark, from 0; -1 for none.
 *
 * It is the marked one itself, else the line that the document leads to, else the one that computes the output of the
 * heaviest layer, else the first that computes it.
 * @param {SessionModel} model
 * @param {Mark} mark
 * @param {number} stage
 * @param {number} call
 */
export function lineOf(model, mark, stage, call) {
  const { at, rows } = mark;
  if (at?.stage === stage && at.line >= 0) return at.line;
  const { level, kernel } = model.stageRow(stage);
  const within = at !== null && at.tir > 0 && model.stageRow(at.stage).kernel === kernel && model.hasTirLines(stage);
  if (within || rows.length === 0) return hottest(model, stage, call, kin(model, mark, stage, call).lines());
  const weights = new Map(rows.map((row) => [row, weightOf(model, row, call)]));
  const heaviest = [...rows].sort((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0));
  if (kernel >= 0) {
    const line = ledTo(model, heaviest, stage, call >= 0 ? call : callOf(model, mark, model.stageRow(stage).program));
    if (line >= 0) return line;
  }
  const links = model.links(stage);
  for (const row of links ? heaviest : []) {
    const lines = kin(model, { rows: [row], label: "", at: null }, stage, call).lines();
    if (lines.length === 0 || !links) continue;
    const { outputs, op } = links.columns;
    const { name } = model.document.ops;
    const output = lines.findLast((line) => outputs.get(line)?.includes(row));
    return output ?? lines.find((line) => (op[line] ?? -1) >= 0 && !isFrameOp(name[op[line] ?? -1] ?? "")) ?? lines[0] ?? -1;
  }
  return level === "model" ? (kin(model, mark, stage, call).lines()[0] ?? -1) : -1;
}

/**
 * The line of a kernel's stage that a document leads to; of an earlier stage of a level the one with the same op.
 * @param {SessionModel} model
 * @param {readonly number[]} rows
 * @param {number} stage
 * @param {number} call
 */
function ledTo(model, rows, stage, call) {
  const { leads, calls } = model.document;
  const { level, kernel } = model.stageRow(stage);
  if (calls[call]?.kernel !== kernel) return -1;
  const known = KERNEL_LEVELS.find((candidate) => candidate === level);
  for (const row of rows) {
    const lead = leadsOf(model, row).find((candidate) => leads.call[candidate] === call) ?? -1;
    const line = (known ? (leads[known][lead] ?? 0) : 0) - 1;
    const last = model.lastStage(level, kernel);
    if (line < 0 || last === stage) {
      if (line >= 0) return line;
      continue;
    }
    const op = model.links(last)?.columns.op[line] ?? -1;
    const same = op < 0 ? -1 : (model.links(stage)?.columns.op.indexOf(op) ?? -1);
    if (same >= 0) return same;
  }
  return -1;
}

/** How much there is of a layer in a call, or in all. @param {SessionModel} model @param {number} row @param {number} call */
function weightOf(model, row, call) {
  const { leads } = model.document;
  return leadsOf(model, row).reduce((sum, lead) => sum + (call < 0 || leads.call[lead] === call ? (leads.weight[lead] ?? 0) : 0), 0);
}

/**
 * The line with most samples, else the first; -1 where there are none.
 * @param {SessionModel} model
 * @param {number} stage
 * @param {number} call
 * @param {Int32Array} lines ascending
 */
function hottest(model, stage, call, lines) {
  const samples = new Map();
  for (const of of model.document.times.flatMap((run) => run.lines)) {
    if (of.stage === stage && (call < 0 || of.call === call))
      of.line.forEach((line, position) => samples.set(line - 1, (samples.get(line - 1) ?? 0) + (of.samples[position] ?? 0)));
  }
  return lines.reduce((best, line) => (best < 0 || (samples.get(line) ?? 0) > (samples.get(best) ?? 0) ? line : best), -1);
}

/**
 * Return where a call is, as pins keep it: the line of tir that layers lead to in it; null where it has no tir.
 * @param {SessionModel} model
 * @param {number} call
 * @param {readonly number[]} [rows] by default all of its layers
 * @returns {At | null}
 */
export function positionOf(model, call, rows = model.layersOfCall(call)) {
  const kernel = model.document.calls[call]?.kernel ?? -1;
  const stage = kernel < 0 ? -1 : model.lastStage("tir", kernel);
  if (stage < 0) return null;
  const line = lineOf(model, { rows: [...rows], label: "", at: null }, stage, call);
  return { stage, line: Math.max(0, line), call, tir: 0 };
}

/**
 * Return the call of a kernel with most of its layers; -1 for none.
 * @param {SessionModel} model
 * @param {number} kernel
 */
export function heaviestCall(model, kernel) {
  const calls = model.callsOf(kernel);
  const rows = new Set(calls.flatMap((call) => [...model.layersOfCall(call)]));
  return servingCalls(model, [...rows], model.document.kernels[kernel]?.program ?? 0).find((call) => calls.includes(call)) ?? -1;
}

/**
 * Return the schedule of the kernel of a call; -1 for none.
 * @param {SessionModel} model
 * @param {number} call
 */
export function scheduleOf({ document: { calls, kernels } }, call) {
  return kernels[calls[call]?.kernel ?? -1]?.schedule ?? -1;
}

/**
 * Return the lines that begin a loop.
 * @param {readonly string[]} text
 * @param {Iterable<number>} lines
 */
export function loopsIn(text, lines) {
  return [...lines].filter((line) => LOOP.test(text[line] ?? ""));
}

/**
 * Return the line of the innermost loop around a line, itself where it begins one; -1 for none.
 * @param {readonly string[]} text
 * @param {number} line
 */
export function loopAround(text, line) {
  const depth = (/** @type {number} */ at) => (text[at] ?? "").search(/\S/);
  let least = depth(line) + 1;
  for (let at = line; at >= 0; at--) {
    if (depth(at) < 0 || depth(at) >= least) continue;
    if (LOOP.test(text[at] ?? "")) return at;
    least = Math.max(depth(at), 1);
  }
  return -1;
}

/**
 * Return where a view has to begin to have a target wholly in it: where it begins now if it has, else so near that
 * the target is inside by a margin; one that is larger than the view stands at its begin.
 * @param {readonly [number, number]} target begin and end
 * @param {readonly [number, number]} view begin and size
 */
export function reveal([from, to], [start, size]) {
  if (from >= start && to <= start + size) return start;
  const margin = Math.min(size * MARGIN, Math.max(0, (size - (to - from)) / 2));
  return from < start || to - from > size ? from - margin : to + margin - size;
}
