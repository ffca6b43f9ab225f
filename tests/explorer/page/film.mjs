import assert from "node:assert/strict";
import { test } from "node:test";
import { aligned } from "whence/film/align";
import { comparedStages, sideOf } from "whence/film/rows";
import { treeLines } from "whence/film/treetext";

const signs = (before, after) => aligned([...before], [...after], (letter) => letter).map(({ sign, item }) => sign.trim() + item);

test("lists are aligned by their longest common part", () => {
  assert.deepEqual(signs("abcd", "abcd"), ["a", "b", "c", "d"]);
  assert.deepEqual(signs("abc", ""), ["-a", "-b", "-c"]);
  assert.deepEqual(signs("axc", "ayc"), ["a", "-x", "+y", "c"]);
  assert.deepEqual(signs("abcbdab", "bdcaba").filter((text) => text.length === 1).length, 4);
});

test("both lists can be read off what was aligned", () => {
  let state = 1;
  const random = (below) => (state = (state * 48271) % 2147483647) % below;
  for (let round = 0; round < 60; round++) {
    const [a, b] = [0, 1].map(() => Array.from({ length: random(9) }, () => "abc"[random(3)]));
    const rows = aligned(a, b, (letter) => letter);
    assert.deepEqual(rows.filter(({ sign }) => sign !== "+").map(({ item }) => item), a);
    assert.deepEqual(rows.filter(({ sign }) => sign !== "-").map(({ item }) => item), b);
  }
});

const loop = (name, extent, more = {}) => ({ name, extent, kind: "serial", type: "kDataPar", reduce: false, computes: [], notes: [], depth: 0, variable: 0, ...more });
const stage = (label, loops, more = {}) => ({ label, place: "root", scope: "global", storage: "", compute: [`${label}[i] = A[i]`], loops, variables: [], relations: [], slots: [], reads: ["A"], outputs: [], ...more });

test("what a primitive changed has signs", () => {
  const before = [stage("B", [loop("i", "8")]), stage("gone", [])];
  const after = [stage("B", [loop("i.outer", "2"), loop("i.inner", "4")]), stage("new", [])];
  const shown = comparedStages(before, after);
  assert.deepEqual(shown.map(({ label, change }) => [label, change]), [["B", "changed"], ["new", "new"], ["gone", "gone"]]);
  assert.deepEqual(shown[0].rows.map(({ sign, item }) => sign + item.text), ["-i", "+i.outer", "+i.inner", " B[i] = A[i]"]);
  assert.deepEqual(sideOf(shown, "-").map(({ label, change }) => [label, change]), [["B", "was"], ["gone", "gone"]]);
  assert.deepEqual(sideOf(shown, "+")[0].rows.map(({ item }) => item.text), ["i.outer", "i.inner", "B[i] = A[i]"]);
});

test("a loop that computes a stage since has changed", () => {
  const [shown] = comparedStages([stage("B", [loop("i", "8")])], [stage("B", [loop("i", "8", { computes: ["C"] })])]);
  assert.deepEqual(shown.rows.map(({ sign }) => sign), ["-", "+", " "]);
});

test("a tree as text leaves out what loops once", () => {
  const vector = loop("j", "16", { kind: "vectorized" });
  const stages = [stage("B.local", [loop("i", "1"), loop("k", "64"), vector], { place: "@ C.i", scope: "local" }), stage("C", [], { place: "inlined" })];
  assert.deepEqual(treeLines(stages), [
    "stage B.local  (local)  @ C.i",
    "  for k in 64",
    "    for j in 16  # vectorized",
    "      B.local[i] = A[i]",
    "stage C        inlined  C[i] = A[i]",
  ]);
});
