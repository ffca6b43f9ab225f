import assert from "node:assert/strict";
import { test } from "node:test";
import { commandsOf, fileCheck, pipelineOf, quoted, stageBefore } from "whence/copying/commands";
import { commandAt } from "whence/data/sizes";

const made = (changes = {}) => ({ command: "whence explore my net.onnx", model: "my net.onnx", target: "native", opt_level: 3, ...changes });
const run = (spec, stage, changed, kernel = -1) => ({ spec, program: 0, kernel, stage, changed });
const stage = (level, kernel, before) => ({ level, kernel, before, program: 0 });
const SESSION = {
  made_by: made(),
  stages: [stage("relay", -1, -1), stage("relay", -1, 0), stage("te", 0, -1), stage("tir", 0, -1), stage("tir", 0, 3), stage("asm", 0, -1), { ...stage("model", -1, -1), program: -1 }],
  kernels: [{ symbol: "fused", compiler: "" }],
  passes: [run("legalize", 0, false), run("fold{a=1}", 1, true), run("fuse", 1, false), run("simplify", 3, false, 0), run("vectorize", 4, true, 0)],
};
const ids = (session, subject) => commandsOf(session, { line: 0, layer: "", ...subject }).map(({ id }) => id);
const text = (session, id, subject) => commandsOf(session, { line: 0, layer: "", ...subject }).find((command) => command.id === id).text;

test("pipelines lead from the model to a stage", () => {
  assert.deepEqual(pipelineOf(SESSION, 0), []);
  assert.deepEqual(pipelineOf(SESSION, 1), ["legalize", "fold{a=1}"]);
  assert.deepEqual(pipelineOf(SESSION, 3), ["legalize", "fold{a=1}", "fuse", "convert-relay-to-te", "convert-te-to-tir"]);
  assert.deepEqual(pipelineOf(SESSION, 4).slice(5), ["simplify", "vectorize"]);
  assert.equal(pipelineOf(SESSION, 5), null);
});

test("the most fitting command comes first", () => {
  assert.deepEqual(ids(SESSION, { stage: 1 }), ["opt", "where", "python"]);
  assert.deepEqual(ids(SESSION, { stage: 3 }), ["opt", "where", "python"]);
  assert.deepEqual(ids(SESSION, { stage: 4, line: 7 }), ["why", "show", "opt", "where", "python"]);
  assert.deepEqual(ids(SESSION, { stage: 5 }), ["show", "where", "python"]);
  assert.deepEqual(ids(SESSION, { stage: -1, layer: "conv" }), ["where"]);
  assert.deepEqual(ids(SESSION, { stage: 6 }), ["where"]);
  assert.deepEqual(ids({ ...SESSION, made_by: made({ model: "net.tar" }) }, { stage: 1 }), ["where"]);
  assert.deepEqual(ids({ ...SESSION, made_by: made({ model: "ModelProto", command: "whence.explore" }) }, { stage: 1 }), ["python"], "no command reads what has no file");
});

test("words are quoted, and options of the compilation kept", () => {
  assert.equal(quoted("a/b.c-1"), "a/b.c-1");
  assert.equal(quoted("a'b $x"), "'a'\\''b $x'");
  assert.equal(quoted(""), "''");
  const session = { ...SESSION, made_by: made({ opt_level: 2, target: "llvm -mcpu=x" }) };
  assert.equal(text(session, "where", { stage: 1, layer: "it's" }), "whence where 'my net.onnx' -O 2 --target 'llvm -mcpu=x' --layer 'it'\\''s'");
  assert.equal(text(SESSION, "why", { stage: 4, line: 7 }), "whence why 'my net.onnx' --kernel fused --line 7");
  assert.match(text(session, "python", { stage: 1 }), /compile\("my net.onnx", opt_level=2, target="llvm -mcpu=x", snapshots=True\)[^]*stages\[2\]/);
  assert.match(text(SESSION, "python", { stage: 5 }), /get_source\("fused", "s"\)/);
});

test("a test checks the lines that a pass made, whatever its values are called", () => {
  const lines = fileCheck(SESSION, 1, ["%0 = a", "return %0"], ["  %12 = b %x_1, [[1]] {{2}}"]).split("\n");
  assert.equal(lines[0], "// RUN: whence-opt %s -p 'fold{a=1}' | filecheck %s");
  assert.deepEqual(lines.slice(2, 4), ["%0 = a", "return %0"]);
  assert.equal(lines[5], "// CHECK: {{%[^ ,:)\\[]+}} = b {{%[^ ,:)\\[]+}}, {{[[][[]}}1]] {{[{][{]}}2}}");
  assert.equal(stageBefore(SESSION, 4), 3);
  assert.equal(stageBefore(SESSION, 3), -1);
});

test("a command measures at other sizes", () => {
  assert.equal(commandAt("whence explore m.onnx -O 2 --no-times", "n=4,m=2", false), "whence explore m.onnx -O 2 --sizes n=4,m=2");
  assert.equal(commandAt("whence explore m.onnx '--sizes=n=1' --seed=1", "n=4", true), "whence explore m.onnx --seed=1 --sizes n=4 --tensors");
  assert.equal(commandAt("whence explore m.onnx --sizes=n=1 --tensors", "n=4", true), "whence explore m.onnx --tensors --sizes n=4");
  assert.equal(commandAt("whence explore m.onnx", "$(x)", false), "whence explore m.onnx --sizes '$(x)'");
  assert.equal(commandAt("record(model)", "n=4", false), "");
});
