// The worker that lays graphs out, so that the page answers meanwhile; small graphs are laid out at once.

import { layered } from "whence/graph/layered";

/** @typedef {import("whence/graph/layered").Level} Level */
/** @typedef {import("whence/graph/layered").Placed} Placed */

const SMALL = 400;

/** @type {Worker | null} */
let worker = null;
/** @type {Map<number, {resolve: (placed: Placed[]) => void, reject: (error: Error) => void}>} */
const waiting = new Map();
let tickets = 0;

/**
 * Lay levels out, in a worker where they are large.
 * @param {Level[]} levels
 * @returns {Placed[] | Promise<Placed[]>}
 */
export function lay(levels) {
  if (levels.reduce((sum, level) => sum + level.width.length, 0) <= SMALL) return levels.map(layered);
  worker ??= begin();
  const ticket = ++tickets;
  worker.postMessage({ ticket, levels });
  return new Promise((resolve, reject) => waiting.set(ticket, { resolve, reject }));
}

function begin() {
  const begun = new Worker(import.meta.resolve("whence/graph/layered"), { type: "module" });
  begun.onmessage = ({ data }) => {
    waiting.get(data.ticket)?.resolve(data.placed);
    waiting.delete(data.ticket);
  };
  begun.onerror = (event) => {
    for (const { reject } of waiting.values()) reject(new Error(`the layout failed: ${event.message}`));
    waiting.clear();
  };
  return begun;
}
