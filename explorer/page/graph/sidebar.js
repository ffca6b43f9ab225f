// The properties of a node beside its graph: type, name, location, attributes, inputs and outputs.

import { fill, h } from "whence/dom";
import { linesOf } from "whence/graph/boxes";
import { weightOfNodes } from "whence/graph/heat";
import { tensorFacts } from "whence/graph/tensor";
import { short, size } from "whence/data/words";
import { duration } from "whence/words";

/** @typedef {import("whence/types").App} App */
/** @typedef {import("whence/graph/scene").Scene} Scene */
/** @typedef {import("whence/dom").Child} Child */

const MOST = 200;
const HEATS = /** @type {const} */ (["time", "flops", "bytes"]);

/** @param {typeof HEATS[number]} heat @param {number} weight */
function amount(heat, weight) {
  return heat === "time" ? duration(weight) : weight.toLocaleString("en");
}

/** @param {Float64Array} weights @param {number} id */
function share(weights, id) {
  return `${((100 * weights[id]) / weights.reduce((sum, weight) => sum + weight, 0)).toFixed(1)} % of the graph`;
}

/**
 * @param {App} app
 * @param {object} does
 * @param {(node: number) => void} does.go
 * @param {(item: number) => void} does.toggle
 * @param {() => void} does.close
 * @param {(label: string) => void} does.same lights up all nodes of an operator, or no longer
 * @param {(edge: number) => void} does.tensor shows the tensor of an edge
 */
export function sidebar(app, { go, toggle, close, same, tensor }) {
  const body = h("div", { class: "graph-facts" });
  const closing = h("button", { type: "button", title: "close the properties", "aria-label": "close the properties", onclick: close }, "×");
  const element = h("aside", { class: "graph-side", "aria-label": "Node properties", "data-test": "properties", hidden: true },
    h("header", {}, h("h2", {}, "Node properties"), closing), body);

  /** @param {string} name @param {Child} value */
  const row = (name, value) => h("div", { class: "fact" }, h("dt", { title: name }, name), h("dd", {}, value));

  /** @param {string} text @param {() => void} press @param {import("whence/dom").Attributes} [more] */
  const button = (text, press, more = {}) => h("button", { type: "button", class: "link", onclick: press, ...more }, text);

  /** @param {string} title @param {Node[]} rows */
  const part = (title, rows) => (rows.length ? [h("h3", {}, title), h("dl", {}, ...rows)] : []);

  /** The ends of edges: what a node reads, or what reads it. @param {Scene} scene @param {number} node @param {"source" | "target"} end */
  function ends(scene, node, end) {
    const { edges } = scene.graph;
    const other = end === "source" ? edges.target : edges.source;
    const rows = [];
    for (let e = 0; e < other.length && rows.length < MOST; e++) {
      if (other[e] !== node) continue;
      const id = edges[end][e];
      const type = edges.text[e] && button(edges.text[e], () => tensor(e), { "data-test": "tensor-of" });
      rows.push(row((end === "source" && edges.role[e]) || "", h("span", {}, button(nameOf(app, scene, id), () => go(id)), " ", type)));
    }
    return rows;
  }

  /** @param {Scene} scene @param {number} item -1 for none */
  function show(scene, item) {
    element.hidden = item < 0;
    if (item < 0) return;
    const id = scene.ids[item];
    if (scene.isGroup(item)) {
      const { count, path, members } = scene.scopes;
      const open = scene.isOpen(item);
      fill(body, h("dl", {}, row("scope", path[id - count]), row("nodes", members[id - count])),
        h("button", { type: "button", onclick: () => toggle(item) }, open ? "Fold" : "Unfold"));
      return;
    }
    const { nodes } = scene.graph;
    const { layers, sets } = app.model.document;
    const rows = sets[nodes.set[id]] ?? [];
    const own = rows.filter((layer) => layers.kind[layer] !== "tensor");
    const all = nodes.label.filter((label) => label === nodes.label[id]).length;
    const others = all > 1 && button(`all ${all.toLocaleString("en")} of this type`, () => same(nodes.label[id]), { "data-test": "all-of-type" });
    const facts = [row("type", h("span", {}, nodes.label[id], " ", others)), row("name", nameOf(app, scene, id))];
    if (own.length === 1) facts.push(row("location", layers.ordinal[own[0]]));
    if (nodes.scope[id]) facts.push(row("scope", nodes.scope[id]));
    for (const line of linesOf(nodes.about[id])) facts.push(row("", line));
    for (const heat of HEATS) {
      const weights = weightOfNodes(app.model, scene.graph, heat);
      if (weights?.[id]) facts.push(row(heat, `${amount(heat, weights[id])}, ${share(weights, id)}`));
    }
    fill(body, h("dl", {}, ...facts),
      ...part("Attributes", nodes.attributes[id].map(([name, value]) => row(name, value))),
      ...part("Inputs", ends(scene, id, "source")),
      ...part("Outputs", ends(scene, id, "target")),
      ...(own.length === 1 ? part("Lines", layers.code[own[0]].map((line) => row("", line))) : []),
      ...(own.length > 1 ? part("Layers", own.slice(0, MOST).map((layer) => row(layers.type[layer], app.model.layerName(layer)))) : []));
  }

  /** @param {Scene} scene @param {number} edge of the graph */
  function showTensor(scene, edge) {
    const { source, readers, type, bytes, range, lives } = tensorFacts(app.model.document, scene.graph, edge);
    element.hidden = false;
    const link = (/** @type {number} */ id) => button(nameOf(app, scene, id), () => go(id));
    const facts = [row("tensor", type), row("of", link(source))];
    if (bytes >= 0) facts.push(row("size", size(bytes)));
    if (range) facts.push(row("range", `${short(range.minimum)} to ${short(range.maximum)}, mean ${short(range.mean)}`));
    for (const life of lives.slice(0, MOST))
      facts.push(row("in memory", `calls ${life.first} to ${life.last}, ${size(life.size)} at ${life.offset.toLocaleString("en")}`));
    fill(body, h("dl", {}, ...facts), ...part("Read by", readers.slice(0, MOST).map((id) => row("", link(id)))));
  }
  return { element, show, showTensor };
}

/** The name of a node: of its call, or of its layers. @param {App} app @param {Scene} scene @param {number} node */
export function nameOf({ model }, { graph: { nodes } }, node) {
  const call = model.document.calls[nodes.call[node]];
  if (call) return call.name;
  const rows = model.document.sets[nodes.set[node]] ?? [];
  return rows.length ? model.label(rows) : nodes.label[node];
}
