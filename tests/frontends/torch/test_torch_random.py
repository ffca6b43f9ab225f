"""Random programs that write in place, through views of views, to inputs and buffers: as eager torch has them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from random_torch_programs import ARCHIVE, checked, differing, generated, misplaced

from whence import relay

with zipfile.ZipFile(ARCHIVE) as _archive:
    ENTRIES = {name: _archive.read(name) for name in _archive.namelist()}
SEEDS = sorted(int(name.partition(".")[0]) for name in ENTRIES if name.endswith(".pt2"))


@pytest.mark.filterwarnings("ignore:.*callers' arrays are not changed")
@pytest.mark.parametrize("seed", SEEDS)
def test_writes_are_those_of_torch_and_ops_stand_at_the_lines_that_call_them(seed: int):
    data = ENTRIES[f"{seed}.pt2"]
    with np.load(io.BytesIO(ENTRIES[f"{seed}.npz"])) as arrays:
        inputs = [arrays["in0"], arrays["in1"]]
        wanted = [arrays[f"out{at}"] for at in range(len(arrays.files) - 2)]
    module, params = relay.frontend.from_exported_program(data)
    results: Any = relay.create_executor("debug", module, params=params).evaluate()(*inputs)
    found = (
        tuple(value.numpy() for value in cast("list[Any]", results))
        if isinstance(results, list | tuple)
        else results.numpy()
    )
    assert differing(found, wanted) == ""
    assert misplaced(generated(seed), data, f"program_{seed}.py") == ""


def test_programs_that_torch_exports_now(tmp_path: Path):
    """`python tests/support/random_torch_programs.py` does the same with 200."""
    pytest.importorskip("torch")
    results = {seed: checked(seed, tmp_path) for seed in range(1000, 1012)}
    assert {seed: result for seed, result in results.items() if result not in ("", "SKIP")} == {}
