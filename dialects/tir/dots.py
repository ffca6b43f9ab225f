"""Products of small numbers that lie packed in words of 32 bits, summed within the word.

```mlir
%0 = tir.dot2 %a, %b : i32
%1 = tir.dot4 %a, %b : vector<16xi32>
%3 = tir.dot2_bf16 %d, %e : vector<16xi32> -> vector<16xf32>
%2 = tir.widen_pairs %c : vector<16xi16> -> vector<16xi32>
%4 = tir.join_bytes %f, %g, %h, %i : i8 -> i32
```
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import f32, i8, i16, i32
from xdsl.irdl import AnyAttr, IRDLOperation, VarConstraint, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ...provenance.diagnostics import fail
from .lanes import lanes, scalar_type


class Dot(IRDLOperation):
    """Takes words, or vectors of them; the sum wraps around."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    first = operand_def(T)
    second = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$first `,` $second attr-dict `:` type($result)"

    def verify_(self) -> None:
        if scalar_type(self.result.type) != i32:
            fail(self, "words of i32", str(self.result.type))


@irdl_op_definition
class Dot2Op(Dot):
    """The dot product of the two int16 in each word, the one in the low bits first: `a0 * b0 + a1 * b1`."""

    name = "tir.dot2"


@irdl_op_definition
class Dot4Op(Dot):
    """The dot product of the four uint8 in the first word and the four int8 in the second."""

    name = "tir.dot4"


@irdl_op_definition
class DotBf16Op(IRDLOperation):
    """The dot product of the two bfloat16 in each word, the low bits first: `a0 * b0 + a1 * b1` in float32.

    How often that is rounded, and if subnormal numbers count as 0, the machine decides.
    """

    name = "tir.dot2_bf16"
    T: ClassVar = VarConstraint("T", AnyAttr())
    first = operand_def(T)
    second = operand_def(T)
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$first `,` $second attr-dict `:` type($first) `->` type($result)"

    def verify_(self) -> None:
        word, total = self.first.type, self.result.type
        if (scalar_type(word), scalar_type(total), lanes(word)) != (i32, f32, lanes(total)):
            fail(self, "words of i32, and as many sums of f32", f"{word} and {total}")


@irdl_op_definition
class WidenPairsOp(IRDLOperation):
    """Words of two int16 each, out of half words of the same two numbers as int8, the first in the low bits."""

    name = "tir.widen_pairs"
    words = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$words attr-dict `:` type($words) `->` type($result)"

    def verify_(self) -> None:
        half, word = self.words.type, self.result.type
        if (scalar_type(half), scalar_type(word), lanes(half)) != (i16, i32, lanes(word)):
            fail(self, "half words of i16, and as many words of i32", f"{half} and {word}")


@irdl_op_definition
class JoinBytesOp(IRDLOperation):
    """Words of four bytes each, the first in the low bits."""

    name = "tir.join_bytes"
    T: ClassVar = VarConstraint("T", AnyAttr())
    first = operand_def(T)
    second = operand_def(T)
    third = operand_def(T)
    fourth = operand_def(T)
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$first `,` $second `,` $third `,` $fourth attr-dict `:` type($first) `->` type($result)"

    def verify_(self) -> None:
        byte, word = self.first.type, self.result.type
        if (scalar_type(byte), scalar_type(word), lanes(byte)) != (i8, i32, lanes(word)):
            fail(self, "bytes of i8, and as many words of i32", f"{byte} and {word}")
