import assert from "node:assert/strict";
import { test } from "node:test";
import { foldedAtFirst, openedTo, scopesOf, visible } from "whence/graph/scopes";

/** A graph of nodes in these scopes, each of which reads the one before it. */
function chain(...scope) {
  const source = scope.slice(1).map((_, k) => k);
  const label = scope.map((_, k) => `n${k}`);
  return { nodes: { label, scope, kind: label.map(() => "node") }, edges: { source, target: source.map((k) => k + 1) } };
}

test("scopes become groups; a scope of one node, or of one scope, does not", () => {
  const scopes = scopesOf(chain("", "a/b/c", "a/b/c", "a/b/d", "a/b/d", "e"));
  assert.deepEqual(scopes.path, ["a/b", "a/b/c", "a/b/d"]);
  assert.deepEqual(scopes.name, ["a/b", "c", "d"]);
  assert.deepEqual([...scopes.members], [4, 2, 2]);
  assert.deepEqual([...scopes.parent], [-1, 7, 7, 8, 8, -1, -1, 6, 6]);
});

test("a folded group is one node, and edges between the same two are one", () => {
  const graph = chain("", "a", "a", "a", "", "a");
  graph.edges.source.push(0, 0);
  graph.edges.target.push(2, 3);
  const scopes = scopesOf(graph);
  const all = visible(graph, scopes, new Set());
  assert.deepEqual(all.ids, [0, 6, 1, 2, 3, 4, 5]);
  assert.deepEqual([...all.parent], [-1, -1, 1, 1, 1, -1, 1]);
  assert.deepEqual([...all.edges], [0, 2, 2, 3, 3, 4, 4, 5, 5, 6, 0, 3, 0, 4]);
  const folded = visible(graph, scopes, new Set([6]));
  assert.deepEqual(folded.ids, [0, 6, 4]);
  assert.deepEqual([...folded.edges], [0, 1, 1, 2, 2, 1]);
  assert.deepEqual([...folded.shows], [0, 1, 1, 1, 2, 1]);
});

test("a group in a folded group does not show", () => {
  const graph = chain("a", "a/b", "a/b", "a", "");
  const scopes = scopesOf(graph);
  assert.deepEqual(visible(graph, scopes, new Set([5])).ids, [5, 4]);
  assert.deepEqual(visible(graph, scopes, new Set([6])).ids, [5, 0, 6, 3, 4]);
  assert.deepEqual([...openedTo(scopes, new Set([5, 6]), 1)], []);
});

test("what would show more than 60 nodes is folded at first", () => {
  const small = chain(...Array.from({ length: 60 }, (_, k) => `a/${k % 2}`));
  assert.equal(foldedAtFirst(scopesOf(small)).size, 0);
  const layers = chain("", ...Array.from({ length: 120 }, (_, k) => `encoder/${Math.floor(k / 10)}`));
  const scopes = scopesOf(layers);
  const folded = foldedAtFirst(scopes);
  assert.equal(folded.size, 12, "the twelve layers, and not the encoder");
  assert.equal(visible(layers, scopes, folded).ids.length, 14);
  const flat = chain(...Array.from({ length: 100 }, () => "a"));
  assert.deepEqual([...foldedAtFirst(scopesOf(flat))], [100]);
  const many = chain(...Array.from({ length: 1000 }, (_, k) => `${Math.floor(k / 10)}`));
  assert.equal(visible(many, scopesOf(many), foldedAtFirst(scopesOf(many))).ids.length, 100);
});

test("equal blocks in a row are folded at first in a graph of many nodes", () => {
  const block = (times) => Array.from({ length: 4 * times }, (_, k) => `${times} x conv, add/conv, add ${Math.floor(k / 4) + 1}`);
  const small = chain("", ...block(3), "");
  assert.equal(foldedAtFirst(scopesOf(small)).size, 0);
  const large = chain("", ...block(30), ...block(3));
  const scopes = scopesOf(large);
  assert.deepEqual(visible(large, scopes, foldedAtFirst(scopes)).ids.map((id) => scopes.path[id - scopes.count]), [undefined, "30 x conv, add", "3 x conv, add"]);
});

test("a scope as deep as its graph is long takes no stack", () => {
  const deep = "a/".repeat(20000);
  const scopes = scopesOf(chain(deep, deep, `${deep}b`, `${deep}b`));
  assert.equal(scopes.path.length, 2);
});

test("a constant stands in the box of its only reader", () => {
  const graph = chain("", "a", "a", "");
  const constants = ["constant", "constant", "constant"];
  graph.nodes = { label: [...graph.nodes.label, "w", "both", "none"], scope: ["", "a", "a", "", "a", "", ""], kind: [...graph.nodes.kind, ...constants] };
  graph.edges.source.push(4, 5, 5);
  graph.edges.target.push(2, 1, 3);
  const scopes = scopesOf(graph);
  assert.deepEqual([...scopes.holder], [0, 1, 2, 3, 2, 5, -1]);
  const open = visible(graph, scopes, new Set());
  assert.deepEqual(open.ids, [0, 7, 1, 2, 3, 5]);
  assert.deepEqual([...open.shows], [0, 2, 3, 4, 3, 5, -1]);
  assert.deepEqual([...open.edges], [0, 2, 2, 3, 3, 4, 5, 2, 5, 4]);
});

test("constants made of constants stand in the box of the reader of the last one", () => {
  // w, scale -> dequantized -> b; both a and b read `shared`, which is made of a constant, too.
  const kind = ["node", "constant", "constant", "constant", "node", "constant", "constant", "node", "node"];
  const graph = {
    nodes: { label: kind.map((_, k) => `n${k}`), scope: kind.map(() => ""), kind },
    edges: { source: [1, 2, 3, 0, 5, 6, 6, 4, 7], target: [3, 3, 4, 4, 6, 7, 8, 7, 8] },
  };
  const scopes = scopesOf(graph);
  assert.deepEqual([...scopes.holder], [0, 4, 4, 4, 4, 6, 6, 7, 8]);
  assert.deepEqual(visible(graph, scopes, new Set()).ids, [0, 4, 6, 7, 8]);
});

test("what no input leads to is loose, and a group of nothing else", () => {
  const kind = ["input", "node", "node", "node", "node", "node"];
  const graph = {
    nodes: { label: kind.map((_, k) => `n${k}`), scope: ["", "w", "w", "a", "a", ""], kind },
    edges: { source: [0, 1, 2, 3, 4], target: [3, 2, 4, 4, 5] },
  };
  const scopes = scopesOf(graph);
  assert.deepEqual([...scopes.loose], [0, 1, 1, 0, 0, 0]);
  const shown = visible(graph, scopes, new Set());
  assert.deepEqual(shown.ids, [0, 6, 1, 2, 7, 3, 4, 5]);
  assert.deepEqual([...shown.loose], [0, 1, 1, 1, 0, 0, 0, 0]);
  graph.nodes.kind[0] = "node";
  assert.equal(scopesOf(graph).loose.includes(1), false, "without inputs all nodes stand as they are");
});
