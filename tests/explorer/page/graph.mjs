import assert from "node:assert/strict";
import { test } from "node:test";
import { labelOf } from "whence/graph/labels";
import { distance } from "whence/graph/layout";
import { search } from "whence/graph/query";
import { sceneOf } from "whence/graph/scene";
import { scopesOf } from "whence/graph/scopes";
import { bytesOf, tensorFacts } from "whence/graph/tensor";

/** x -> conv (weight int8) -> relu, which add and pool read, in scope `block`. */
function model() {
  const label = ["x", "Conv", "Relu", "Add", "Pool"];
  const rows = label.length;
  const nodes = {
    label,
    about: label.map(() => ""),
    kind: ["input", ...Array(rows - 1).fill("node")],
    scope: ["", "block", "block", "", ""],
    set: [0, 1, 2, 3, 4],
    call: Array(rows).fill(-1),
    attributes: label.map((name) => (name === "Conv" ? [["W", "int8[8, 4, 3, 3] w"], ["gives", "float32[1, 8, 5, 5]"]] : [])),
  };
  const eight = "float32[1, 8, 5, 5]";
  const edges = { source: [0, 1, 2, 2, 3], target: [1, 2, 3, 4, 4], text: ["float32[1, 4, 5, 5]", eight, eight, eight, eight], output: [0, 0, 0, 0, 0], role: ["X", "X", "A", "X", ""] };
  return { level: "model", program: 0, title: "model", nodes, edges };
}

const names = ["x x", "Conv first", "Relu second", "Add third", "Pool last"];
const found = (graph, query) => search(graph, scopesOf(graph), names, query).map(({ id }) => id);

test("a search finds names, groups, shapes and dtypes", () => {
  const graph = model();
  assert.equal(found(graph, "second")[0], 2);
  assert.deepEqual(found(graph, "block"), [5]);
  assert.deepEqual(found(graph, "int8"), [1]);
  assert.deepEqual(found(graph, "8x4x3x3"), [1]);
  assert.deepEqual(found(graph, "1x4x5x5"), [0, 1]);
  for (const query of ["1x8x5x5", "[1, 8, 5, 5]", "1 × 8 × 5 × 5", "(1,8,5,5)"]) assert.deepEqual(found(graph, query), [1, 2, 3, 4], query);
  assert.deepEqual(found(graph, "1x8x5"), []);
  assert.deepEqual(found(graph, ""), []);
  assert.match(search(graph, scopesOf(graph), names, "int8")[0].text, /int8\[8, 4, 3, 3\]/);
});

test("a tensor has its readers, its size, its range and its life", () => {
  const document = {
    sets: [[], [0], [1], [2], [3]],
    tensors: [{ program: 0, layer: [0, 1], shape: [[1, 8, 5, 5], [1, 8, 5, 5]], minimum: [-1, 0], maximum: [1, 2], mean: [0, 1] }],
    memory: [{ program: 0, kind: ["tensor", "workspace"], set: [2, 2], first: [3, 3], last: [5, 3], offset: [64, 0], size: [832, 1] }],
  };
  const facts = tensorFacts(document, model(), 3);
  assert.deepEqual([facts.source, facts.readers, facts.bytes], [2, [3, 4], 800]);
  assert.deepEqual(facts.range, { minimum: 0, maximum: 2, mean: 1 });
  assert.deepEqual(facts.lives, [{ first: 3, last: 5, offset: 64, size: 832 }]);
  assert.deepEqual([bytesOf("int4[3]"), bytesOf("bool[2, 2]"), bytesOf("float32[]"), bytesOf("float32[n]")], [2, 4, 4, -1]);
  assert.equal(tensorFacts({ sets: [[], [], []], tensors: [], memory: [] }, model(), 1).range, null);
});

test("labels say a tensor's type once, and cover nothing", async () => {
  assert.deepEqual(["float32[1, 8]", "int8[1, 8]", "float32[n, 8]", "bool[]", "sequence"].map(labelOf), ["1x8", "int8 1x8", "[n, 8]", "bool", "sequence"]);
  const graph = model();
  for (const sideways of [false, true]) {
    const scene = await sceneOf(graph, scopesOf(graph), new Set(), sideways);
    const labels = scene.labels.of([0, 1, 2, 3, 4]);
    assert.equal(labels.length, 4, "one edge of two carries the same tensor");
    assert.equal(scene.labels.of([3])[0], labels[2], "labels stay where they are");
    const apart = ([a, b, c, d], [e, f, g, h]) => c <= e || g <= a || d <= f || h <= b;
    const areas = labels.map(({ left, top, right, bottom }) => [left, top, right, bottom]);
    areas.forEach((area, i) => {
      for (let j = 0; j < i; j++) assert(apart(area, areas[j]));
      for (let k = 0; k < scene.ids.length; k++) assert(apart(area, scene.solid(k)), `label ${i} and box ${k}`);
    });
  }
});

test("from left to right edges go right, groups hold their members, and boxes stand apart", async () => {
  const graph = model();
  const scene = await sceneOf(graph, scopesOf(graph), new Set(), true);
  const at = (node) => scene.area(scene.shows[node]);
  graph.edges.source.forEach((source, e) => assert(at(source)[2] < at(graph.edges.target[e])[0], `edge ${e}`));
  const [left, top, right, bottom] = scene.area(scene.ids.indexOf(5));
  for (const node of [1, 2]) {
    const area = at(node);
    assert(area[0] >= left && area[1] >= top + 30 && area[2] <= right && area[3] <= bottom, "under the header");
  }
  const down = await sceneOf(graph, scopesOf(graph), new Set(), false);
  assert(down.area(down.shows[1])[3] < down.area(down.shows[2])[1]);
  for (let e = 0; e < scene.edge.length; e++) {
    const points = scene.route(e);
    assert.equal(points.length % 4, 0);
    assert(points[0] < points.at(-2));
  }
});

test("an edge is near where it is drawn", async () => {
  const graph = model();
  for (const sideways of [false, true]) {
    const scene = await sceneOf(graph, scopesOf(graph), new Set(), sideways);
    for (let e = 0; e < scene.edge.length; e++) {
      const points = scene.route(e);
      const [x, y] = [(points[0] + points[2]) / 2, (points[1] + points[3]) / 2];
      assert(distance(points, x, y, sideways) < 1e-6, "a curve goes through the middle of its ends");
      assert(distance(points, x + 1000, y + 1000, sideways) > 100);
      assert.equal(scene.edgeUnder(x + 1e5, y, 5), -1);
    }
  }
  assert(distance([0, 0, 0, 1000], 3, 437, false) <= 3.01, "between the steps of a long line");
});
