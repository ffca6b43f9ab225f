"""The examples in the relay passes' docstrings come out as printed, locations and all, and nothing is lost."""

from __future__ import annotations

from io import StringIO

import pytest
from relay_examples import ROWS, Example, examples, pass_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from whence.passes.classes import pass_class
from whence.passes.registry import Row
from whence.passes.runner import run_passes

CASES = [(row, example) for row in ROWS for example in examples(row)]


def printed(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize(("row", "example"), CASES, ids=[row.name for row, _ in CASES])
def test_docstring_example(row: Row, example: Example) -> None:
    module, expected = example.modules()
    run_passes(module, [pass_of(row, example)], audit=True)
    module.verify()
    module.attributes.clear()  # the pool
    assert printed(module) == printed(expected)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_contract_is_complete(row: Row) -> None:
    text = pass_class(row).__doc__ or ""
    assert examples(row), f"{row.name}: expected an example"
    assert all(word in text for word in ("Before: ", "After:", "Locations: ")), f"{row.name}: expected a contract"
