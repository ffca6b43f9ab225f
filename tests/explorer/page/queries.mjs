import assert from "node:assert/strict";
import { test } from "node:test";
import { linesOf } from "whence/query/lines";
import { SessionModel } from "whence/session";

const row = { name: "imported", level: "relay", program: 0, kernel: -1, before: -1, lines: 2, diff: null };
const head = { layers: { name: [], owner: [], kind: [] }, ops: { name: ["relay.add"] }, sets: [[]], stages: [row], kernels: [], calls: [] };
const body = { base: -1, edits: [[0, 0, ["%0 = relay.add", "}"]]], sets: [-1, 2], ops: [0, 1, -1, 1], outputs: [], tir: [], exact: [] };
const tables = { tables: { lines: { columns: [{ name: "text" }] } }, last: [0], after: { fuse: [0] }, changed: {}, samples: {} };

test("lines are read once for questions about the same ones", async () => {
  const model = new SessionModel({ head, stageBody: async () => body });
  const rows = await linesOf(model, tables, "");
  assert.deepEqual(rows.columns.get("text"), [["%0 = relay.add"], ["}"]]);
  assert.equal(await linesOf(model, tables, ""), rows);
  const after = await linesOf(model, tables, "fuse");
  assert.notEqual(after, rows);
  assert.equal(await linesOf(model, tables, "fuse"), after);
  assert.notEqual(await linesOf(model, { ...tables }, "fuse"), after);
});

test("lines that could not be read are read again", async () => {
  let answers = 0;
  const model = new SessionModel({ head, stageBody: async () => (answers++ ? body : Promise.reject(new Error("gone"))) });
  const own = { ...tables };
  await assert.rejects(linesOf(model, own, ""), /gone/);
  assert.equal((await linesOf(model, own, "")).layers.length, 2);
});
