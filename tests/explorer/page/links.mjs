import assert from "node:assert/strict";
import { test } from "node:test";
import { History } from "whence/history";
import { Kin, columnIndex, kin, rowIndex } from "whence/links";
import { SessionModel } from "whence/session";

const list = ({ offsets, items }, key) => [...items.subarray(offsets[key], offsets[key + 1])];

test("indexes list positions by value", () => {
  const index = columnIndex(Int32Array.of(2, -1, 0, 2));
  assert.deepEqual([0, 1, 2].map((value) => list(index, value)), [[2], [], [0, 3]]);
  const lists = rowIndex([[0, 1], [], [1]], 3);
  assert.deepEqual([0, 1, 2].map((item) => list(lists, item)), [[0], [0, 2], []]);
});

test("kin counts and steps over several lists", () => {
  const both = new Kin([Int32Array.of(1, 5, 9), Int32Array.of(3), new Int32Array(0)], () => true);
  assert.equal(both.size, 4);
  assert.deepEqual([...both.lines()], [1, 3, 5, 9]);
  assert.deepEqual([0, 1, 2, 5, 10].map((line) => both.before(line)), [0, 0, 1, 2, 4]);
  assert.deepEqual([-1, 1, 3, 9].map((line) => both.next(line, 1)), [1, 3, 5, -1]);
  assert.deepEqual([1, 2, 10].map((line) => both.next(line, -1)), [-1, 1, 9]);
});

/** A kernel of two slots that two calls share; lines of tir: slot 0, both slots, slot 1; assembly of lines 2, 2, 0. */
const body = (sets, tir = []) => ({ base: -1, edits: [], sets, ops: [-1, 3], outputs: [], tir, exact: [] });
const stage = (level, kernel) => ({ name: level, level, program: 0, kernel, before: -1, lines: 3, diff: null });
const bodies = [body([1, 1, 2, 1, -1, 1]), body([0, 1, 1, 1, 2, 1]), body([1, 2, -1, 1], [2, 2, 0, 1])];
const document = {
  layers: { name: ["conv1", "relu1", "conv2", "relu2"] },
  sets: [[], [0], [1], [2], [3]],
  stages: [stage("relay", -1), stage("tir", 0), stage("asm", 0)],
  kernels: [{ symbol: "fused", program: 0, slots: [[0], [0, 1], [1]], stages: [1, 2] }],
  calls: [
    { name: "first", program: 0, kernel: 0, layers: [1, 2], set: 1 },
    { name: "second", program: 0, kernel: 0, layers: [3, 4], set: 3 },
  ],
};
const model = new SessionModel({ head: document, stageBody: async (number) => bodies[number] });
for (const number of bodies.keys()) await model.columns(number);

test("lines below relay serve the layers of the chosen call, or of all", () => {
  assert.deepEqual(model.layersOfLine(1, 1, 0), [0, 1]);
  assert.deepEqual(model.layersOfLine(1, 1, 1), [2, 3]);
  assert.deepEqual(model.layersOfLine(1, 1), [0, 1, 2, 3]);
  assert.deepEqual(model.layersOfLine(0, 2), []);
});

test("a layer lights up its lines, in the calls that are chosen", () => {
  const mark = { rows: [2], label: "", at: null };
  const lines = (number, call = -1) => [...kin(model, mark, number, call).lines()];
  assert.deepEqual([lines(0), lines(1), lines(2)], [[], [0, 1], [0, 1]]);
  assert.deepEqual([lines(1, 0), lines(1, 1)], [[], [0, 1]]);
  const { has } = kin(model, mark, 1, 1);
  assert.deepEqual([0, 1, 2].map(has), [true, true, false]);
});

test("within a kernel a line lights up those of its line of tir", () => {
  const mark = { rows: [0, 1], label: "", at: { stage: 2, line: 1, call: 0, tir: 2 } };
  assert.deepEqual([...kin(model, mark, 1, 0).lines()], [1]);
  assert.deepEqual([...kin(model, mark, 2, 0).lines()], [0, 1]);
  assert.deepEqual([...kin(model, mark, 0, -1).lines()], [0, 1], "elsewhere by layer");
});

test("a line that serves nobody lights up itself", () => {
  const mark = { rows: [], label: "", at: { stage: 0, line: 1, call: -1, tir: 0 } };
  assert.deepEqual([...kin(model, mark, 0, -1).lines()], [1]);
  assert.equal(kin(model, mark, 1, -1).size, 0);
});

test("history goes on through sources, and through copies up to when they were made", () => {
  // Event 0 makes op 1 of op 0; op 2 is a copy of op 1 as of then; event 1 makes op 1 again; event 2 makes op 3 of op 2.
  const history = new History({
    sets: [[], [0], [1]],
    ops: { name: ["a", "b", "c", "d"], copied_from: [-1, -1, 1, -1], copied_at: [0, 0, 1, 0] },
    events: {
      pass_name: ["p", "q", "r"],
      sources: [[0], [1], [2]],
      targets: [[1], [1], [3]],
      before: [1, 1, 2],
      after: [2, 1, 0],
    },
  });
  assert.deepEqual([0, 1, 2, 3].map((op) => history.ofOp(op)), [[], [0, 1], [0], [0, 2]]);
  assert.deepEqual(history.touching([1]), [0, 1]);
  assert.deepEqual(history.into(0, [0]), [1]);
});

test("ops that are copies of each other have an end", () => {
  const history = new History({
    sets: [[]],
    ops: { name: ["a", "b"], copied_from: [1, 0], copied_at: [1, 1] },
    events: { pass_name: ["p"], sources: [[1]], targets: [[0]], before: [0], after: [0] },
  });
  assert.deepEqual(history.ofOp(1), [0]);
});
