import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, edited } from "whence/body";
import { Geometry, ROW } from "whence/text/geometry";

/** As Python's `applied` does it. */
const applied = (base, edits) =>
  edits.reduce((lines, [first, gone, come]) => lines.toSpliced(first, gone, ...come), [...base]);

test("edits apply one after the other, forwards and back", () => {
  const base = ["a", "b", "c", "d", "e"];
  for (const edits of [
    [],
    [[0, 0, ["x"]]],
    [[5, 0, ["x", "y"]]],
    [[1, 2, ["x"]], [3, 1, ["y", "z"]]],
    [[3, 1, ["y"]], [0, 2, []], [1, 1, ["x", "x2"]]],
    [[0, 5, []], [0, 0, ["q"]]],
  ]) {
    assert.deepEqual(edited(base, edits), applied(base, edits), JSON.stringify(edits));
  }
});

test("random edits are as those of a list", () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 16807) % 2147483647) % below;
  for (let turn = 0; turn < 200; turn++) {
    let lines = Array.from({ length: random(12) }, (_, line) => `l${line}`);
    const base = [...lines];
    const edits = [];
    for (let count = random(6); count > 0; count--) {
      const first = random(lines.length + 1);
      const edit = [first, random(lines.length - first + 1), Array.from({ length: random(3) }, () => `n${random(99)}`)];
      edits.push(edit);
      lines = applied(lines, [edit]);
    }
    assert.deepEqual(edited(base, edits), lines, JSON.stringify([base, edits]));
  }
});

test("run lengths become columns of the text's length, or an error", () => {
  const body = { base: -1, edits: [], sets: [4, 2, -1, 1], ops: [7, 3], outputs: [[2, 5], [2, 6]], tir: [], exact: [] };
  const columns = columnsOf(body, 3);
  assert.deepEqual([...columns.set], [4, 4, -1]);
  assert.deepEqual(columns.outputs.get(1), [5, 6]);
  assert.equal(columns.tir.length, 0);
  assert.throws(() => columnsOf(body, 4), /shorter than its text/);
  assert.throws(() => columnsOf({ ...body, ops: [7, 1e9] }, 3), /longer than its text/);
  assert.throws(() => columnsOf({ ...body, ops: [7, -1] }, 3), /longer than its text/);
});

test("a line is as high as its units, and rows follow each other", () => {
  const wrapped = new Geometry(4, null, (line) => line + 1);
  assert.equal(wrapped.units, 10);
  assert.deepEqual([0, 1, 2, 3].map((row) => wrapped.unit(row)), [0, 1, 3, 6]);
  assert.deepEqual([0, 1, 2.9, 3, 5.5, 6, 99].map((unit) => wrapped.rowAt(unit)), [0, 1, 1, 2, 2, 3, 3]);
});

test("a filtered text has the rows of its lines", () => {
  const filtered = new Geometry(100, Int32Array.of(3, 50, 99), null);
  assert.deepEqual([0, 1, 2].map((row) => filtered.line(row)), [3, 50, 99]);
  assert.deepEqual([0, 3, 4, 50, 99].map((line) => filtered.row(line)), [0, 0, 1, 1, 2]);
});

test("any line can be scrolled to, however tall the text", () => {
  for (const count of [100, 100_000, 3_000_000]) {
    const geometry = new Geometry(count, null, null);
    const view = 700;
    assert(geometry.height < 10_000_000);
    for (const unit of [0, 1, count >> 1, count - view / ROW]) {
      const top = geometry.scrollTop(unit, view);
      assert(top >= 0 && top <= geometry.height - view + 1e-6, `${count} ${unit} ${top}`);
      assert(Math.abs(geometry.firstUnit(top, view) - unit) < 1e-3);
    }
  }
});
