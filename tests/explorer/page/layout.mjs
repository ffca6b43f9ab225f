import assert from "node:assert/strict";
import { test } from "node:test";
import { Grid } from "whence/graph/grid";
import { layered } from "whence/graph/layered";
import { layout, route } from "whence/graph/layout";

const lay = (levels) => levels.map(layered);

/** A graph like those of networks: a chain with branches that come together and some far edges. */
function network(count) {
  const edges = [];
  let seed = 1;
  const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  for (let v = 1; v < count; v++) {
    edges.push(v - 1, v);
    if (v % 7 === 0 && v > 6) edges.push(v - 6, v);
    if (random() < 0.08) edges.push(Math.max(0, v - 2 - Math.floor(random() * 20)), v);
  }
  return { parent: new Int32Array(count).fill(-1), ...sizes(count), edges: Int32Array.from(edges) };
}

function sizes(count) {
  return {
    width: Float64Array.from({ length: count }, (_, v) => 60 + 13 * (v % 9)),
    height: Float64Array.from({ length: count }, (_, v) => 26 + 14 * (v % 3)),
    loose: new Uint8Array(count),
  };
}

function box(at, v) {
  return [at.x[v] - at.width[v] / 2, at.y[v], at.x[v] + at.width[v] / 2, at.y[v] + at.height[v]];
}

const apart = (a, b) => a[2] <= b[0] + 1e-6 || b[2] <= a[0] + 1e-6 || a[3] <= b[1] + 1e-6 || b[3] <= a[1] + 1e-6;
const within = (a, b) => a[0] >= b[0] && a[1] >= b[1] && a[2] <= b[2] && a[3] <= b[3];

test("edges point down, and boxes stand apart", async () => {
  const graph = network(200);
  const at = await layout(graph, lay);
  for (let e = 0; e < graph.edges.length; e += 2) {
    const [a, b] = [box(at, graph.edges[e]), box(at, graph.edges[e + 1])];
    assert(a[3] < b[1], `edge ${e / 2}`);
  }
  for (let a = 0; a < 200; a++) for (let b = 0; b < a; b++) assert(apart(box(at, a), box(at, b)), `${a} and ${b}`);
});

test("a chain is straight, and a far edge goes around what is between", async () => {
  const edges = Int32Array.from([0, 1, 1, 2, 2, 3, 0, 3]);
  const at = await layout({ parent: new Int32Array(4).fill(-1), ...sizes(4), edges }, lay);
  assert(Math.abs(at.x[1] - at.x[2]) < 1e-6);
  const points = route(at, edges, 3);
  assert.equal(points.length, 12);
  for (let i = 2; i < 10; i += 2) {
    const [x, y] = [points[i], points[i + 1]];
    for (const v of [1, 2]) {
      const [left, top, right, bottom] = box(at, v);
      assert(x < left || x > right || y < top || y > bottom);
    }
  }
  assert.deepEqual([points[0], points[10]], [at.x[0], at.x[3]]);
});

test("what has no sources stands just above its first reader", async () => {
  const edges = Int32Array.from([0, 1, 1, 2, 3, 4, 2, 4]);
  const at = await layout({ parent: new Int32Array(5).fill(-1), ...sizes(5), edges }, lay);
  assert(Math.abs(at.y[3] + at.height[3] / 2 - at.y[2] - at.height[2] / 2) < 1e-6);
});

test("what is loose stands just above its first reader, and what that is made of above it", async () => {
  // A chain 0 1 2 3 6, and 4 -> 5 -> 6.
  const edges = Int32Array.from([0, 1, 1, 2, 2, 3, 3, 6, 4, 5, 5, 6]);
  const graph = { parent: new Int32Array(7).fill(-1), ...sizes(7), edges };
  graph.loose.set([1, 1], 4);
  const at = await layout(graph, lay);
  const middle = (v) => Math.round(at.y[v] + at.height[v] / 2);
  assert.deepEqual([middle(5), middle(4)], [middle(3), middle(2)]);
  graph.loose.fill(0);
  const plain = await layout(graph, lay);
  assert(plain.y[5] < plain.y[3]);
});

