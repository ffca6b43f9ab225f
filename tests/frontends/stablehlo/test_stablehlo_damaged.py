"""Texts that are no programs, damaged ones, and programs with operators that nothing imports: one error each."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

import whence
from whence.frontends.stablehlo import from_stablehlo
from whence.support.errors import FrontendError

FOLDER = Path(__file__).parents[2] / "exports" / "jax"


def program(body: str, inputs: str = "%x: tensor<2x4xf32>", result: str = "tensor<2x4xf32>") -> bytes:
    types = re.findall(r"tensor<[^>]*>", inputs)
    return f"""
"builtin.module"() ({{
  "func.func"() <{{function_type = ({", ".join(types)}) -> {result}, sym_name = "main"}}> ({{
  ^bb0({inputs}):
{body}
  }}) : () -> ()
}}) : () -> ()
""".encode()


def refused(data: bytes) -> str:
    with pytest.raises(FrontendError) as raised:
        from_stablehlo(data)
    text = str(raised.value)
    assert "\n" not in text
    return text


def in_main(line: str) -> bytes:
    return f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{line}\n  return %x : tensor<4xf32>\n}}".encode()


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("%0 = mine.op %x : tensor<4xf32>", "2:14: expected ops of stablehlo, chlo and func, .*, got mine.op"),
        ("%0 = stablehlo.add %x, %x : tensor<4xf32>, tensor<4xf32>", "2:29: expected the types of 2 operands"),
        ("%0 = stablehlo.select %x, %x, %x : tensor<4xf32>", "2:36: expected the types of 3 operands"),
        ("%0 = stablehlo.add %x, %x : (tensor<4xf32>) -> tensor<4xf32>", "2:29: expected types of 2 operands, got 1"),
        ("%0 = stablehlo.compare XX, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>", "2:24: .*, got XX"),
        ("%0 = stablehlo.reduce_precision %x, format = f32 : tensor<4xf32>", "2:46: expected a format of floats"),
        (
            "%0 = stablehlo.reduce(%x init: %x) applies stablehlo.abs across dimensions = [0] : () -> ()",
            "2:44: expected an op of two values, got stablehlo.abs",
        ),
        ('%0 = stablehlo.constant "x"', "2:25: expected a constant that has a type"),
    ],
)
def test_a_form_that_no_op_has(line: str, error: str):
    assert re.match(f"<memory>:{error}", refused(in_main(line)))


ARGMAX = """
  %0 = stablehlo.iota dim = 0 : tensor<4xi32>
  %1:2 = stablehlo.reduce(%x init: %c), (%0 init: %i) across dimensions = [0]
    : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %2 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
    %4 = stablehlo.select %2, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
  } loc("most")"""


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            '%0 = stablehlo.negate %x {mode = "fast", speed = 3 : i64} : tensor<4xf32> loc("n")',
            r"negate: expected no property 'speed', which is not supported, got 3 \(layer 'n'",
        ),
        (
            '%0:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {k = 2 : i64, largest = false}, '
            "decomposition = @main} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)",
            "top_k: expected no property 'largest', which is not supported, got 0",
        ),
        (
            "%0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f32, "
            "rhs_precision_type = f32, accumulation_type = f64, lhs_component_count = 1, rhs_component_count = 1, "
            "num_primitive_operations = 1, allow_imprecise_accumulation = false> "
            ": (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>",
            "dot_general: expected sums in float32, got f64",
        ),
        (
            "%c = stablehlo.constant dense<1.5> : tensor<f32>\n%i = stablehlo.constant dense<0> : tensor<i32>" + ARGMAX,
            "reduce: expected a start that any value replaces, and a place of at least 0, got 1.5 and 0",
        ),
    ],
    ids=["property", "composite", "algorithm", "start"],
)
def test_what_no_row_asks_for_is_refused(line: str, error: str):
    assert re.search(error, refused(in_main(line)))


def test_bytecode_names_the_way_out(tmp_path: Path):
    (tmp_path / "net.mlir").write_bytes(b"ML\xefR\x0dStableHLO")
    with pytest.raises(FrontendError, match=r"net\.mlir: expected a text of MLIR, .*as_text.*, got bytecode"):
        whence.compile(tmp_path / "net.mlir")


def test_unsupported_operators_are_named_all_at_once():
    ops = """
    %0 = "stablehlo.cholesky"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("jit(f)/Net/solve/cholesky"("net.py":7:2))
    %1 = "stablehlo.custom_call"(%0) <{call_target_name = "lapack"}> : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("a")
    %2 = "mine.op"(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("b"("net.py":8:2 to :9))
    %3 = "stablehlo.rng"(%x, %x, %x) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}>
      : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> loc("c")
    "func.return"(%2) : (tensor<2x4xf32>) -> ()"""
    assert refused(program(ops)) == (
        "<memory>: The following operators are not supported for frontend StableHLO: "
        "cholesky (1 layer: Net/solve/cholesky at net.py:7), custom_call @lapack (1 layer: a), "
        "mine.op (1 layer: b at net.py:8), rng (1 layer: c); random numbers are an input of a model: draw them before, "
        "or compute them from a key of threefry"
    )


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            """
    %c = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %0 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.subtract"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32> loc("sums")
    "func.return"(%0) : (tensor<2xf32>) -> ()""",
            r"reduce: expected a reduction by one operator among add, .*, got subtract, return \(layer 'sums'",
        ),
        (
            """
    %0 = "stablehlo.constant"() <{value = dense_resource<__elided__> : tensor<2x4xf32>}> : () -> tensor<2x4xf32>
    %1 = "stablehlo.add"(%x, %0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    "func.return"(%1) : (tensor<2x4xf32>) -> ()""",
            r"expected the elements of a constant of tensor<2x4xf32>, got one that its printer left out",
        ),
        (
            """
    %0 = "stablehlo.constant"() <{value = dense_resource<w> : tensor<2x4xf32>}> : () -> tensor<2x4xf32>
    "func.return"(%0) : (tensor<2x4xf32>) -> ()""",
            r"got one of a resource that is not there",
        ),
        (
            """
    %0 = "func.call"(%x) <{callee = @main}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    "func.return"(%0) : (tensor<2x4xf32>) -> ()""",
            r"expected at most 50 calls in each other, got more, or functions that call themselves",
        ),
        (
            """
    %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 0, 0>}> : (tensor<2x4xf32>) -> tensor<2x2xf32> loc("t")
    "func.return"(%0) : (tensor<2x2xf32>) -> ()""",
            r"transpose: expected an order of 2 axes, got \[0, 0\] \(layer 't'",
        ),
        (
            """
    %0 = "stablehlo.abs"(%x) : (tensor<2x4xf32>) -> tensor<4x2xf32> loc("t")
    "func.return"(%0) : (tensor<4x2xf32>) -> ()""",
            r"abs: expected a result of float32\[4, 2\], as the model says, got float32\[2, 4\]",
        ),
    ],
    ids=["body", "elided", "resource", "recursion", "permutation", "type"],
)
def test_one_error(body: str, error: str):
    assert re.search(error, refused(program(body, result=re.findall(r"-> (tensor<[^>]*>)", body)[-1])))


def test_large_constants_are_read_from_their_digits():
    digits = "0000803F" * 20
    body = f"""
    %0 = "stablehlo.constant"() <{{value = dense<"0x{digits}"> : tensor<20xf32>}}> : () -> tensor<20xf32>
    %1 = "stablehlo.add"(%x, %0) : (tensor<20xf32>, tensor<20xf32>) -> tensor<20xf32>
    "func.return"(%1) : (tensor<20xf32>) -> ()"""
    inputs, result = "%x: tensor<20xf32>", "tensor<20xf32>"
    executable = whence.compile(from_stablehlo(program(body, inputs, result)))
    np.testing.assert_array_equal(executable(np.arange(20, dtype=np.float32)), np.arange(1, 21, dtype=np.float32))
    short = body.replace(f"0x{digits}", f"0x{digits[8:]}")
    assert "expected the bytes of a constant of float32[20], got 76" in refused(program(short, inputs, result))


_WORDS = re.compile(rb"[A-Za-z_]+|[0-9]+|[^\sA-Za-z_0-9]")


def damaged(rng: random.Random, data: bytes) -> bytes:
    """A text with a word or a number changed, lost, doubled or moved, or cut off."""
    words = [match.span() for match in _WORDS.finditer(data)]
    begin, end = rng.choice(words)
    other = data[slice(*rng.choice(words))]
    match rng.randrange(6):
        case 0:
            return data[:begin] + data[end:]
        case 1:
            return data[:end] + data[begin:end] + data[end:]
        case 2:
            return data[:begin] + other + data[end:]
        case 3:
            return data[:begin] + str(rng.choice([-1, 0, 3, 1 << 40])).encode() + data[end:]
        case 4:
            return data[:begin]
        case _:
            return data[:begin] + rng.choice([b"f64", b"?", b"<", b'"', b"#", b"%0", b"\xff"]) + data[end:]


@pytest.mark.parametrize("name", ["branches", "printed/contractions", "printed/indexed", "printed/loops", "order"])
def test_damaged_texts(name: str):
    """Each is a program still, or one error of one line."""
    whole = (FOLDER / f"{name}.mlir").read_bytes()
    # What stands behind the ops is locations.
    data = whole[: whole.index(b"\n", whole.rindex(b"\n}") + 1)]
    rng = random.Random(name)
    refusals: list[str] = []
    for _ in range(60):
        try:
            from_stablehlo(damaged(rng, data))
        except FrontendError as error:
            refusals.append(str(error))
    assert len(refusals) > 20
    assert not any("\n" in text or "bug" in text for text in refusals)
