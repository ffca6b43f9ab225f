import assert from "node:assert/strict";
import { test } from "node:test";
import { align, compose, history } from "whence/diff/compose";
import { descent } from "whence/diff/descent";
import { grown } from "whence/diff/open";
import { unified } from "whence/diff/rows";

const stage = (before, diff) => ({ before, diff: diff && { new: [], gone: [], changed: [], moved: [], ...diff } });
const sorted = (differences) =>
  Object.fromEntries(Object.entries(differences).map(([kind, ops]) => [kind, [...ops].sort((a, b) => a - b)]));

const STAGES = [
  stage(-1, null),
  stage(0, { new: [10, 11], gone: [1], changed: [2] }),
  stage(1, { new: [12], gone: [10], changed: [11, 3] }),
  stage(2, { new: [1], gone: [2], moved: [3] }),
  stage(-1, null),
];

test("a stage's history goes back to the first", () => {
  assert.deepEqual(history(STAGES, 3), [0, 1, 2, 3]);
  assert.deepEqual(history([stage(1, null), stage(0, null)], 0), [1, 0], "a circle of a damaged document ends");
});

test("differences of several passes are put together", () => {
  assert.deepEqual(sorted(compose(STAGES, 0, 1)), { new: [10, 11], gone: [1], changed: [2], moved: [] });
  assert.deepEqual(sorted(compose(STAGES, 0, 2)), { new: [11, 12], gone: [1], changed: [2, 3], moved: [] });
  assert.deepEqual(sorted(compose(STAGES, 0, 3)), { new: [11, 12], gone: [2], changed: [3], moved: [3] });
  assert.deepEqual(sorted(compose(STAGES, 2, 2)), { new: [], gone: [], changed: [], moved: [] });
});

test("backwards, what is new is gone", () => {
  assert.deepEqual(sorted(compose(STAGES, 2, 0)), { new: [1], gone: [11, 12], changed: [2, 3], moved: [] });
  assert.equal(compose(STAGES, 0, 4), null);
});

const text = (...lines) => ({ lines: lines.map(([line]) => line), op: lines.map(([, op]) => op) });

test("lines of the same op stand side by side, whatever their values are called", () => {
  const a = text(["def {", -1], ["%0 = a", 0], ["%1 = norm", 1], ["%2 = relu(%1)", 2], ["}", -1]);
  const b = text(["def {", -1], ["%0 = a", 0], ["%1 = sqrt", 5], ["%2 = mul", 6], ["%3 = relu(%2)", 2], ["}", -1]);
  assert.deepEqual(
    align(a, b).map(({ left, right }) => [left, right]),
    [[0, 0], [1, 1], [2, -1], [-1, 2], [-1, 3], [3, 4], [4, 5]],
  );
});

test("of ops that changed their order the most stay", () => {
  const a = text(["a", 0], ["b", 1], ["c", 2], ["d", 3]);
  const b = text(["d", 3], ["a", 0], ["b", 1], ["c", 2]);
  assert.deepEqual(
    align(a, b).map(({ left, right }) => [left, right]),
    [[-1, 0], [0, 1], [1, 2], [2, 3], [3, -1]],
  );
  const lines = (rows, side) => rows.map((row) => row[side]).filter((line) => line >= 0);
  assert.deepEqual(lines(align(a, b), "left"), [0, 1, 2, 3]);
  assert.deepEqual(lines(align(a, b), "right"), [0, 1, 2, 3]);
});

// One pass unpacks op 2 (a norm) into 10, 11 and 12; the next folds 12 over 13, which only it saw, into 1 (now 20).
const SESSION = {
  stages: [
    stage(-1, null),
    stage(0, { new: [10, 11, 12], gone: [2], changed: [3] }),
    stage(1, { new: [20], gone: [1, 12], changed: [3] }),
    stage(-1, null),
  ],
  passes: [{ changed: true, stage: 1 }, { changed: false, stage: 1 }, { changed: true, stage: 2 }],
  events: { run: [0, 2, 2, -1], sources: [[2], [12], [1, 13], [3]], targets: [[10, 11, 12], [13], [20], [10]] },
};
const TEXTS = [
  text(["def {", -1], ["conv", 1], ["norm", 2], ["relu", 3], ["}", -1]),
  text(["def {", -1], ["conv", 1], ["sqrt", 10], ["add", 11], ["mul", 12], ["relu", 3], ["}", -1]),
  text(["def {", -1], ["sqrt", 10], ["add", 11], ["conv", 20], ["relu", 3], ["}", -1]),
];
const way = (first, second) => descent(SESSION, first, second, TEXTS[first], TEXTS[second]);

test("what is new came out of what the ledger says", () => {
  const split = way(0, 1);
  assert.deepEqual([...split.before], [0, 1, -1, -1, -1, 3, 4]);
  assert.deepEqual([...split.after], [0, 1, -1, 5, 6]);
  assert.deepEqual([2, 3, 4].map(split.origin), [2, 2, 2]);
  assert.equal(split.fate(2), 2, "the first of the lines that it became");
  assert.deepEqual(split.changes, [2, 3, 4, 5]);
});

test("what is gone went into what the ledger says, over ops that no stage has", () => {
  const folded = way(1, 2);
  assert.deepEqual([1, 4].map(folded.fate), [3, 3]);
  assert.equal(folded.origin(3), 1);
});

test("ways go over several passes, and back", () => {
  assert.equal(way(0, 2).fate(2), 1);
  assert.equal(way(0, 2).origin(3), 1);
  const back = way(2, 0);
  assert.deepEqual([...back.before], [0, -1, -1, 4, 5]);
  assert.equal(back.origin(2), 1, "the norm came together of what it became");
  assert.equal(back.fate(3), 1);
  assert.equal(descent(SESSION, 0, 3, TEXTS[0], TEXTS[1]), null);
});

test("in a narrow pane a line that changed is there twice, a run of them first as it was", () => {
  const row = (kind, left, right) => ({ kind, left, right, count: 0 });
  const rows = [row("same", 0, 0), row("changed", 1, 1), row("changed", 2, 2), row("new", -1, 3), row("moved", 3, 4)];
  assert.deepEqual(
    unified(rows).map(({ kind, left, right }) => [kind, left, right]),
    [["same", 0, 0], ["changed", 1, -1], ["changed", 2, -1], ["changed", -1, 1], ["changed", -1, 2], ["new", -1, 3], ["moved", 3, 4]],
  );
});

test("a difference has room for two texts where the page has it", () => {
  const panes = [{ grow: 1 }, { grow: 1 }, { grow: 2 }];
  const part = (width) => grown(panes, width) / (4 + grown(panes, width));
  for (const width of [1100, 1280, 1600]) assert.ok(part(width) * (width - 10) >= 700 && part(width) <= 0.7, String(width));
  assert.ok(Math.abs(grown([{ grow: 1 }], 3000) - 2) < 1e-9);
  assert.equal(grown(panes, 800), 2);
});