test("open groups hold their members, and members of others stand outside", async () => {
  // Groups 1 and 4, the latter in the former; edges into them, out of them and between them.
  const parent = Int32Array.from([-1, -1, 1, 1, 1, 4, 4, -1]);
  const edges = Int32Array.from([0, 2, 2, 3, 2, 5, 5, 6, 6, 7, 3, 7, 0, 7]);
  const at = await layout({ parent, ...sizes(8), edges }, lay);
  for (const v of [2, 3, 4]) assert(within(box(at, v), box(at, 1)));
  for (const v of [5, 6]) assert(within(box(at, v), box(at, 4)));
  for (const v of [0, 7]) assert(apart(box(at, v), box(at, 1)));
  assert(apart(box(at, 3), box(at, 4)));
  assert(at.first[7] > at.first[6], "the edge past the group goes around it");
});

test("edges between groups in both directions are drawn from source to target", async () => {
  const parent = Int32Array.from([-1, 0, 0, 0, -1, 4, 4]);
  const edges = Int32Array.from([1, 5, 5, 2, 2, 6, 6, 3]);
  const at = await layout({ parent, ...sizes(7), edges }, lay);
  for (let e = 0; e < 4; e++) {
    const points = route(at, edges, e);
    assert.deepEqual([points[0], points.at(-2)], [at.x[edges[2 * e]], at.x[edges[2 * e + 1]]]);
  }
});

test("an edge back past a group goes up around it", async () => {
  const parent = Int32Array.from([-1, 0, -1, 2, -1, 4]);
  const edges = Int32Array.from([1, 3, 3, 5, 5, 1]);
  const at = await layout({ parent, ...sizes(6), edges }, lay);
  const points = route(at, edges, 2);
  assert.equal(points.length, 8);
  for (let i = 3; i < points.length; i += 2) assert(points[i] < points[i - 2]);
});

test("nothing, one node, and a node alone", async () => {
  const none = await layout({ parent: new Int32Array(0), ...sizes(0), edges: new Int32Array(0) }, lay);
  assert.equal(none.x.length, 0);
  const alone = await layout({ parent: new Int32Array(2).fill(-1), ...sizes(2), edges: new Int32Array(0) }, lay);
  assert(apart(box(alone, 0), box(alone, 1)));
});

test("time grows with the graph: long chains, stars, and a node that everything reads", async () => {
  const count = 20000;
  const chain = network(count);
  const star = Int32Array.from({ length: 2 * count - 2 }, (_, i) => (i % 2 ? (i + 1) / 2 : 0));
  const far = [...chain.edges];
  for (let v = 3; v < count; v += 5) far.push(0, v, Math.floor(v / 3), v);
  for (const edges of [chain.edges, star, Int32Array.from(far)]) {
    const at = await layout({ ...chain, edges }, lay);
    assert(at.bends.length / 4 <= 12 * count, `${at.bends.length / 4} bends`);
    assert(at.x.every(Number.isFinite) && at.y.every(Number.isFinite));
  }
});

test("a grid finds what stands in a rectangle", () => {
  const boxes = Array.from({ length: 400 }, (_, k) => [(k % 20) * 300, Math.floor(k / 20) * 200, (k % 20) * 300 + 250, Math.floor(k / 20) * 200 + 90]);
  boxes.push([-1e7, -1e7, 1e7, 1e7]);
  const grid = new Grid();
  boxes.forEach((box, k) => grid.add(k, ...box));
  const overlap = (a, b) => a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3];
  for (const area of [[0, 0, 10, 10], [900, 900, 2100, 1700], [-1e6, -1e6, 1e6, 1e6], [5e5, 5e5, 5e5, 5e5]]) {
    const near = [...grid.near(area)];
    assert.deepEqual(near, [...new Set(near)].sort((a, b) => a - b));
    for (let k = 0; k < boxes.length; k++) if (overlap(boxes[k], area)) assert(near.includes(k));
  }
  assert(grid.near([0, 0, 10, 10]).length < 20);
});
