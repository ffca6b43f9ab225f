// What lies in the arena, over the calls of a run.

import { Plot } from "whence/data/plot";
import { perProgram, sentence } from "whence/data/program";
import { measurable } from "whence/data/sizes";
import { RowTable } from "whence/data/table";
import { roundStep } from "whence/data/timeline";
import { size } from "whence/data/words";
import { count, shortSymbol } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/document").Memory} Memory */

/** @type {import("whence/types").Dock} */
export const memoryDock = {
  id: "memory",
  title: "Memory",
  enabled: (app) => measurable(app, app.model.document.memory),
  create: (app, element) =>
    perProgram(app, element, {
      name: "memory",
      items: app.model.document.memory,
      parts: (memory) => {
        const live = living(memory);
        const peak = live.indexOf(Math.max(...live, 0));
        const facts = `Arena ${size(memory.arena)}, one per concurrent run; most, ${size(live[peak] ?? 0)}, lives at call ${Math.max(peak, 0)}; parameters ${size(memory.parameters)}; the largest workspace of a kernel ${size(memory.workspace)}.`;
        const parts = [sentence(facts, { "data-test": "memory-facts" })];
        return memory.name.length > 0 ? [...parts, new Plot(app, drawing(app, memory, live, peak)), blocks(app, memory)] : parts;
      },
    }),
};

/**
 * Return the bytes that live at each call.
 * @param {Memory} memory
 * @returns {number[]}
 */
export function living(memory) {
  const changes = Array.from({ length: Math.max(0, ...memory.last) + 2 }, () => 0);
  memory.size.forEach((bytes, block) => {
    const [first = 0, last = 0] = [memory.first[block], memory.last[block]];
    changes[first] = (changes[first] ?? 0) + bytes;
    changes[last + 1] = (changes[last + 1] ?? 0) - bytes;
  });
  let live = 0;
  return changes.slice(0, -1).map((change) => (live += change));
}

/**
 * @param {App} app
 * @param {Memory} memory
 * @param {readonly number[]} live
 * @param {number} peak
 * @returns {import("whence/data/plot").Drawing}
 */
function drawing(app, memory, live, peak) {
  const step = roundStep(memory.arena / 4);
  return {
    name: "memory-plot",
    title: "The arena over the calls of a run: what lies where, from when to when",
    boxes: memory.name.map((_, block) => {
      const [offset = 0, bytes = 0] = [memory.offset[block], memory.size[block]];
      const [first = 0, last = 0] = [memory.first[block], memory.last[block]];
      const rows = layersOf(app, memory, block);
      const about = `${memory.kind[block]} of ${size(bytes)} at ${offset}, calls ${first} to ${last}`;
      return { x: first, until: last + 1, y: offset, top: offset + bytes, rows, label: app.model.label(rows, memory.name[block]), about };
    }),
    width: live.length,
    height: memory.arena * 1.06,
    down: false,
    across: (from, until) => {
      const every = Math.max(1, roundStep((until - from) / 10));
      const first = Math.ceil(from / every);
      return Array.from({ length: Math.max(0, Math.ceil(until / every) - first) }, (_, number) => ({ at: (first + number) * every, text: `call ${(first + number) * every}` }));
    },
    along: Array.from({ length: Math.floor(memory.arena / step) + 1 }, (_, number) => ({ at: number * step, text: size(number * step) })),
    spans: peak >= 0 ? [{ x: peak, until: peak + 1, text: `peak: ${size(live[peak] ?? 0)}` }] : [],
    levels: [{ at: memory.arena, text: "arena" }],
  };
}

/**
 * @param {App} app
 * @param {Memory} memory
 * @param {number} block
 */
function layersOf(app, memory, block) {
  return app.model.document.sets[memory.set[block] ?? 0] ?? [];
}

/**
 * @param {App} app
 * @param {Memory} memory
 */
function blocks(app, memory) {
  const rows = memory.name.map((_, block) => block).sort((a, b) => (memory.size[b] ?? 0) - (memory.size[a] ?? 0));
  return new RowTable(app, {
    name: "memory-blocks",
    caption: `${count(rows.length, "block")}, largest first`,
    rows,
    layers: (block) => layersOf(app, memory, block),
    columns: [
      { title: "layers", cell: (block) => app.model.label(layersOf(app, memory, block)), key: (block) => app.model.label(layersOf(app, memory, block)) },
      { title: "node", cell: (block) => shortSymbol(memory.name[block] ?? ""), key: (block) => memory.name[block] ?? "" },
      { title: "kind", cell: (block) => memory.kind[block] ?? "", key: (block) => memory.kind[block] ?? "" },
      { title: "bytes", cell: (block) => memory.size[block] ?? 0, key: (block) => memory.size[block] ?? 0, number: true },
      { title: "offset", cell: (block) => memory.offset[block] ?? 0, key: (block) => memory.offset[block] ?? 0, number: true },
      { title: "calls", cell: (block) => `${memory.first[block]}..${memory.last[block]}`, key: (block) => -(memory.first[block] ?? 0), number: true },
    ],
  });
}
