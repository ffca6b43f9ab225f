import assert from "node:assert/strict";
import { test } from "node:test";
import { callOf, destination, lineOf, loopAround, positionOf, reveal, servingCalls } from "whence/navigate";
import { SessionModel } from "whence/session";

/**
 * Layers: 0 dense, 1 add, 2 folded away. Calls: 0 reshapes for dense, 1 is dense's own, 2 fuses dense's last reshape
 * with the addition, 3 is of another program. Kernel 1 has two stages of tir, of which the last is led to.
 */
const LINES = { relay: 4, te: 3, schedule: 2, tir: 5, llvm: 4, asm: 6, model: 3 };
const stage = (level, kernel, name = level, program = 0) => ({ name, level, program, kernel, before: -1, lines: LINES[level], diff: null });
const stages = [stage("model", -1), stage("relay", -1), stage("tir", 0), stage("te", 1), stage("tir", 1, "early"), stage("tir", 1), stage("asm", 1), stage("tir", 2), stage("relay", -1, "relay", 1)];
const body = (lines, sets, ops = [-1, lines], outputs = [], tir = []) => ({ base: -1, edits: [], sets, ops, outputs, tir, exact: [] });
const bodies = [
  body(3, [1, 1, 2, 1, 3, 1]),
  body(4, [1, 3, 2, 1], [0, 1, 1, 1, 2, 1, 3, 1], [[3, 0], [4, 1]]),
  body(5, [0, 5]),
  body(3, [0, 3]),
  body(5, [0, 5], [10, 1, 14, 1, 12, 1, 13, 1, 11, 1]),
  body(5, [0, 5], [10, 1, 11, 1, 12, 1, 13, 1, 14, 1]),
  body(6, [0, 6], [-1, 6], [], [1, 1, 2, 2, 5, 2, 0, 1]),
  body(5, [0, 2, 1, 3]),
  body(4, [1, 4]),
];
const lead = (layer, call, weight, te, tir, asm) => ({ layer, call, weight, te, schedule: 0, tir, llvm: 0, asm });
const leads = [lead(0, 1, 7.5, 2, 5, 4), lead(0, 0, 0.4, 0, 3, 0), lead(0, 2, 0.1, 0, 1, 0), lead(0, 3, 9, 0, 0, 0), lead(1, 2, 3, 0, 4, 0)];
const call = (name, kernel, layers, set, program = 0) => ({ name, program, kernel, layers, set });
const document = {
  layers: { name: ["dense", "add", "gone"], source: [0, 0, 0] },
  sources: [{ stage: 0 }],
  sets: [[], [0], [1], [2], [0, 1]],
  ops: { name: ["relay.constant", "relay.reshape", "relay.nn.dense", "relay.add", ...Array.from({ length: 11 }, () => "x")] },
  programs: [{}, {}],
  stages,
  kernels: [
    { symbol: "reshape", program: 0, slots: [[0]], stages: [2], schedule: -1 },
    { symbol: "dense", program: 0, slots: [[0]], stages: [3, 4, 5, 6], schedule: 4 },
    { symbol: "reshape_add", program: 0, slots: [[0], [1]], stages: [7], schedule: -1 },
  ],
  calls: [call("a", 0, [1], 1), call("b", 1, [1], 1), call("c", 2, [1, 2], 4), call("d", 0, [1], 1, 1)],
  leads: Object.fromEntries(Object.keys(leads[0]).map((name) => [name, leads.map((row) => row[name])])),
  times: [{ program: 0, lines: [{ call: 1, stage: 6, line: [2, 5, 4], samples: [1, 95, 90] }] }],
};
const model = new SessionModel({ head: document, stageBody: async (number) => bodies[number] });
for (const number of bodies.keys()) await model.columns(number);
const mark = (rows, at = null) => ({ rows, label: "", at });
const at = (stage, line, call = -1, tir = 0) => ({ stage, line, call, tir });

