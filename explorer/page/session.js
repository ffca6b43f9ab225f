// The session document, with what is asked of it often.

import { rowIndex } from "whence/links";
import { Texts } from "whence/texts";

/** @typedef {{offsets: Int32Array, items: Int32Array}} Index */

const NAMES = 2;
const TIR_LEVELS = ["tir", "llvm", "asm"];

export class SessionModel extends Texts {
  /** @type {Index | null} */
  #setsOfLayer = null;
  /** @type {number[][] | null} */
  #callsOfKernel = null;

  /** Layer -> the sets that it is in. */
  setsOfLayer() {
    const { sets, layers } = this.document;
    this.#setsOfLayer ??= rowIndex(sets, layers.name.length);
    return this.#setsOfLayer;
  }

  /**
   * Return the sets that have one of the layers.
   * @param {readonly number[]} rows
   * @returns {Set<number>}
   */
  setsMeeting(rows) {
    const { offsets, items } = this.setsOfLayer();
    const sets = new Set();
    for (const row of rows) for (let at = offsets[row] ?? 0; at < (offsets[row + 1] ?? 0); at++) sets.add(items[at]);
    return sets;
  }

  /** @param {number} call @returns {readonly number[]} */
  layersOfCall(call) {
    const { calls, sets } = this.document;
    return sets[calls[call]?.set ?? 0] ?? [];
  }

  /** @param {number} kernel */
  callsOf(kernel) {
    if (!this.#callsOfKernel) {
      const lists = this.document.kernels.map(() => /** @type {number[]} */ ([]));
      this.document.calls.forEach((call, number) => lists[call.kernel]?.push(number));
      this.#callsOfKernel = lists;
    }
    return this.#callsOfKernel[kernel] ?? [];
  }

  /**
   * Return the layers that a value of the column `set` of a stage stands for, in one call or in all.
   * @param {number} stage
   * @param {number} value
   * @param {number} call
   * @returns {number[]}
   */
  layersOfValue(stage, value, call = -1) {
    const { sets, kernels, calls } = this.document;
    if (value < 0) return [];
    const { kernel } = this.stageRow(stage);
    if (kernel < 0) return sets[value] ?? [];
    const slots = kernels[kernel]?.slots[value] ?? [];
    const rows = new Set();
    for (const one of call < 0 ? this.callsOf(kernel) : [call]) {
      for (const slot of slots) for (const row of sets[calls[one]?.layers[slot] ?? 0] ?? []) rows.add(row);
    }
    return [...rows].sort((a, b) => a - b);
  }

  /**
   * Return the layers of a line (from 0) of a stage whose columns are there.
   * @param {number} stage
   * @param {number} line
   * @param {number} call
   */
  layersOfLine(stage, line, call = -1) {
    return this.layersOfValue(stage, this.links(stage)?.columns.set[line] ?? -1, call);
  }

  /**
   * Return the values of the column `set` of a stage that stand for one of the layers.
   * @param {number} stage
   * @param {readonly number[]} rows
   * @param {number} call
   * @returns {number[]}
   */
  valuesMeeting(stage, rows, call = -1) {
    const meeting = this.setsMeeting(rows);
    const { kernel } = this.stageRow(stage);
    if (kernel < 0) return [...meeting];
    const { kernels, calls } = this.document;
    const slots = new Set();
    for (const one of call < 0 ? this.callsOf(kernel) : [call]) {
      calls[one]?.layers.forEach((set, slot) => meeting.has(set) && slots.add(slot));
    }
    return (kernels[kernel]?.slots ?? []).flatMap((list, value) =>
      list.some((slot) => slots.has(slot)) ? [value] : [],
    );
  }

  /**
   * Return the line of the kernel's last tir stage that a line (from 0) belongs to, from 1; 0 for none.
   * @param {number} stage
   * @param {number} line
   */
  tirLine(stage, line) {
    if (this.isLastTir(stage)) return line + 1;
    return this.links(stage)?.columns.tir[line] ?? 0;
  }

  /** @param {number} stage */
  isLastTir(stage) {
    const { level, kernel } = this.stageRow(stage);
    return level === "tir" && kernel >= 0 && this.lastStage("tir", kernel) === stage;
  }

  /**
   * Return whether the lines of a stage are linked to lines of tir.
   * @param {number} stage
   */
  hasTirLines(stage) {
    const { level } = this.stageRow(stage);
    return TIR_LEVELS.includes(level) && (this.isLastTir(stage) || (this.links(stage)?.columns.tir.length ?? 0) > 0);
  }

  /**
   * Return the stages of a level: of a kernel, or of a program as a whole for kernel -1.
   * @param {string} level
   * @param {number} kernel
   * @param {number} program
   * @returns {number[]}
   */
  stagesOf(level, kernel, program = 0) {
    const { stages } = this.document;
    if (kernel >= 0)
      return (this.document.kernels[kernel]?.stages ?? []).filter((stage) => stages[stage]?.level === level);
    return stages.flatMap((stage, number) =>
      stage.level === level && stage.kernel < 0 && (stage.program < 0 || stage.program === program) ? [number] : [],
    );
  }

  /**
   * Return the last stage of a level; -1 where there is none.
   * @param {string} level
   * @param {number} kernel
   * @param {number} program
   */
  lastStage(level, kernel, program = 0) {
    return this.stagesOf(level, kernel, program).at(-1) ?? -1;
  }

  /** @param {number} row */
  layerName(row) {
    return this.document.layers.name[row] || `layer ${row}`;
  }

  /**
   * Return a short text for layers: `conv1, bn1 and 3 more`.
   * @param {readonly number[]} rows
   * @param {string} none
   */
  label(rows, none = "no layer") {
    if (rows.length === 0) return none;
    const names = rows
      .slice(0, NAMES)
      .map((row) => this.layerName(row))
      .join(", ");
    return rows.length > NAMES ? `${names} and ${rows.length - NAMES} more` : names;
  }

  /**
   * Return the passes that lost what layers should have said: the names of rows of kind lost.
   * @param {readonly number[]} rows
   */
  losers(rows) {
    const { kind, name } = this.document.layers;
    return rows.filter((row) => kind[row] === "lost").map((row) => name[row] ?? "");
  }
}
