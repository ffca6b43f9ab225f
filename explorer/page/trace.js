// The trace of a pin: what serves its layers at each level, from the model to machine code and time.

import { programCalls } from "whence/heat";
import { kin } from "whence/links";
import { lineOf, loopAround, loopsIn, stageOf } from "whence/navigate";

/** @typedef {import("whence/session").SessionModel} SessionModel */
/** @typedef {import("whence/types").Mark} Mark */

/**
 * @typedef {object} Step
 * @property {string} level
 * @property {number} stage
 * @property {number} call
 * @property {number} count lines
 * @property {number} line the one to begin at, from 0; -1 for none
 * @property {string[]} names names of ops, or of what the lines say
 * @property {number} inferred the number of lines whose link is not exact
 */

/**
 * Return what serves a mark at some levels; below relay in the kernel of a call.
 * @param {SessionModel} model
 * @param {Mark} mark
 * @param {readonly string[]} levels
 * @param {number} program
 * @param {number} call
 * @returns {Promise<Step[]>}
 */
export async function trace(model, mark, levels, program, call) {
  const stages = levels.map((level) => stageOf(model, mark, level, program, call)).filter((stage) => stage >= 0);
  return Promise.all(stages.map((stage) => step(model, mark, stage, model.stageRow(stage).kernel < 0 ? -1 : call)));
}

/**
 * Return how many loops of tir are around and in the lines of a mark, and the line of the innermost to begin at.
 * @param {SessionModel} model
 * @param {Mark} mark
 * @param {Step} tir
 */
export async function loopsOf(model, mark, tir) {
  const { lines } = await model.stage(tir.stage);
  const loops = loopsIn(lines, kin(model, mark, tir.stage, tir.call).lines());
  const around = loopAround(lines, tir.line);
  return { count: loops.length, line: loops.includes(around) ? around : (loops[0] ?? -1) };
}

/**
 * Return the seconds of layers in a run of a program, or in one call of it, and those of the run or the call; null
 * where nothing was measured.
 * @param {SessionModel} model
 * @param {readonly number[]} rows
 * @param {number} program
 * @param {number} call or -1
 */
export function secondsOf(model, rows, program, call = -1) {
  const times = model.document.times.find((candidate) => candidate.program === program);
  if (!times) return null;
  const position = programCalls(model, program).indexOf(call);
  const parts = call < 0 ? times.layers : (times.parts[position] ?? []);
  const wanted = new Set(rows);
  const part = parts.reduce((sum, [row, seconds]) => (wanted.has(row) ? sum + seconds : sum), 0);
  return { part, all: call < 0 ? times.calls.reduce((sum, seconds) => sum + seconds, 0) : (times.calls[position] ?? 0) };
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
    line: lineOf(model, mark, stage, call),
    names: [...names],
    inferred,
  };
}
