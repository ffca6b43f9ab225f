import assert from "node:assert/strict";
import { test } from "node:test";
import { weightOfNodes } from "whence/graph/heat";
import { heatOfLines, weightOfLayers } from "whence/heat";
import { SessionModel } from "whence/session";

const body = (sets, ops) => ({ base: -1, edits: [], sets, ops, outputs: [], tir: [], exact: [] });
const stage = (level, kernel, lines) => ({ name: level, level, program: 0, kernel, before: -1, lines, diff: null });
// Relay: a constant and two ops of conv, a relu, a function of both. Tir: two lines of conv, one of relu.
const bodies = [
  body([1, 3, 2, 1, 3, 1], [1, 1, 0, 2, 2, 1, 3, 1]),
  body([0, 2, 1, 1], [-1, 3]),
  body([0, 2, 1, 1], [-1, 3]),
];
const document = {
  layers: { name: ["conv", "relu"] },
  ops: { name: ["relay.nn.conv2d", "relay.constant", "relay.nn.relu", "relay.func"] },
  sets: [[], [0], [1], [0, 1]],
  stages: [stage("relay", -1, 5), stage("tir", 0, 3), stage("asm", 0, 3)],
  kernels: [{ symbol: "fused", program: 0, slots: [[0], [1]], stages: [1, 2] }],
  calls: [{ name: "first", program: 0, kernel: 0, layers: [1, 2], set: 3 }],
  graphs: [{ level: "model", nodes: { set: [1, 2], flops: [90, 10], bytes: [0, 0] } }],
  times: [
    {
      program: 0,
      calls: [4],
      layers: [[0, 3, true], [1, 1, true]],
      parts: [[[0, 3], [1, 1]]],
      lines: [{ call: 0, stage: 2, line: [0, 1, 3], samples: [5, 30, 10] }],
    },
  ],
};
const model = new SessionModel({ head: document, stageBody: async (number) => bodies[number] });
for (const number of bodies.keys()) await model.columns(number);
const shares = (heat, number) => [...(heatOfLines(model, heat, number, -1)?.shares ?? [])];

test("time goes to the lines that compute, and adds up", () => {
  assert.deepEqual(shares("time", 0), [0, 3 / 8, 3 / 8, 1 / 4, 0]);
  assert.deepEqual(shares("time", 1), [3 / 8, 3 / 8, 1 / 4]);
});

test("samples go before estimates", () => {
  assert.deepEqual(shares("time", 2), [0.75, 0, 0.25]);
});

test("operations are those of the model's graph", () => {
  assert.deepEqual([...weightOfLayers(model, "flops")], [90, 10]);
  assert.deepEqual(shares("flops", 1), [0.45, 0.45, 0.1]);
});

test("what nobody measured has no heat", () => {
  assert.equal(heatOfLines(model, "off", 0, -1), null);
  assert.equal(heatOfLines(model, "bytes", 0, -1), null);
});

test("a node has the change of its layers against the other session, and a call its part of it", () => {
  const layer = (first, seconds) => ({ first, seconds, instructions: [9, 1] });
  const comparison = { layers: [layer(0, [3, 1]), layer(1, [1, 2]), layer(-1, [-1, 5])] };
  const compared = { document: { ...document, comparison } };
  const nodes = { kind: ["input", "node", "node"], set: [0, 1, 2], call: [-1, -1, -1] };
  assert.deepEqual([...weightOfNodes(compared, { level: "model", program: 0, nodes }, "change")], [0, 2, -1]);
  const calls = { level: "calls", program: 0, nodes: { call: [-1, 0] } };
  assert.deepEqual([...weightOfNodes({ document: { ...document, comparison } }, calls, "change")], [0, 1]);
  const untimed = { layers: [{ first: 0, seconds: [-1, -1], instructions: [4, 10] }] };
  const plain = { document: { ...document, comparison: untimed } };
  assert.deepEqual([...weightOfNodes(plain, { level: "model", program: 0, nodes }, "change")], [0, -6, 0]);
  assert.equal(weightOfNodes({ document: { ...document, comparison: null } }, calls, "change"), null);
});

test("lines have the change of their layers, below 0 where they are faster", async () => {
  const layer = (first, seconds) => ({ first, seconds, instructions: [-1, -1] });
  const comparison = { layers: [layer(0, [3, 1]), layer(1, [1, 2])] };
  const compared = new SessionModel({ head: { ...document, comparison }, stageBody: async (number) => bodies[number] });
  for (const number of bodies.keys()) await compared.columns(number);
  const { shares, hottest, signed } = heatOfLines(compared, "change", 1, -1);
  assert.deepEqual([[...shares], hottest, signed], [[1 / 3, 1 / 3, -1 / 3], 1 / 3, true]);
  assert.equal(heatOfLines(compared, "time", 1, -1).signed, false);
  assert.equal(heatOfLines(model, "change", 1, -1), null);
});
