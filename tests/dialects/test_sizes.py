"""Sizes with symbols: normal forms, comparisons and bounds against plain integer arithmetic on random expressions."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, Builtin, TensorType, f32
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from whence.dialects.relay import Relay
from whence.dialects.sizes import (
    Size,
    SizeExpr,
    UndecidedSize,
    bounds,
    ceil_div,
    common_range,
    decide,
    evaluate,
    known_ranges,
    product,
    proves,
    same,
    size_max,
    size_min,
    substitute,
    symbol,
    symbols_of,
)
from whence.dialects.sizes.text import parse_size
from whence.dialects.sizes.types import extents_of, is_symbolic, tensor_of

BATCH, PAST, SEQ, W = map(symbol, ("batch", "past", "seq", "w"))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((PAST + 1) * 4 - 4, 4 * PAST),
        (12 * SEQ // 12, SEQ),
        (BATCH * SEQ * 768 // (SEQ * 64), 12 * BATCH),
        (BATCH * SEQ // BATCH, SEQ),
        ((PAST + SEQ) * BATCH // (PAST + SEQ), BATCH),
        ((BATCH + SEQ) * (BATCH - SEQ), BATCH * BATCH - SEQ * SEQ),
        (SEQ // 2 // 4, SEQ // 8),
        ((SEQ // 2 + 1) // 4, (SEQ + 2) // 8),
        ((4 * SEQ + 5) // 8, (SEQ + 1) // 2),
        ((SEQ + 21) // 16, (SEQ + 5) // 16 + 1),
        (9 * SEQ // 8, SEQ + SEQ // 8),
        (16 * (SEQ // 16) + SEQ % 16, SEQ),
        (3 * BATCH * (SEQ % 8) + 24 * BATCH * (SEQ // 8), 3 * BATCH * SEQ),
        ((4 * SEQ + 5) % 8, 4 * ((SEQ + 1) % 2) + 1),
        (SEQ % 16 % 4, SEQ % 4),
        (SEQ % 4 // 4, 0),
        (BATCH * SEQ % SEQ, 0),
        ((BATCH * SEQ + 1) // SEQ, BATCH + 1 // SEQ),
        (BATCH * SEQ // (BATCH * PAST), SEQ // PAST),
        (size_min(SEQ, 512, size_min(100, SEQ)), size_min(100, SEQ)),
        (size_max(SEQ, 0), SEQ),
        (size_min(SEQ, SEQ + PAST), SEQ),
        (size_max(size_max(SEQ, W), SEQ + 1), size_max(W, SEQ + 1)),
        (ceil_div(16 * SEQ, 16), SEQ),
        (SEQ - SEQ, 0),
        (SEQ // -3, -SEQ // 3),
    ],
)
def test_equal_sizes_have_one_form(left: Size, right: Size):
    assert same(left, right), f"{left} against {right}"
    assert left == right
    assert hash(left) == hash(right)
    assert str(left) == str(right)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (PAST + 1, "past + 1"),
        (2 * BATCH * SEQ, "2*batch*seq"),
        ((W - 3) // 2 + 2, "(w + 1) floordiv 2"),
        ((W - 2) // 3 * BATCH - 1, "((w + 1) floordiv 3)*batch - batch - 1"),
        (3 - SEQ, "-seq + 3"),
        (SEQ % 4, "seq mod 4"),
        (size_min(SEQ, 512), "min(seq, 512)"),
        (size_min(SEQ, 512) // 2 // (PAST + 1), "(min(seq, 512) floordiv 2) floordiv (past + 1)"),
        # What is 0 where the minimum is, and what is a multiple of what divides it.
        (size_min(2 * SEQ, 1) * SEQ * BATCH, "batch*seq"),
        (size_min(2 * SEQ, 1) * BATCH, "batch*min(2*seq, 1)"),
        ((-SEQ % 4 + SEQ) // 4 * 8 * BATCH, "2*((-seq) mod 4)*batch + 2*batch*seq"),
        ((-SEQ % 4 + SEQ + 1) // 4 * 4, "4*((((-seq) mod 4) + seq + 1) floordiv 4)"),
    ],
)
def test_text(size: Size, text: str):
    assert str(size) == text
    assert same(parse_size(text), size)


def test_other_spellings():
    assert same(parse_size(" (w-3)//2+1"), (W - 3) // 2 + 1)
    assert same(parse_size("seq ceildiv 16 % 3"), (SEQ + 15) // 16 % 3)
    assert same(parse_size("--seq - -2 * w"), SEQ + 2 * W)
    assert parse_size("max(3, 2 * (1 + 4), 7)") == 10


@pytest.mark.parametrize("text", ["", "2 x", "seq +", "(seq", "seq)", "min()", "min", "5 // 0", "a.b", "é!", "(" * 500])
def test_text_that_is_no_size(text: str):
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


@pytest.mark.parametrize("name", ["", "2x", "a b", "min", "floordiv"])
def test_names_that_no_symbol_has(name: str):
    with pytest.raises(ValueError, match="identifier"):
        symbol(name)


def test_comparisons_hold_for_all_values_or_raise():
    assert SEQ + 1 > SEQ
    assert SEQ >= 0
    assert SEQ != SEQ + 1
    assert 0 <= SEQ
    for undecided in (lambda: SEQ == 1, lambda: SEQ != PAST, lambda: SEQ > 0, lambda: 5 < SEQ, lambda: not SEQ):
        with pytest.raises(UndecidedSize, match="seq"):
            undecided()
    with known_ranges({"seq": (1, 512)}):
        assert SEQ > 0
        assert SEQ
        assert SEQ < 513
        assert 513 != SEQ
        assert BATCH * SEQ >= BATCH
        with known_ranges({"seq": (512, 512)}):
            assert SEQ == 512
            assert bounds(SEQ * 2) == (1024, 1024)
        assert decide(SEQ, "==", 512) is None
    assert proves(SEQ, ">=", 0)
    assert not proves(SEQ, ">", 0)
    assert proves(PAST + SEQ + 1, "!=", SEQ)
    assert proves(SEQ, "<", SEQ + 1)
    assert not proves(SEQ, "==", PAST)
    assert SEQ != "seq"


@pytest.mark.parametrize("relation", ["<=", "=="])
def test_a_number_and_its_negative_are_two_questions(relation: str):
    for first, second in ((3, -3), (-5, 5)):
        answers = {number: decide(SEQ, relation, number) for number in (first, second)}
        assert answers == {number: False if number < 0 else None for number in answers}
    assert (SEQ + 7) - (SEQ - 7) == 14
    assert [str(SEQ * number) for number in (2, -2)] == ["2*seq", "-2*seq"]


def test_bounds_know_what_terms_share():
    assert bounds((SEQ + 15) // 16 * 16 - SEQ) == (0, 15)
    assert bounds(SEQ - size_min(SEQ, 512)) == (0, None)
    assert bounds(size_max(SEQ, W) - W) == (0, None)
    assert bounds(BATCH * SEQ - BATCH, {"seq": (1, None)}) == (0, None)
    assert bounds(BATCH * (512 - SEQ), {"seq": (0, 512)}) == (0, None)
    assert bounds(SEQ % 7) == (0, 6)
    assert bounds(SEQ % W, {"w": (1, 9)}) == (0, 8)
    assert bounds((SEQ - 5) // 3, {"seq": (0, 10)}) == (-2, 1)
    assert bounds(7) == (7, 7)


def test_numbers_of_numpy_take_part():
    four = np.int64(4)
    assert same(four * SEQ, 4 * SEQ)
    assert same(SEQ + four, SEQ + 4)
    assert same(four - SEQ, 4 - SEQ)
    assert same(np.int64(20) // SEQ, 20 // SEQ)
    assert evaluate(SEQ // four, {"seq": 9}) == 2


@pytest.mark.parametrize("name", ["and_", "or_", "lshift", "truediv", "pow"])
def test_what_only_numbers_can_do_is_undecided(name: str):
    operation: Callable[[object, object], object] = getattr(operator, name)
    for operands in ((SEQ, 4), (4, SEQ), (SEQ, -SEQ)):
        with pytest.raises(UndecidedSize, match="expected a number, got the size"):
            operation(*operands)
    with pytest.raises(UndecidedSize, match="expected a number, got the size seq"):
        abs(cast(int, SEQ))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "lt"])
def test_no_product_of_a_size_and_a_scale(name: str):
    operation: Callable[[object, object], object] = getattr(operator, name)
    for operands in ((SEQ, 1.5), (1.5, SEQ)):
        with pytest.raises(UndecidedSize, match="expected a number, got the size seq"):
            operation(*operands)


def test_symbols_and_substitution():
    size = BATCH * (SEQ // 2 + size_min(PAST, 3))
    assert symbols_of(size) == ("batch", "past", "seq")
    assert symbols_of(3) == ()
    assert same(substitute(size, {"seq": 2 * W, "past": 7}), BATCH * (W + 3))
    assert evaluate(size, {"batch": 2, "seq": 5, "past": 1}) == 6
    with pytest.raises(KeyError, match="past"):
        evaluate(size, {"batch": 2, "seq": 5})
    with pytest.raises(ZeroDivisionError):
        evaluate(SEQ // PAST, {"seq": 1, "past": 0})
    assert same(product([2, SEQ, 3]), 6 * SEQ)


NAMES = ("a", "b", "n")
VALUES = (0, 1, 2, 3, 7, 16)
OPERATIONS: list[Callable[[Size, Size], Size]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x // y,
    lambda x, y: x % y,
    size_min,
    size_max,
]


def _grown(rng: random.Random, depth: int) -> Callable[[dict[str, Size]], Size]:
    """A random expression, as a function of what its symbols are."""
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.6:
            name = rng.choice(NAMES)
            return lambda values: values[name]
        number = rng.choice([-16, -3, -1, 1, 2, 3, 4, 8, 12, 16])
        return lambda _: number
    combine = rng.choice(OPERATIONS)
    left, right = _grown(rng, depth - 1), _grown(rng, depth - 1)
    return lambda values: combine(left(values), right(values))


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions_are_what_plain_arithmetic_says(seed: int):
    rng = random.Random(seed)
    points = list(itertools.product(VALUES, repeat=len(NAMES)))
    for _ in range(60):
        expression = _grown(rng, rng.choice([1, 2, 3]))
        try:
            size = expression({name: symbol(name) for name in NAMES})
        except ZeroDivisionError:
            continue
        assert same(parse_size(str(size)), size)
        low, high = bounds(size, {"n": (0, 16), "a": (1, 16)})
        for point in rng.sample(points, 25):
            values: dict[str, int] = dict(zip(NAMES, point, strict=True))
            try:
                expected = expression({**values})
            except ZeroDivisionError:
                continue
            assert isinstance(expected, int)
            assert evaluate(size, values) == expected, f"{size} at {values}"
            if values["a"] > 0:
                assert low is None or low <= expected, f"{size} at {values}"
                assert high is None or expected <= high, f"{size} at {values}"


def test_types_read_back():
    type_ = tensor_of(f32, [BATCH, (W - 3) // 2 + 1, 768, size_min(PAST, 3) * 2])
    assert str(type_) == "tensor<?x?x768x?xf32, #relay.sizes<batch, ((w + 1) floordiv 2) - 1, 2*min(past, 3)>>"
    assert is_symbolic(type_)
    assert _parsed(str(type_)) == type_
    assert all(map(same, extents_of(type_), (BATCH, (W - 3) // 2 + 1, 768, size_min(PAST, 3) * 2)))
    assert tensor_of(f32, [2, DYNAMIC_INDEX]) == TensorType(f32, [2, DYNAMIC_INDEX])
    assert tensor_of(f32, [2 * SEQ // SEQ]) == TensorType(f32, [2])
    partly = tensor_of(f32, [SEQ, DYNAMIC_INDEX])
    assert str(partly) == "tensor<?x?xf32, #relay.sizes<seq, ?>>"
    assert _parsed(str(partly)) == partly
    assert not is_symbolic(partly)
    assert isinstance(extents_of(partly)[0], SizeExpr)
    assert extents_of(partly)[1] == DYNAMIC_INDEX


def test_types_in_another_spelling_are_the_same_type():
    assert _parsed("tensor<?xf32, #relay.sizes<1 + past*2 - past>>") == tensor_of(f32, [PAST + 1])


def test_types_that_contradict_themselves():
    with pytest.raises(VerifyException, match="a size for each"):
        extents_of(_parsed("tensor<?x4xf32, #relay.sizes<a, b>>"))
    with pytest.raises(ParseError, match="size"):
        _parsed("tensor<?xf32, #relay.sizes<a b>>")


def _parsed(text: str) -> TensorType[Attribute]:
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Relay)
    type_ = Parser(ctx, text).parse_type()
    assert isinstance(type_, TensorType)
    return cast("TensorType[Attribute]", type_)


def test_ranges_meet_in_one_value():
    assert common_range((0, 4), (4, 9)) == (4, 4)
    assert common_range((3, 3), (3, None)) == (3, 3)
    assert common_range((0, 3), (4, None)) is None
    assert common_range((2, None), (1, None)) == (2, None)


def test_a_symbol_of_one_value_is_that_value():
    n = symbol("n")
    with known_ranges({"n": (4, 4)}):
        assert proves(n, "==", 4)
        assert proves(n * 2, "==", 8)
        assert proves(n, "!=", 5)


@pytest.mark.parametrize(
    "text",
    [
        "*".join(["(a+b+c+d+e+f+g+h+i+j)"] * 20),
        "+".join(f"s{i}" for i in range(1000)),
        "*".join(f"size{i}" for i in range(2000)),
    ],
)
def test_sizes_of_too_many_terms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected sizes of at most"):
        parse_size(text)


def test_sizes_that_double_again_and_again_end() -> None:
    def again(size: Size) -> Size:
        for _ in range(40):
            size = size * size + size
        return size

    with pytest.raises(UndecidedSize, match="expected sizes of at most"):
        again(symbol("n") + symbol("m"))


def test_answers_are_kept_by_their_question():
    n = symbol("kept")
    for _ in range(2):
        assert decide(n, "<=", n + 1) is True
        assert decide(n, "==", n + 1) is False
