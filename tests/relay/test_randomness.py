"""Random numbers of keys, as TVM's builders and texts have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import relay
from whence.dialects.relay.threefry import Words, encrypted
from whence.support.errors import WhenceError

ops: Any = relay
VERSION = '#[version = "0.0.5"]\n'


def run(expr: Any) -> Any:
    mod = relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([], expr)))
    return relay.create_executor("vm", relay.fromtext(mod.astext())).evaluate()()


def words_of(seed: int, count: int) -> np.ndarray[Any, Any]:
    """The words that the cipher gives for the first numbers of a seed."""
    key = [np.uint64(seed), *[np.uint64(0)] * 3]
    with np.errstate(over="ignore"):
        blocks = [encrypted(Words, key, [np.uint64(at)] * 4) for at in range(-(-count // 4))]
    return np.array(blocks, np.uint64).reshape(-1)[:count]


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 23), ("float64", 52)])
def test_even_numbers(dtype: str, bits: int) -> None:
    key, numbers = run(ops.random.uniform(ops.random.threefry_key(5), (3, 3), dtype, low=-1.0, high=3.0))
    fractions = (words_of(5, 9) >> np.uint64(64 - bits)).astype(np.float64) / 2.0**bits
    np.testing.assert_allclose(numbers, (fractions * 4 - 1).reshape(3, 3).astype(dtype), rtol=1e-6)
    assert key[7] == 12


def test_normal_numbers() -> None:
    _, numbers = run(ops.random.normal(ops.random.threefry_key(1), (20, 500), mean=3.0, scale=2.0))
    spread = (np.asarray(numbers, np.float64) - 3) / 2
    np.testing.assert_allclose([spread.mean(), spread.std(), (spread**2 < 1).mean()], [0, 1, 0.6827], atol=0.03)


def test_keys_split() -> None:
    left, right = relay.TupleWrapper(ops.random.threefry_split(ops.random.threefry_key(2**200 + 1)), 2)
    draws = [relay.TupleWrapper(ops.random.threefry_generate(key, (16,)), 2)[1] for key in (left, right)]
    first, second = run(relay.Tuple(draws))
    assert len({*np.asarray(first).tolist(), *np.asarray(second).tolist()}) == 32


def test_texts_of_even_numbers() -> None:
    call = 'random.uniform(%k, 0f, 1f, out_shape=[4], out_dtype="float32")'
    mod = relay.fromtext(f"{VERSION}def @main(%k: Tensor[(10), uint64]) {{ {call} }}")
    key = np.array([5, 0, 0, 0, 0, 0, 0, 0, 1 << 63, 0], np.uint64)
    _, numbers = relay.create_executor("vm", mod).evaluate()(key)
    np.testing.assert_array_equal(numbers, (words_of(5, 4) >> np.uint64(41)).astype(np.float32) / 2**23)


def test_what_is_no_key_is_refused() -> None:
    with pytest.raises(WhenceError, match="expected a key of 10 uint64"):
        run(ops.random.threefry_generate(ops.const([1, 2, 3], "uint64"), (4,)))
    with pytest.raises(WhenceError, match="expected a dtype among float32, float64, got int8"):
        ops.random.uniform(ops.random.threefry_key(1), (4,), "int8")
