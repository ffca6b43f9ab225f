// This session beside another, layer by layer, the largest difference first.

import { perProgram, sentence } from "whence/data/program";
import { RowTable } from "whence/data/table";
import { short } from "whence/data/words";
import { h } from "whence/dom";
import { count, duration } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/document").ComparedLayer} Layer */
/** @typedef {import("whence/document").Comparison} Comparison */

/** @type {import("whence/types").Dock} */
export const compareDock = {
  id: "compare",
  title: "Compare",
  enabled: (app) => app.model.document.comparison !== null,
  create(app, element) {
    const { comparison } = app.model.document;
    const items = comparison ? [{ program: -1, comparison }] : [];
    return perProgram(app, element, {
      name: "compare",
      items,
      parts: (item) => [sentence(facts(app, item.comparison), { "data-test": "compare-facts" }), table(app, item.comparison)],
    });
  },
};

/** @param {{model: string, target: string, opt_level: number, cpu: string, whence: string}} made */
function origin({ model, target, opt_level: level, cpu, whence }) {
  return `${model} at level ${level} for ${target} on ${cpu}, whence ${whence}`;
}

/**
 * @param {App} app
 * @param {Comparison} comparison
 */
function facts(app, { other, layers }) {
  const totals = [0, 1].map((side) => layers.reduce((sum, { seconds }) => sum + Math.max(0, seconds[side] ?? 0), 0));
  const alone = layers.filter(({ first, second }) => first < 0 || second < 0).length;
  const [a = 0, b = 0] = totals;
  const timed = a > 0 && b > 0 ? ` Layers take ${duration(a)} in A and ${duration(b)} in B, ${(b / a).toFixed(2)} times as long.` : "";
  return `A: ${origin(app.model.document.made_by)}. B: ${origin(other)}.${timed}${alone > 0 ? ` ${count(alone, "layer")} in one of them only.` : ""}`;
}

/** @param {readonly number[]} pair */
function gap([a = -1, b = -1]) {
  return a < 0 && b < 0 ? 0 : Math.max(b, 0) - Math.max(a, 0);
}

/**
 * @param {App} app
 * @param {Comparison} comparison
 */
function table(app, { layers }) {
  const timed = layers.some(({ seconds: [a, b] }) => a >= 0 || b >= 0);
  /** @type {(seconds: number) => string} */
  const time = (seconds) => (seconds < 0 ? "" : duration(seconds));
  /** @type {(number: number) => string} */
  const whole = (number) => (number < 0 ? "" : number.toLocaleString("en"));
  /** @type {(value: number, text: string) => import("whence/dom").Child} */
  const signed = (value, text) => h("span", { class: value > 0 ? "worse" : value < 0 ? "better" : "dim" }, `${value > 0 ? "+" : value < 0 ? "−" : ""}${text}`);
  /** @type {import("whence/data/table").Column<Layer>[]} */
  const columns = [
    {
      title: "layer",
      cell: ({ name, first, second }) => [name, first < 0 ? h("em", {}, " only in B") : second < 0 ? h("em", {}, " only in A") : null],
      key: ({ name }) => name,
    },
  ];
  if (timed) {
    columns.push(
      { title: "time A", cell: ({ seconds }) => time(seconds[0]), key: ({ seconds }) => seconds[0], number: true },
      { title: "time B", cell: ({ seconds }) => time(seconds[1]), key: ({ seconds }) => seconds[1], number: true },
      { title: "difference", cell: ({ seconds }) => signed(gap(seconds), duration(Math.abs(gap(seconds)))), key: ({ seconds }) => Math.abs(gap(seconds)), number: true },
      { title: "ratio", cell: ({ seconds: [a, b] }) => (a > 0 && b > 0 ? `${(b / a).toFixed(2)} ×` : ""), key: ({ seconds: [a, b] }) => (a > 0 && b > 0 ? b / a : 0), number: true },
    );
  }
  columns.push(
    { title: "instructions A", cell: (row) => whole(row.instructions[0]), key: (row) => row.instructions[0], number: true },
    { title: "B", about: "instructions in B", cell: (row) => whole(row.instructions[1]), key: (row) => row.instructions[1], number: true },
    { title: "more", about: "instructions in B less those in A", cell: (row) => signed(gap(row.instructions), whole(Math.abs(gap(row.instructions)))), key: (row) => Math.abs(gap(row.instructions)), number: true },
    { title: "bytes A", cell: (row) => whole(row.bytes[0]), key: (row) => row.bytes[0], number: true },
    { title: "bytes B", cell: (row) => whole(row.bytes[1]), key: (row) => row.bytes[1], number: true },
    { title: "error", about: "largest difference between values of both", cell: ({ error }) => (error < 0 ? "" : short(error)), key: ({ error }) => error, number: true },
  );
  return new RowTable(app, {
    name: "compare-table",
    caption: timed ? "Layers, the largest difference of time first" : "Layers, the largest difference of instructions first",
    rows: layers,
    layers: ({ first }) => (first >= 0 ? [first] : []),
    columns,
  });
}
