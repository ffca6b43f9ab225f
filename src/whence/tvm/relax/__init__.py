"""Relax by TVM's names: builders, operators and texts over modules of relay.

>>> from whence import relax
>>> bb = relax.BlockBuilder()
>>> x = relax.Var("x", relax.TensorStructInfo(("n", 4), "float32"))
>>> with bb.function("main", [x]):
...     with bb.dataflow():
...         y = bb.emit_output(relax.op.nn.relu(x))
...     bb.emit_func_output(y)
>>> vm = relax.VirtualMachine(relax.build(bb.get()))
"""

from __future__ import annotations

from typing import Any

from whence.support.rooms import homes_in, name_in


def __getattr__(name: str) -> Any:
    return name_in(__name__, name)


def __dir__() -> list[str]:
    return sorted(homes_in(__name__))
