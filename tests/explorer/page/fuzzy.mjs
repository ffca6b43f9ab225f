import assert from "node:assert/strict";
import { test } from "node:test";
import { letters, match } from "whence/fuzzy";

const best = (query, ...texts) =>
  texts
    .map((text) => ({ text, hit: match(query, text) }))
    .filter(({ hit }) => hit)
    .sort((a, b) => b.hit.score - a.hit.score)
    .map(({ text }) => text);

test("letters match in order", () => {
  assert.deepEqual(match("cnv", "conv").at, [0, 2, 3]);
  assert.equal(match("vnc", "conv"), null);
  assert.deepEqual(match("CONV".toLowerCase(), "nn.Conv2d").at, [3, 4, 5, 6]);
});

test("beginnings of words and whole words come first", () => {
  assert.deepEqual(best("fo", "unifold", "fold_constant", "FuseOps"), ["fold_constant", "FuseOps", "unifold"]);
  assert.deepEqual(best("relu", "fused_nn_relu_add", "relu", "re_l_u"), ["relu", "fused_nn_relu_add", "re_l_u"]);
  assert.deepEqual(match("fn", "fused_nn").at, [0, 6]);
  assert.deepEqual(match("fo", "FuseOps").at, [0, 4]);
  assert.deepEqual(match("fc", "fac_conv").at, [0, 4]);
});

test("a jump to the beginning of a word never loses a match", () => {
  assert.deepEqual(match("ab", "xa b a").at, [1, 3]);
  assert(match("aa", "ba_a"));
  assert(match("oc", "fold_constant_ops"));
});

test("spaces of a query need not be there", () => {
  assert.deepEqual(match("fuse ops", "FuseOps").at, [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(match("a b", "xa b").at, [1, 2, 3]);
});

test("a text that matches has all bits of the query", () => {
  for (const [query, text] of [["cnv", "conv"], ["a_1", "xA_21"], ["é", "É"]])
    if (match(query, text)) assert.equal(letters(query) & ~letters(text.toLowerCase()), 0);
});
