// The ledger: which events made an op, and which touched a layer.

import { rowIndex } from "whence/links";

/** @typedef {import("whence/document").Session} Session */
/** @typedef {{offsets: Int32Array, items: Int32Array}} Index */

export class History {
  /** @type {Index} */
  #makers;
  /** @type {Index} */
  #touching;

  /** @param {Session} session */
  constructor(session) {
    const { events, ops, sets } = session;
    this.session = session;
    this.#makers = rowIndex(events.targets, ops.name.length);
    this.#touching = rowIndex(
      events.before.map((set) => [Math.max(set, 0)]),
      sets.length,
    );
  }

  /**
   * Return the events that made an op, and what it was made of, in order.
   *
   * A copy has the history that its original had when it was copied.
   * @param {number} op
   * @returns {number[]}
   */
  ofOp(op) {
    const { events, ops } = this.session;
    /** Op -> the number of events that may have made it. @type {Map<number, number>} */
    const limits = new Map();
    const makers = new Set();
    const waiting = [{ op, limit: events.pass_name.length }];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      if ((limits.get(next.op) ?? -1) >= next.limit) continue;
      limits.set(next.op, next.limit);
      const original = ops.copied_from[next.op] ?? -1;
      if (original >= 0) waiting.push({ op: original, limit: Math.min(next.limit, ops.copied_at[next.op] ?? 0) });
      for (const event of at(this.#makers, next.op)) {
        if (event >= next.limit) continue;
        makers.add(event);
        for (const source of events.sources[event] ?? []) waiting.push({ op: source, limit: event });
      }
    }
    return [...makers].sort((a, b) => a - b);
  }

  /**
   * Return the events that took or changed what served one of the sets' layers, in order.
   * @param {Iterable<number>} sets
   * @returns {number[]}
   */
  touching(sets) {
    const events = new Set();
    for (const set of sets) for (const event of at(this.#touching, set)) events.add(event);
    return [...events].sort((a, b) => a - b);
  }

  /**
   * Return what is new in the layers after an event: where the work of those before it went.
   * @param {number} event
   * @param {readonly number[]} rows layers that are not new
   */
  into(event, rows) {
    const { events, sets } = this.session;
    return (sets[events.after[event] ?? 0] ?? []).filter((row) => !rows.includes(row));
  }
}

/** @param {Index} index @param {number} item */
function at({ offsets, items }, item) {
  return items.subarray(offsets[item] ?? 0, offsets[item + 1] ?? 0);
}
