"""Values to JSON values and back, by their types."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, NamedTuple, cast

import ml_dtypes
import numpy as np
import pytest

from whence.support.codec import Codec, Leaf, whole
from whence.support.errors import FrontendError


class Slot(NamedTuple):
    kind: Literal["io", "arena"]
    at: int | Value


class Value(NamedTuple):
    place: int


@dataclass(frozen=True)
class Spec:
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]


@dataclass(frozen=True)
class Sized(Spec):
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program:
    specs: tuple[Spec | Sized, ...]
    slots: tuple[Slot, ...]
    copies: dict[tuple[int, str], Slot | None]
    ratio: float
    on: frozenset[str] = frozenset()
    more: Any = None
    met: int = field(default=0, init=False)


WHOLE = Program(
    specs=(
        Spec("a", (1, 2), np.dtype(ml_dtypes.bfloat16)),
        Sized("b", (), np.dtype(bool)),
        Sized("c", (-1,), np.dtype("int8"), ("n",)),
    ),
    slots=(Slot("io", 1), Slot("arena", Value(3))),
    copies={(1, "x"): Slot("io", 2), (2, "y"): None},
    ratio=1.5,
    on=frozenset({"z", "y"}),
    more={"a": [1, None]},
)


def test_values_come_back_with_their_classes():
    text = Codec().text(WHOLE)
    assert json.loads(text)["slots"] == [["io", 1], ["arena", [3]]], "rows are lists"
    assert json.loads(text)["on"] == ["y", "z"], "equal values give equal texts"
    back = Codec().decode(Program, json.loads(text), "program")
    assert back == WHOLE
    assert [type(spec) for spec in back.specs] == [Spec, Sized, Sized]
    assert isinstance(back.slots[1].at, Value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("specs", 1, "dtype"), "x", 'specs[1].dtype: expected a dtype, got "x"'),
        (("specs", 0, "shape", 1), True, "specs[0].shape: expected whole numbers, got true"),
        (("slots", 1, 1), "x", 'slots[1][1]: expected a whole number, got "x"'),
        (("slots", 0), ["io"], "slots[0]: expected a list of 2, got a list"),
        (("slots", 0, 0), "param", 'slots[0][0]: expected one of io, arena, got "param"'),
        (("copies", 0, 0, 1), 2, "copies[0][0][1]: expected a text, got 2"),
        (("ratio",), "x", 'ratio: expected a number, got "x"'),
        (("on",), None, "on: expected texts, got null"),
    ],
)
def test_values_of_other_types_are_named(path: tuple[Any, ...], value: object, message: str):
    data = json.loads(Codec().text(WHOLE))
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(FrontendError) as error:
        Codec().decode(Program, data, "program")
    assert str(error.value) == f"program: {message}"


def test_a_codec_has_types_of_its_own():
    number = Annotated[int, "a number of a table"]
    table = ["x", "y"]
    numbers = Leaf("number of a text", frozenset([int]), reader=table.__getitem__, writer=table.index, type=str)
    codec = Codec({number: numbers, int: whole(9)})

    @dataclass
    class Row:
        at: Any
        limit: int

    Row.__annotations__ = {"at": number, "limit": int}
    assert codec.encode(Row("y", 3)) == {"at": 1, "limit": 3}
    assert codec.decode(Row, {"at": 1, "limit": 3}, "row") == Row("y", 3)
    with pytest.raises(FrontendError, match="row: limit: expected a whole number, got 10"):
        codec.decode(Row, {"at": 1, "limit": 10}, "row")


def test_a_value_of_no_type_is_refused():
    with pytest.raises(TypeError, match=r"expected a type that JSON has a form for, got .*int64"):
        Codec().text(replace(WHOLE, slots=(Slot("io", cast(int, np.int64(1))),)))
