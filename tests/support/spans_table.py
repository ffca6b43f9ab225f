"""What each relay pass does with spans, as a table: the examples of their docstrings, run.

`python tests/support/spans_table.py` writes it into docs/relay-passes.md.
"""

from __future__ import annotations

from pathlib import Path

from relay_examples import ROWS, Example, examples, pass_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from whence.dialects.relay.core import FuncOp
from whence.passes.registry import Row
from whence.passes.runner import run_passes
from whence.provenance.audit import surviving_leaves
from whence.provenance.ledger import Ledger
from whence.provenance.span import layer_names, leaves

PAGE = Path(__file__).parents[2] / "docs" / "relay-passes.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def _name(op: Operation) -> str:
    name = op.name.removeprefix("relay.")
    return f"{name} @{op.sym_name.data}" if isinstance(op, FuncOp) else name


def _named(op: Operation) -> str:
    """An op and the layers that it is located at; functions that only hold it together are left out."""
    return f"`{_name(op)}` *{', '.join(layer_names(op.location)) or 'nowhere'}*"


def _ops(module: ModuleOp) -> list[Operation]:
    """The ops that a table shows: neither the module nor what ends a block, nor a `@main` that is alone."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    return [
        op
        for op in module.walk()
        if op is not module and not op.has_trait(IsTerminator) and not (len(functions) == 1 and op is functions[0])
    ]


def row_text(row: Row, example: Example) -> str:
    """One line of the table: before, after, and what the ledger says of layers that are gone."""
    module, _ = example.modules()
    before = "<br>".join(map(_named, _ops(module)))
    leaves_before, ledger = surviving_leaves(module), Ledger()
    run_passes(module, [pass_of(row, example)], ledger=ledger, audit=True)
    after = [_named(op) for op in _ops(module)]
    gone = leaves_before - surviving_leaves(module)
    for entry in ledger.entries:
        lost = [
            name for location in entry.before for leaf in leaves(location) if leaf in gone for name in layer_names(leaf)
        ]
        if lost:
            after.append(f"gone: *{', '.join(dict.fromkeys(lost))}*: {entry.reason or entry.pattern}")
    level = str(row.level) if row.tvm else ""
    return f"| `{row.name}` | {row.tvm} | {level} | {before} | {'<br>'.join(after)} |"


def table() -> str:
    head = "| Pass | TVM's name | Level | Before | After |\n|---|---|---|---|---|\n"
    return head + "".join(f"{row_text(row, example)}\n" for row in ROWS for example in examples(row))


def page(text: str) -> str:
    """The text of the page with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
