// The film of a schedule: the stages, loops and text of each frame.

import { edited } from "whence/body";
import { once } from "whence/texts";

/** @typedef {import("whence/document").Frame} Frame */
/** @typedef {import("whence/document").NextPrimitive} NextPrimitive */
/** @typedef {import("whence/document").Schedule} Schedule */
/** @typedef {import("whence/document").TreeStage} TreeStage */
/** @typedef {import("whence/types").Api} Api */
/** @typedef {import("whence/types").ScheduleLoops} Loops */

export class Film {
  /** What a server made, by frame. @type {Map<number, Promise<Loops>>} */
  #made = new Map();
  /** @type {Map<number, Promise<{ next: NextPrimitive[] }>>} */
  #next = new Map();
  /** @type {string[][]} */
  #loops = [];

  /**
   * @param {Api} api
   * @param {number} number index into `Session.schedules`
   * @param {Frame[]} frames
   */
  constructor(api, number, frames) {
    this.api = api;
    this.number = number;
    this.frames = frames;
    const schedule = api.head.schedules[number];
    if (!schedule) throw new Error(`the session document has no schedule ${number}`);
    this.schedule = schedule;
    this.lines = schedule.text.split("\n");
    /** The lines before those of the sequence of primitives. */
    this.above = this.lines.slice(0, (frames[0]?.lines ?? 1) - 1);
  }

  /** @param {number} k */
  frame(k) {
    const frame = this.frames[k];
    if (!frame) throw new Error(`the film has no frame ${k}`);
    return frame;
  }

  /** @param {number} k @returns {TreeStage[]} producers first */
  stages(k) {
    return this.frame(k).tree.map((index) => this.schedule.stages[index]).filter((stage) => stage !== undefined);
  }

  /** The text of the sequence up to a frame. @param {number} k */
  sequence(k) {
    return [...this.lines.slice(this.above.length, this.frame(k).lines), "}"].join("\n");
  }

  /** The text of a whole schedule with this sequence. @param {string} sequence */
  whole(sequence) {
    return [...this.above, sequence].join("\n");
  }

  /** The loops of a frame as the document has them; none where it left them out. @param {number} k */
  loops(k) {
    while (this.#loops.length <= k) {
      const before = this.#loops.at(-1) ?? [];
      this.#loops.push(edited(before, this.frame(this.#loops.length).tir));
    }
    return this.#loops[k] ?? [];
  }

  /** True where the document has the loops of a frame, or the reason why there are none. @param {number} k */
  hasLoops(k) {
    return this.frame(k).loaded || this.frame(k).error !== "" || this.loops(k).length > 0;
  }

  /**
   * Return the loops of a frame; what the document left out, a server makes. Null where nobody has them.
   * @param {number} k
   * @returns {Promise<Loops | null>}
   */
  async madeLoops(k) {
    const { scheduleLoops } = this.api;
    if (this.hasLoops(k)) return { tir: this.loops(k), error: this.frame(k).error };
    return scheduleLoops ? once(this.#made, k, () => scheduleLoops(this.number, this.whole(this.sequence(k)))) : null;
  }

  /**
   * Return the primitives that may come after a frame; null where nobody knows them.
   * @param {number} k
   * @returns {Promise<NextPrimitive[] | null>}
   */
  async next(k) {
    const { scheduleNext } = this.api;
    const { loaded, next } = this.frame(k);
    if (loaded) return next;
    return scheduleNext ? (await once(this.#next, k, () => scheduleNext(this.number, this.whole(this.sequence(k))))).next : null;
  }
}
