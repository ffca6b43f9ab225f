"""Programs on the prelude's lists, on every executor, against Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import relay
from whence.relay.prelude import Prelude
from whence.support.errors import FrontendError

NUMBERS = [3, 1, 4, 1, 5]


def run(kind: str, mod: relay.IRModule, made: relay.Expr) -> Any:
    return relay.create_executor(kind, mod).evaluate(relay.Function([], made))()


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_functions_on_lists(kind: str) -> None:
    prelude = Prelude()
    _, cons, nil = prelude.get_type("List")
    values: relay.Expr = nil()
    for number in reversed(NUMBERS):
        values = cons(relay.const(number), values)
    x, y = relay.var("x", "int32"), relay.var("y", "int32")
    square = relay.Function([x], x * x)
    minus = relay.Function([x, y], x - y)
    is_odd = relay.Function([x], relay.equal(relay.mod(x, relay.const(2)), relay.const(1)))
    found = relay.Tuple(
        [
            prelude.sum(prelude.map(square, values)),
            prelude.length(prelude.filter(is_odd, values)),
            prelude.foldl(minus, relay.const(0), values),
            prelude.foldr(minus, relay.const(0), values),
            prelude.hd(prelude.rev(values)),
            prelude.nth(values, relay.const(2)),
        ]
    )
    result = run(kind, prelude.mod, found)
    expected = [sum(n * n for n in NUMBERS), 4, -sum(NUMBERS), 3 - (1 - (4 - (1 - 5))), 5, 4]
    assert [int(np.asarray(one)) for one in result] == expected


def test_maps_that_carry_a_state_give_their_lists_as_tvms_do() -> None:
    """`map_accumr` begins at the last element; `map_accuml` at the first, whose result is the last of its list."""
    prelude = Prelude()
    _, cons, nil = prelude.get_type("List")
    values: relay.Expr = nil()
    for number in reversed(NUMBERS):
        values = cons(relay.const(number), values)
    state, x = relay.var("state", "int32"), relay.var("x", "int32")
    ten = relay.const(10)
    step = relay.Function([state, x], relay.Tuple([state * ten + x, state + x]))
    for name, order in (("map_accumr", NUMBERS[::-1]), ("map_accuml", NUMBERS)):
        carried, mapped = relay.TupleWrapper(getattr(prelude, name)(step, relay.const(0), values), 2)
        entries = [prelude.nth(mapped, relay.const(at)) for at in range(len(NUMBERS))]
        result = run("debug", prelude.mod, relay.Tuple([carried, *entries]))
        expected, before = list[int](), 0
        for number in order:
            expected, before = [before + number, *expected], before * 10 + number
        assert [int(np.asarray(number)) for number in result] == [before, *expected]


def test_a_module_gets_the_prelude_once() -> None:
    mod = relay.IRModule()
    mod.import_from_std("prelude.rly")
    with pytest.raises(FrontendError, match="prelude: expected a program without"):
        mod.import_from_std("prelude.rly")
    with pytest.raises(FrontendError, match=r"expected prelude\.rly or nat\.rly, got gradient\.rly"):
        relay.IRModule().import_from_std("gradient.rly")
    with pytest.raises(AttributeError, match='Cannot find global var "no"'):
        _ = Prelude().no
