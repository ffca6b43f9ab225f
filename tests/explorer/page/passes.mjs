import assert from "node:assert/strict";
import { test } from "node:test";
import { compared, folded, nextDifference } from "whence/diff/rows";
import { countsOf, runsOf, stepped, stretches, timeText, unitsOf } from "whence/passes/runs";

const run = (stage, changed, kernel = -1) => ({ program: 0, kernel, stage, changed, seconds: 0.1 });
const SESSION = {
  passes: [run(0, false), run(1, true), run(1, false), run(1, false), run(2, true), run(5, true, 3), run(2, false)],
  stages: [{}, { diff: { new: [1, 2], gone: [0], changed: [], moved: [] } }, { diff: null }],
};

test("runs belong to a program, or to one of its kernels", () => {
  assert.deepEqual(runsOf(SESSION, { program: 0, kernel: -1 }), [0, 1, 2, 3, 4, 6]);
  assert.deepEqual(runsOf(SESSION, { program: 0, kernel: 3 }), [5]);
  assert.deepEqual(unitsOf(SESSION), [{ program: 0, kernel: -1 }, { program: 0, kernel: 3 }]);
});

test("runs that changed nothing are put together", () => {
  assert.deepEqual(stretches(SESSION, [0, 1, 2, 3, 4, 6]).map(({ runs }) => runs), [[0], [1], [2, 3], [4], [6]]);
});

test("steps go to what changed something, or to all", () => {
  const runs = [0, 1, 2, 3, 4, 6];
  assert.equal(stepped(SESSION, runs, -1, 0, 1, false), 1);
  assert.equal(stepped(SESSION, runs, -1, 1, 1, false), 4);
  assert.equal(stepped(SESSION, runs, -1, 2, -1, false), 1);
  assert.equal(stepped(SESSION, runs, -1, 2, 1, false), -1);
  assert.equal(stepped(SESSION, runs, -1, 1, 1, true), 2);
  assert.equal(stepped(SESSION, runs, 2, 1, 1, true), 3);
  assert.equal(stepped(SESSION, runs, 2, 0, 1, true), 0, "another stage is shown since");
  assert.equal(stepped(SESSION, runs, 0, 0, -1, true), -1);
});

test("counts are those of the stage's difference", () => {
  assert.deepEqual(countsOf(SESSION, 1), { new: 2, gone: 1, changed: 0, moved: 0 });
  assert.equal(countsOf(SESSION, 0), null);
  assert.equal(countsOf(SESSION, 4), null);
  assert.deepEqual([timeText(-1), timeText(0.0123), timeText(0.1), timeText(12)], ["", "12.3 ms", "0.10 s", "12.00 s"]);
});

const text = (...ops) => ({ lines: ops.map((op) => `line of ${op}`), op: ops });
const STAGES = [{ before: -1, diff: null }, { before: 0, diff: { new: [9], gone: [1], changed: [2], moved: [3] } }, { before: -1, diff: null }];

test("rows say what became of their ops", () => {
  const { rows, related } = compared(STAGES, 0, 1, text(0, 3, 1, 2), text(0, 9, 2, 3));
  assert.deepEqual(rows.map(({ kind, left, right }) => [kind, left, right]), [
    ["same", 0, 0], ["moved", 1, -1], ["gone", 2, -1], ["new", -1, 1], ["changed", 3, 2], ["moved", -1, 3],
  ]);
  assert(related);
});

test("stages that do not come of each other are compared by what they have", () => {
  const { differences, related } = compared(STAGES, 0, 2, text(0, 1), text(1, 4, -1));
  assert.deepEqual([[...differences.new], [...differences.gone], related], [[4], [0], false]);
});

test("long stretches of the same are folded, with some lines around what differs", () => {
  const ops = Array.from({ length: 40 }, (_, k) => k);
  const { rows } = compared(STAGES, 0, 1, text(...ops.map((op) => op + 20)), text(...ops.slice(0, 20).map((op) => op + 20), 9, ...ops.slice(20).map((op) => op + 20)));
  const shown = folded(rows, new Set());
  assert.deepEqual(shown.filter(({ kind }) => kind === "fold").map(({ left, count }) => [left, count]), [[0, 17], [23, 17]]);
  assert.equal(shown.length, 9);
  assert.equal(folded(rows, new Set([0])).length, 25);
  assert.deepEqual([nextDifference(shown, -1, 1), nextDifference(shown, 4, 1), nextDifference(shown, 8, -1)], [4, -1, 4]);
});
