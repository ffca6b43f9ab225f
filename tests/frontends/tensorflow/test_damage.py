"""Damaged and hostile saved models: each is a model still, or ends in one error."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from damaged_saved_models import damaged

import whence
from whence.support.errors import InternalError, WhenceError

DATA = Path(__file__).parent / "data"
SOURCES = [DATA / name for name in ("cnn_saved", "counting_saved", "repeating_saved", "stateful_saved")]
COUNT = 98
"""The number of damaged models; none of them is one of the deeply nested, which take longer."""


def test_each_is_a_model_or_one_error(tmp_path: Path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    numbers = [number for number in range(COUNT) if number % 50 != 49]
    errors: list[tuple[str, WhenceError]] = []
    for number in numbers:
        folder = tmp_path / str(number)
        kind = damaged(number, SOURCES, folder)
        try:
            whence.load(folder, {"image": (1, 16, 16, 3)} if "cnn" in str(SOURCES[number // 8 % 4]) else None)
        except WhenceError as error:
            errors.append((f"{kind} {number}", error))
    assert [(what, str(error)) for what, error in errors if isinstance(error, InternalError)] == []
    assert max(len(str(error)) for _, error in errors) < 2000
    assert len({what.rpartition(" ")[0] for what, _ in errors}) == 7
    assert 2 * len(errors) > len(numbers)
    # Kilobytes: no size that a file states is memory before it is checked.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


@pytest.mark.parametrize(("depth", "calls", "op"), [(3000, 1, "PartitionedCall"), (40, 2, "PartitionedCall")])
def test_functions_in_functions(tmp_path: Path, depth: int, calls: int, op: str):
    from damaged_saved_models import nested

    (tmp_path / "saved_model.pb").write_bytes(nested(depth, calls, op).SerializeToString())
    with pytest.raises(WhenceError, match=r"at most (100 calls inside|20000 steps)") as error:
        whence.load(tmp_path)
    assert not isinstance(error.value, InternalError)
