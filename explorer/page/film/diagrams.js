// TEDD's other two diagrams: which stage reads which tensor, and how iteration variables were made from axes.

import { svg } from "whence/dom";
import { box, fitted, heightOf, picture, text, WIDTH } from "whence/film/boxes";
import { colourOf } from "whence/film/rows";
import { layered } from "whence/graph/layered";

/** @typedef {import("whence/document").TreeStage} TreeStage */
/** @typedef {import("whence/film/boxes").Place} Place */
/** @typedef {{width: number, height: number, draw: (place: Place) => Element}} Shape */

const MARGIN = 16;
const TITLE = 22;

/**
 * Return the dataflow graph: stages, and between them the tensors that one computes and others read.
 * @param {TreeStage[]} stages
 * @param {[string, string][]} inputs names and types of the function's arguments
 */
export function dataflow(stages, inputs) {
  /** @type {Shape[]} */
  const shapes = [];
  /** @type {[number, number][]} */
  const edges = [];
  /** @type {Map<string, number>} */
  const tensors = new Map();
  /** @param {string} name @param {string} type @param {number} maker */
  const tensor = (name, type, maker) => {
    tensors.set(name, shapes.length);
    edges.push([maker, shapes.length]);
    shapes.push(oval(type));
  };
  for (const [name, type] of inputs) {
    shapes.push(stageShape(name, "placeholder"));
    tensor(name, type, shapes.length - 1);
  }
  for (const stage of stages) {
    const at = shapes.length;
    shapes.push(stageShape(stage.label, `scope: ${stage.scope}`));
    for (const read of stage.reads) {
      const source = tensors.get(read);
      if (source !== undefined) edges.push([source, at]);
    }
    stage.outputs.forEach((type, number) => tensor(stage.outputs.length > 1 ? `${stage.label}.v${number}` : stage.label, type, at));
  }
  const graph = drawn(shapes, edges);
  return picture(graph.width, graph.height, "Dataflow graph", ...graph.parts);
}

/**
 * Return the graph of each stage's iteration variables and the splits and fuses between them.
 * @param {TreeStage[]} stages
 */
export function variables(stages) {
  let y = MARGIN;
  let width = 0;
  /** @type {Element[]} */
  const parts = [];
  for (const stage of stages) {
    if (stage.variables.length === 0) continue;
    const index = new Map(stage.loops.map((loop, position) => [loop.variable, position]));
    /** @type {Shape[]} */
    const shapes = stage.variables.map(({ name, extent, type }, at) => variableShape(name, `${type} · range(${extent})`, colourOf(type), index.get(at)));
    /** @type {[number, number][]} */
    const edges = [];
    for (const { kind, parents, children } of stage.relations) {
      const at = shapes.length;
      shapes.push(oval(kind[0]?.toUpperCase() + kind.slice(1)));
      for (const parent of parents) edges.push([parent, at]);
      for (const child of children) edges.push([at, child]);
    }
    const graph = drawn(shapes, edges);
    parts.push(
      svg(
        "g",
        { transform: `translate(${MARGIN} ${y})`, "data-test": "variables", "data-label": stage.label },
        svg("rect", { class: "cluster", width: graph.width, height: graph.height + TITLE, rx: 4 }),
        text(8, 15, fitted(stage.label, graph.width), stage.label, "row-name"),
        svg("g", { transform: `translate(0 ${TITLE})` }, ...graph.parts),
      ),
    );
    y += graph.height + TITLE + MARGIN;
    width = Math.max(width, graph.width);
  }
  return picture(width + 2 * MARGIN, y, "Relations of iteration variables", ...parts);
}

/** @param {string} name @param {string} note @returns {Shape} */
function stageShape(name, note) {
  const heads = [{ text: note }];
  return { width: WIDTH, height: heightOf([], 1), draw: (place) => box(place, name, heads, [], { class: "stage", "data-label": name }) };
}

/** @param {string} name @param {string} note @param {string} colour @param {number | undefined} index its place among the loops @returns {Shape} */
function variableShape(name, note, colour, index) {
  const rows = [{ text: name, note, colour, index: String(index ?? -1) }];
  const height = heightOf(rows, 0) - TITLE;
  return {
    width: WIDTH,
    height,
    draw: (place) => {
      const whole = box({ ...place, y: place.y - TITLE, height: height + TITLE }, "", [], rows, { class: "variable", "data-label": name });
      // A variable has no name above its row.
      for (const element of [...whole.children].slice(0, 3)) element.remove();
      return whole;
    },
  };
}

/** @param {string} label @returns {Shape} */
function oval(label) {
  const width = 24 + 7 * Math.min(label.length, 26);
  return {
    width,
    height: 26,
    draw: ({ x, y }) => svg("g", { class: "tensor" }, svg("rect", { class: "oval", x, y, width, height: 26, rx: 13 }), text(x + width / 2, y + 17, fitted(label, width - 12), label, "box-note middle")),
  };
}

/**
 * Lay shapes out and draw them with the lines between them.
 * @param {Shape[]} shapes
 * @param {[number, number][]} edges from shape to shape
 */
function drawn(shapes, edges) {
  const order = sorted(shapes.length, edges);
  const rank = new Int32Array(shapes.length);
  order.forEach((shape, at) => (rank[shape] = at));
  const level = {
    width: Float64Array.from(order, (shape) => shapes[shape]?.width ?? 0),
    height: Float64Array.from(order, (shape) => shapes[shape]?.height ?? 0),
    sources: Int32Array.from(edges, ([source]) => rank[source] ?? 0),
    targets: Int32Array.from(edges, ([, target]) => rank[target] ?? 0),
  };
  const placed = layered(level);
  const places = shapes.map((shape, at) => ({
    x: (placed.x[rank[at] ?? 0] ?? 0) - shape.width / 2 + MARGIN,
    y: (placed.y[rank[at] ?? 0] ?? 0) + MARGIN,
    width: shape.width,
    height: shape.height,
  }));
  const lines = edges.map(([source, target], e) => {
    const from = places[source];
    const to = places[target];
    if (!from || !to) return svg("g");
    let path = `M${from.x + from.width / 2},${from.y + from.height}`;
    for (let bend = placed.first[e] ?? 0; bend < (placed.first[e + 1] ?? 0); bend++) {
      path += ` L${(placed.bends[2 * bend] ?? 0) + MARGIN},${(placed.bends[2 * bend + 1] ?? 0) + MARGIN}`;
    }
    return svg("path", { class: "edge", d: `${path} L${to.x + to.width / 2},${to.y}`, "marker-end": "url(#film-arrow)" });
  });
  const parts = [...lines, ...shapes.map((shape, at) => shape.draw(/** @type {Place} */ (places[at])))];
  return { width: placed.width + 2 * MARGIN, height: placed.height + 2 * MARGIN, parts };
}

/** The shapes in an order in which edges point forwards. @param {number} count @param {[number, number][]} edges */
function sorted(count, edges) {
  const open = new Int32Array(count);
  /** @type {number[][]} */
  const readers = Array.from({ length: count }, () => []);
  for (const [source, target] of edges) {
    readers[source]?.push(target);
    open[target] = (open[target] ?? 0) + 1;
  }
  /** @type {number[]} */
  const order = [];
  for (let at = 0; at < count; at++) if (open[at] === 0) order.push(at);
  for (let at = 0; at < order.length; at++) {
    for (const reader of readers[order[at] ?? 0] ?? []) {
      open[reader] = (open[reader] ?? 0) - 1;
      if (open[reader] === 0) order.push(reader);
    }
  }
  return order;
}
