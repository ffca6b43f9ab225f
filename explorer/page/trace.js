// The trace of a pin: what serves its layers at each level, from the model to machine code and time.

import { kin } from "whence/links";
import { programCalls } from "whence/heat";

/** @typedef {import("whence/session").SessionModel} SessionModel */
/** @typedef {import("whence/types").Mark} Mark */

/**
 * @typedef {object} Step
 * @property {string} level
 * @property {number} stage
 * @property {number} call
 * @property {number} count lines
 * @property {number} line the first, from 0; -1 for none
 * @property {string[]} names names of ops, or of what the lines say
 * @property {number} inferred the number of lines whose link is not exact
 */

const KERNEL_LEVELS = ["te", "schedule", "tir", "llvm", "asm"];
const LOOP = /^\s*(?:for\b|.*\bscf\.for\b|.*\bfor \w+ in\b|.*tir\.for\b)/;

/**
 * Return the calls of a program that serve layers, in order.
 * @param {SessionModel} model
 * @param {readonly number[]} rows
 * @param {number} program
 */
export function callsServing(model, rows, program) {
  const meeting = model.setsMeeting(rows);
  const { calls } = model.document;
  return programCalls(model, program).filter((number) => {
    const call = calls[number];
    return call && (meeting.has(call.set) || call.layers.some((set) => meeting.has(set)));
  });
}

/**
 * Return what serves a mark in the model and in relay.
 * @param {SessionModel} model
 * @param {Mark} mark
 * @param {number} program
 * @returns {Promise<Step[]>}
 */
export async function traceProgram(model, mark, program) {
  const source = model.document.layers.source[mark.rows[0] ?? -1] ?? 0;
  const stages = [model.document.sources[source]?.stage ?? -1, model.lastStage("relay", -1, program)];
  return Promise.all(stages.filter((stage) => stage >= 0).map((stage) => step(model, mark, stage, -1)));
}

/**
 * Return what serves a mark in the kernel of a call, level by level.
 * @param {SessionModel} model
 * @param {Mark} mark
 * @param {number} call
 * @returns {Promise<Step[]>}
 */
export async function traceCall(model, mark, call) {
  const kernel = model.document.calls[call]?.kernel ?? -1;
  const stages = KERNEL_LEVELS.map((level) => model.lastStage(level, kernel)).filter((stage) => stage >= 0);
  return Promise.all(stages.map((stage) => step(model, mark, stage, call)));
}

/**
 * Return the loops of tir around and in the lines of a mark: the lines that begin one.
 * @param {SessionModel} model
 * @param {Mark} mark
 * @param {Step} tir
 * @returns {Promise<number[]>} lines, from 0
 */
export async function loopsOf(model, mark, tir) {
  const { lines } = await model.stage(tir.stage);
  const own = kin(model, mark, tir.stage, tir.call).lines();
  return [...own].filter((line) => LOOP.test(lines[line] ?? ""));
}

/**
 * Return the seconds of layers in a run of a program, or in one call of it; -1 where nothing was measured.
 * @param {SessionModel} model
 * @param {readonly number[]} rows
 * @param {number} program
 * @param {number} call or -1
 */
export function secondsOf(model, rows, program, call = -1) {
  const times = model.document.times.find((candidate) => candidate.program === program);
  if (!times) return -1;
  const parts = call < 0 ? times.layers : (times.parts[programCalls(model, program).indexOf(call)] ?? []);
  const wanted = new Set(rows);
  return parts.reduce((sum, [row, seconds]) => (wanted.has(row) ? sum + seconds : sum), 0);
}

/**
 * @param {SessionModel} model
 * @param {Mark} mark
 * @param {number} stage
 * @param {number} call
 * @returns {Promise<Step>}
 */
async function step(model, mark, stage, call) {
  const columns = await model.columns(stage);
  const lines = kin(model, mark, stage, call).lines();
  const { name } = model.document.ops;
  const names = new Set();
  let inferred = 0;
  for (const line of lines) {
    const op = columns.op[line] ?? -1;
    if (op >= 0) names.add(name[op]);
    if (columns.exact.length > 0 && columns.exact[line] === 0) inferred += 1;
  }
  return {
    level: model.stageRow(stage).level,
    stage,
    call,
    count: lines.length,
    line: lines[0] ?? -1,
    names: [...names],
    inferred,
  };
}