const CALLS = [
  ["a layer of three calls: that with most of it first", mark([0]), 0, [1, 0, 2]],
  ["layers together: by the sum of what they have in a call", mark([0, 1]), 0, [1, 2, 0]],
  ["calls of the page's program only", mark([0]), 1, [3]],
  ["of other programs where that has none", mark([1]), 1, [2]],
  ["what was folded away", mark([2]), 0, []],
];
for (const [title, { rows }, program, expected] of CALLS)
  test(`calls: ${title}`, () => assert.deepEqual(servingCalls(model, rows, program), expected));

const PLACES = [
  ["a layer's own kernel", mark([0]), "tir", { stage: 5, call: 1, line: 4 }],
  ["another level of it", mark([0]), "te", { stage: 3, call: 1, line: 1 }],
  ["its hottest instruction", mark([0]), "asm", { stage: 6, call: 1, line: 3 }],
  ["the call where it was marked", mark([0], at(2, 1, 0)), "tir", { stage: 2, call: 0, line: 1 }],
  ["the call of the kernel where it was marked", mark([0], at(7, 0)), "tir", { stage: 7, call: 2, line: 0 }],
  ["the heaviest layer of a call", mark([0, 1], at(7, 3, 2)), "te", { stage: -1, call: -1, line: -1 }],
  ["the op that computes the output", mark([0]), "relay", { stage: 1, call: -1, line: 2 }],
  ["the output of the heaviest", mark([1, 0]), "relay", { stage: 1, call: -1, line: 2 }],
  ["the line of the model", mark([1]), "model", { stage: 0, call: -1, line: 1 }],
  ["nothing below for what was folded away", mark([2]), "tir", { stage: -1, call: -1, line: -1 }],
  ["its line of the model", mark([2]), "model", { stage: 0, call: -1, line: 2 }],
];
for (const [title, from, level, expected] of PLACES)
  test(`${level}: ${title}`, () => assert.deepEqual(destination(model, from, level, 0), { level, ...expected }));

test("another call than the heaviest", () => {
  assert.deepEqual(destination(model, mark([0]), "tir", 0, 0), { level: "tir", stage: 2, call: 0, line: 2 });
});

test("an earlier stage of a level: the same op", () => assert.equal(lineOf(model, mark([0]), 4, 1), 1));

test("within a kernel the hottest instruction of a line of tir", () => {
  assert.equal(lineOf(model, mark([0], at(5, 4, 1, 5)), 6, 1), 4);
  assert.equal(lineOf(model, mark([0], at(5, 1, 1, 2)), 6, 1), 1);
});

test("a line that serves nobody leads to itself", () => assert.equal(lineOf(model, mark([], at(1, 0)), 1, -1), 0));

test("the place of a call is a line of its tir", () => {
  assert.deepEqual(positionOf(model, 1), at(5, 4, 1));
  assert.deepEqual(positionOf(model, 2), at(7, 3, 2));
  assert.equal(callOf(model, mark([0, 1], positionOf(model, 2)), 0), 2);
});

test("the innermost loop around a line", () => {
  const text = ["for i in 4 {", "  for j in 2 {", "    a = b", "  }", "  for k in 2 {", "    if x {", "      c = d"];
  assert.deepEqual([0, 1, 2, 4, 6].map((line) => loopAround(text, line)), [0, 1, 1, 4, 4]);
  assert.equal(loopAround(["func {", "  a = b"], 1), -1);
});

const VIEWS = [
  ["wholly inside: stays", [10, 20], [0, 100], 0],
  ["at the edge: stays", [90, 100], [0, 100], 0],
  ["half inside is outside: below", [95, 105], [0, 100], 35],
  ["half inside is outside: above", [-5, 5], [0, 100], -35],
  ["512 pixels away", [612, 700], [0, 100], 606],
  ["the margin gives way to the target", [200, 290], [0, 100], 195],
  ["larger than the view: its begin", [50, 250], [0, 100], 50],
];
for (const [title, target, view, expected] of VIEWS)
  test(`reveal: ${title}`, () => assert.equal(reveal(target, view), expected));
