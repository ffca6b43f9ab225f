// This session beside another: a headline, the first step that differs, and layers, the largest difference first.

import { perProgram, sentence } from "whence/data/program";
import { RowTable } from "whence/data/table";
import { short } from "whence/data/words";
import { openDifference } from "whence/diff/open";
import { h } from "whence/dom";
import { count } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/document").ComparedLayer} Layer */
/** @typedef {import("whence/document").Comparison} Comparison */
/** @typedef {import("whence/document").Departure} Departure */

const UNITS = /** @type {const} */ ([[1, "s"], [1e3, "ms"], [1e6, "µs"]]);

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
      parts: ({ comparison: shown }) => [
        sentence(shown.headline, { class: "data-facts headline", "data-test": "compare-headline" }),
        ...(shown.doubt ? [sentence(shown.doubt, { "data-test": "compare-doubt" })] : []),
        sentence(facts(app, shown), { "data-test": "compare-facts" }),
        ...(shown.departure ? [{ element: departure(app, shown.departure) }] : []),
        table(app, shown),
      ],
    });
  },
};

/** @param {{model: string, target: string, opt_level: number, cpu: string, whence: string}} made */
function origin({ model, target, opt_level: level, cpu, whence }) {
  return `${model} at level ${level} for ${target} on ${cpu}, whence ${whence}`;
}

/** @param {App} app @param {Comparison} comparison */
function facts(app, { other, layers }) {
  const alone = layers.filter(({ first, second }) => first < 0 || second < 0).length;
  return `This: ${origin(app.model.document.made_by)}. Other: ${origin(other)}.${alone > 0 ? ` ${count(alone, "layer")} in one of them only.` : ""}`;
}

/** The first step that differs, with a link to what it changed. @param {App} app @param {Departure} first */
function departure(app, { name, level, side, about, layer, stage, here, there }) {
  const before = app.model.document.stages[stage]?.before ?? -1;
  const show = () => (side !== "there" && before >= 0 ? openDifference(app, before, stage) : app.open(stage));
  const step = h("button", { type: "button", class: "link", "data-test": "departure", disabled: stage < 0, onclick: show }, `${level} ${name}`);
  const owner = layer >= 0 && h("button", { type: "button", class: "link", onclick: () => app.pin([layer]) }, app.model.layerName(layer));
  const lines = [here.map((line) => `here   ${line.trim()}`), there.map((line) => `there  ${line.trim()}`)].flat();
  return h("div", { class: "data-facts departure" }, h("p", {}, "First difference: ", step, ` ${about}`, owner && ", layer ", owner, "."), h("pre", {}, lines.join("\n")));
}

/** @param {readonly number[]} pair */
function gap([here = -1, there = -1]) {
  return here < 0 && there < 0 ? 0 : Math.max(here, 0) - Math.max(there, 0);
}

/** @param {App} app @param {Comparison} comparison */
function table(app, { layers }) {
  const longest = layers.reduce((most, { seconds }) => Math.max(most, ...seconds), -1);
  const [scale, unit] = UNITS.find(([per]) => longest * per >= 1) ?? UNITS[2];
  /** @type {(seconds: number) => string} */
  const time = (seconds) => (seconds < 0 ? "" : (seconds * scale).toFixed(3));
  /** @type {(number: number) => string} */
  const whole = (number) => (number < 0 ? "" : number.toLocaleString("en"));
  /** @type {(value: number, text: string) => import("whence/dom").Child} */
  const signed = (value, text) => h("span", { class: value > 0 ? "worse" : value < 0 ? "better" : "dim" }, `${value > 0 ? "+" : value < 0 ? "−" : ""}${text}`);
  /** @type {(title: string, about: string, pick: (row: Layer) => readonly [number, number], text: (value: number) => string) => import("whence/data/table").Column<Layer>[]} */
  const three = (title, about, pick, text) => [
    { title, about: `${about} of this session`, cell: (row) => text(pick(row)[0]), key: (row) => pick(row)[0], number: true },
    { title: "other", about: `${about} of the other session`, cell: (row) => text(pick(row)[1]), key: (row) => pick(row)[1], number: true },
    { title: "±", about: `${about}: this less the other`, cell: (row) => signed(gap(pick(row)), text(Math.abs(gap(pick(row))))), key: (row) => Math.abs(gap(pick(row))), number: true },
  ];
  return new RowTable(app, {
    name: "compare-table",
    caption: longest >= 0 ? "Layers, the largest difference of time first" : "Layers, the largest difference of instructions first",
    rows: layers,
    layers: ({ first }) => (first >= 0 ? [first] : []),
    columns: [
      { title: "layer", cell: ({ name }) => name, key: ({ name }) => name },
      { title: "match", about: "what makes the two one layer", cell: match, key: (row) => String(match(row)) },
      ...(longest < 0 ? [] : three(`time, ${unit}`, "time", ({ seconds }) => seconds, time)),
      ...three("instructions", "instructions", ({ instructions }) => instructions, whole),
      ...three("bytes", "bytes of code", ({ bytes }) => bytes, whole),
      { title: "error", about: "largest difference between values of both", cell: ({ error }) => (error < 0 ? "" : short(error)), key: ({ error }) => error, number: true },
      { title: "code", about: "what is other about its code", cell: ({ reason }) => reason, key: ({ reason }) => reason },
    ],
  });
}

/** @param {Layer} layer */
function match({ first, second, matched }) {
  if (first < 0 || second < 0) return first < 0 ? "only in the other" : "only here";
  return matched === "name" ? "name" : `guessed by ${matched}`;
}
