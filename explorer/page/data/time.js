// Where time goes: layers and kernel calls, longest first, with their shares.

import { classOf } from "whence/colours";
import { perProgram, sentence } from "whence/data/program";
import { measurable } from "whence/data/sizes";
import { RowTable, bar } from "whence/data/table";
import { h } from "whence/dom";
import { programCalls } from "whence/heat";
import { count, duration, shortSymbol, some } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/document").Times} Times */

const MOST_PARTS = 6;

/** @type {import("whence/types").Dock} */
export const timeDock = {
  id: "time",
  title: "Time",
  enabled: (app) => measurable(app, app.model.document.times),
  create(app, element) {
    const choice = h(
      "select",
      { "aria-label": "Rows", "data-test": "time-rows", onchange: () => view.show() },
      h("option", { value: "layers" }, "layers"),
      h("option", { value: "calls" }, "kernel calls"),
    );
    const view = perProgram(app, element, {
      name: "time",
      items: app.model.document.times,
      tools: [choice],
      parts: (times) => [sentence(facts(times), { "data-test": "time-total" }), choice.value === "calls" ? calls(app, times) : layers(app, times)],
    });
    return view;
  },
};

/** @param {Times} times */
function facts(times) {
  const total = sum(times.calls);
  const nobody = sum(times.layers.filter(([row]) => row < 0).map(([, seconds]) => seconds));
  const estimated = times.layers.some(([, , part]) => part);
  const parts = [
    `${duration(total)} of CPU time per run, of all threads, in ${count(times.calls.length, "kernel call")}`,
    times.runs > 0 ? `${count(times.runs, "run")} sampled` : "no samples",
  ];
  if (nobody > 0) parts.push(`${duration(nobody)} of no known layer`);
  if (estimated) parts.push("hatched bars: shared out by estimated work, where samples were too few");
  return `${parts.join("; ")}.`;
}

/** @param {readonly number[]} numbers */
function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

/** @param {number} share */
function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

/**
 * @param {App} app
 * @param {Times} times
 */
function layers(app, times) {
  const { model } = app;
  const total = sum(times.calls) || 1;
  /** @type {Map<number, {total: number, calls: number}>} */
  const within = new Map();
  times.parts.forEach((parts, call) => {
    for (const [row] of parts) {
      const known = within.get(row) ?? { total: 0, calls: 0 };
      within.set(row, { total: known.total + (times.calls[call] ?? 0), calls: known.calls + 1 });
    }
  });
  const rows = times.layers.map(([row, self, estimated]) => ({ row, self, estimated, ...(within.get(row) ?? { total: self, calls: 0 }) }));
  rows.sort((a, b) => b.self - a.self);
  const most = Math.max(...rows.map(({ self }) => self), 1e-12);
  return new RowTable(app, {
    name: "time-layers",
    caption: "Time of layers",
    rows,
    layers: ({ row }) => (row >= 0 ? [row] : []),
    columns: [
      {
        title: "layer",
        cell: ({ row }) => nameOf(app, row),
        key: ({ row }) => nameOf(app, row),
      },
      { title: "operator", cell: ({ row }) => model.document.layers.type[row] ?? "", key: ({ row }) => model.document.layers.type[row] ?? "" },
      {
        title: "self",
        about: "its own part of its kernel calls",
        cell: ({ row, self, estimated }) => bar(self / most, duration(self) + (estimated ? " (estimated)" : ""), { hue: row >= 0 ? classOf(row) : "", estimated }),
        key: ({ self }) => self,
      },
      { title: "share", cell: ({ self }) => percent(self / total), key: ({ self }) => self, number: true },
      { title: "total", about: "all of its kernel calls, with the layers fused to it", cell: (row) => duration(row.total), key: (row) => row.total, number: true },
      { title: "calls", cell: (row) => row.calls, key: (row) => row.calls, number: true },
    ],
  });
}

/**
 * @param {App} app
 * @param {Times} times
 */
function calls(app, times) {
  const { document: session } = app.model;
  const total = sum(times.calls) || 1;
  const numbers = programCalls(app.model, times.program);
  /** @type {Map<number, number>} */
  const samples = new Map();
  for (const { call, stage, samples: counts } of times.lines) {
    if (session.stages[stage]?.level === "tir") samples.set(call, sum(counts));
  }
  const rows = numbers.map((number, at) => ({ number, at, seconds: times.calls[at] ?? 0, samples: samples.get(number) ?? 0 }));
  rows.sort((a, b) => b.seconds - a.seconds);
  const most = Math.max(...rows.map(({ seconds }) => seconds), 1e-12);
  /** @type {(number: number) => number[]} */
  const of = (number) => session.sets[session.calls[number]?.set ?? 0] ?? [];
  return new RowTable(app, {
    name: "time-calls",
    caption: "Time of kernel calls",
    rows,
    layers: ({ number }) => of(number),
    call: ({ number }) => number,
    columns: [
      { title: "call", cell: ({ number }) => session.calls[number]?.name ?? "", key: ({ number }) => session.calls[number]?.name ?? "" },
      { title: "kernel", cell: ({ number }) => shortSymbol(session.kernels[session.calls[number]?.kernel ?? -1]?.symbol ?? "") },
      { title: "time", cell: ({ seconds, number }) => bar(seconds / most, duration(seconds), { hue: of(number).length > 0 ? classOf(of(number)[0] ?? 0) : "" }), key: ({ seconds }) => seconds },
      { title: "share", cell: ({ seconds }) => percent(seconds / total), key: ({ seconds }) => seconds, number: true },
      { title: "samples", cell: (row) => row.samples || "", key: (row) => row.samples, number: true },
      { title: "layers, and their parts of it", cell: ({ at }) => shares(app, times.parts[at] ?? [], times.calls[at] ?? 0) },
    ],
  });
}

/**
 * @param {App} app
 * @param {number} row
 */
function nameOf(app, row) {
  return row >= 0 ? app.model.layerName(row) : "no known layer";
}

/**
 * @param {App} app
 * @param {readonly [number, number][]} parts
 * @param {number} seconds
 */
function shares(app, parts, seconds) {
  const sorted = [...parts].sort((a, b) => b[1] - a[1]);
  return some(sorted.map(([row, part]) => `${nameOf(app, row)} ${percent(part / (seconds || 1))}`), MOST_PARTS);
}
