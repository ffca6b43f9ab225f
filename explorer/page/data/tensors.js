// Values of layers in one run: statistics, histograms, and the first layer that departs from a reference.

import { layerButtons } from "whence/dock/events";
import { perProgram } from "whence/data/program";
import { measurable } from "whence/data/sizes";
import { RowTable } from "whence/data/table";
import { short } from "whence/data/words";
import { h, svg } from "whence/dom";
import { count } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/document").Tensors} Tensors */

const WIDTH = 96;
const HEIGHT = 18;

/** @type {import("whence/types").Dock} */
export const tensorsDock = {
  id: "tensors",
  title: "Tensors",
  enabled: (app) => measurable(app, app.model.document.tensors),
  create: (app, element) =>
    perProgram(app, element, {
      name: "tensors",
      items: app.model.document.tensors,
      parts: (tensors) => [{ element: verdict(app, tensors) }, table(app, tensors)],
    }),
};

/**
 * Return whether a tensor is further from the reference than it may be.
 * @param {Tensors} tensors
 * @param {number} row
 */
function departs(tensors, row) {
  const [error = -1, tolerance = -1] = [tensors.error[row], tensors.tolerance[row]];
  return tolerance >= 0 && error > tolerance;
}

/**
 * Return a difference as text, of a quantised tensor in steps of its scale: `0.5 steps`.
 * @param {Tensors} tensors
 * @param {number} row
 * @param {readonly number[]} values
 */
function gap({ step }, row, values) {
  const [one = 0, value = 0] = [step[row], values[row]];
  return one > 0 ? `${short(value / one)} steps` : short(value);
}

/**
 * @param {App} app
 * @param {Tensors} tensors
 */
function verdict(app, tensors) {
  const first = tensors.name.findIndex((_, row) => departs(tensors, row));
  const bad = tensors.name.findIndex((_, row) => (tensors.nan[row] ?? 0) + (tensors.infinite[row] ?? 0) > 0);
  const about = [];
  if (first >= 0) {
    const numbers = `by ${gap(tensors, first, tensors.error)}, where ${gap(tensors, first, tensors.tolerance)} is allowed`;
    about.push(h("p", { class: "departs", "data-test": "first-departure" }, `First to depart from ${tensors.reference}: `, ...named(app, tensors, first), `, ${numbers}.`));
  } else if (tensors.reference) {
    const compared = tensors.tolerance.filter((tolerance) => tolerance >= 0).length;
    about.push(h("p", { "data-test": "no-departure" }, `No departure from ${tensors.reference} in ${count(compared, "tensor")}.`));
  } else about.push(h("p", { "data-test": "no-reference" }, "Held against no reference: whence explore --reference does that."));
  if (bad >= 0) about.push(h("p", { class: "departs", "data-test": "first-nan" }, "First with NaN or infinity: ", ...named(app, tensors, bad), "."));
  return h("div", { class: "data-facts" }, ...about);
}

/**
 * @param {App} app
 * @param {Tensors} tensors
 * @param {number} row
 */
function named(app, tensors, row) {
  return [...layerButtons(app, [tensors.layer[row] ?? 0]), ` (tensor ${tensors.name[row]})`];
}

/**
 * @param {App} app
 * @param {Tensors} tensors
 */
function table(app, tensors) {
  const rows = tensors.name.map((_, row) => row);
  /**
   * @param {string} title
   * @param {readonly number[]} values
   * @param {(value: number, row: number) => import("whence/dom").Child} [cell]
   */
  const numbers = (title, values, cell = short) => ({
    title,
    cell: (/** @type {number} */ row) => cell(values[row] ?? 0, row),
    key: (/** @type {number} */ row) => values[row] ?? 0,
    number: true,
  });
  const marked = (/** @type {number} */ value) => (value > 0 ? h("strong", { class: "departs" }, count(value, "value")) : "0");
  const known = tensors.reference !== "";
  /** @type {import("whence/data/table").Column<number>[]} */
  const columns = [
    { title: "layer", cell: (row) => app.model.layerName(tensors.layer[row] ?? 0), key: (row) => app.model.layerName(tensors.layer[row] ?? 0) },
    { title: "tensor", cell: (row) => tensors.name[row] ?? "", key: (row) => tensors.name[row] ?? "" },
    { title: "type", cell: (row) => `${tensors.dtype[row]}[${tensors.shape[row]?.join(", ")}]` },
    { title: "values", cell: (row) => histogram(tensors, row) },
    numbers("least", tensors.minimum),
    numbers("largest", tensors.maximum),
    numbers("mean", tensors.mean),
    numbers("NaN", tensors.nan, marked),
    numbers("infinite", tensors.infinite, marked),
  ];
  if (known) {
    columns.push(
      numbers("error", tensors.error, (value, row) => (value < 0 ? "" : departs(tensors, row) ? h("strong", { class: "departs" }, `${gap(tensors, row, tensors.error)} departs`) : gap(tensors, row, tensors.error))),
      numbers("allowed", tensors.tolerance, (value, row) => (value < 0 ? "" : gap(tensors, row, tensors.tolerance))),
    );
  }
  return new RowTable(app, {
    name: "tensors-table",
    caption: "Values of layers in one run, in the order in which they are computed",
    rows,
    layers: (row) => [tensors.layer[row] ?? 0],
    kind: (row) => (departs(tensors, row) ? "departing" : ""),
    columns,
  });
}

/**
 * @param {Tensors} tensors
 * @param {number} row
 */
function histogram(tensors, row) {
  const counts = tensors.histogram[row] ?? [];
  const most = Math.max(...counts, 1);
  const width = WIDTH / Math.max(1, counts.length);
  const fullest = counts.indexOf(Math.max(...counts, 0));
  const [low = 0, high = 0] = [tensors.minimum[row], tensors.maximum[row]];
  const about = `histogram from ${short(low)} to ${short(high)}, most near ${short(low + ((fullest + 0.5) / counts.length) * (high - low))}`;
  const bars = counts.map((number, bin) => {
    const tall = number > 0 ? Math.max(1, (number / most) * HEIGHT) : 0;
    return svg("rect", { x: bin * width, y: HEIGHT - tall, width: Math.max(0.5, width - 0.5), height: tall });
  });
  return svg("svg", { class: "histogram", role: "img", "aria-label": about, width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` }, svg("title", {}, about), ...bars);
}
