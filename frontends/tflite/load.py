"""Reads a model and checks it, before anything is converted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ...runtime.interpreting.flow import Region
from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing.custom import NO_CUSTOM_OPS, CustomOps
from ..importing.files import read_model
from ..importing.unsupported import Call, refuse
from .checks import check
from .convert import CONVERTERS
from .model import ModelFile, Subgraph
from .program import CALL, COMPOSITE, CONTROL, Builder, operator_name
from .variables import ASSIGN, HANDLE, ONCE, READ, run_by


@dataclass(frozen=True, eq=False)
class Source:
    """A loaded and checked model."""

    model: ModelFile
    region: Region
    """Its steps."""
    builder: Builder


Evaluated: TypeAlias = Callable[[Builder, Region], Sequence[Array]]


def load(
    model: bytes | str | os.PathLike[str] | Any,
    evaluated: Evaluated,
    signature: str | None = None,
    keep: bool = False,
    custom_ops: CustomOps = NO_CUSTOM_OPS,
) -> Source:
    """Read and check a model: a path, the bytes of a file, or a `tflite.Model`.

    signature: the key of one of the model's signatures; by default its first subgraph is the program.
    evaluated: computes the outputs of a region without inputs.
    keep: whether variables that a call changes are kept for the next call (`program.Builder`).
    custom_ops: the operators that Python functions compute.
    Raises FrontendError for damaged and other files, and for unsupported operators.
    """
    if isinstance(model, bytes):
        return _checked(ModelFile(model, "<memory>"), evaluated, signature, keep, custom_ops)
    if not isinstance(model, str | os.PathLike):
        return _checked(ModelFile(_bytes(model), "<memory>"), evaluated, signature, keep, custom_ops)
    path, data = read_model(cast("str | os.PathLike[str]", model), "TFLite")
    return _checked(ModelFile(data, path.name), evaluated, signature, keep, custom_ops)


def _bytes(model: Any) -> bytes:
    """Return the bytes of the file of a `tflite.Model`."""
    table = getattr(model, "_tab", None)
    if table is None or not hasattr(table, "Bytes"):
        raise FrontendError(f"expected a TFLite model as a path, bytes or a tflite.Model, got {type(model).__name__}")
    return bytes(table.Bytes)


def _checked(
    model: ModelFile, evaluated: Evaluated, signature: str | None, keep: bool, custom_ops: CustomOps
) -> Source:
    if not model.subgraph_count:
        raise model.fail("a model with a subgraph", "none")
    index, chosen = 0, None
    if signature is not None:
        known = {signature_.key: signature_ for signature_ in model.signatures()}
        if signature not in known:
            raise model.fail(f"a signature among {', '.join(known) or 'none'}", repr(signature))
        chosen = known[signature]
        index = chosen.subgraph
    _check_supported(model, index, custom_ops)
    builder = Builder(model, evaluated, keep, custom_ops)
    region = builder.main(index, chosen)
    if not region.outputs:
        raise model.fail("a graph with at least one output", "none")
    return Source(model, region, builder)


_FOLLOWED = {CALL, COMPOSITE, *CONTROL, HANDLE, READ, ASSIGN, ONCE}
"""Operators that do not become relay operators."""


def _check_supported(model: ModelFile, main: int, custom_ops: CustomOps) -> None:
    """Raise FrontendError about all unsupported operators at once, those of subgraphs included; then check graphs."""
    calls: list[Call] = []
    graphs: list[Subgraph] = []
    waiting, seen = [main], {main}
    while waiting:
        graph = model.subgraph(waiting.pop())
        graphs.append(graph)
        for operator in graph.operators:
            if operator.op in _FOLLOWED:
                inner = run_by(operator).values()
                waiting += [index for index in dict.fromkeys(inner) if index not in seen]
                seen.update(inner)
            elif not custom_ops.has(operator_name(operator)) and operator.op not in CONVERTERS:
                names = ", ".join(graph.tensors[at].name for at in operator.outputs) or f"operator {operator.index}"
                calls.append(Call(operator_name(operator), names))
    refuse(model.file, "TFLite", calls, CONVERTERS)
    for graph in graphs:
        check(model, graph)
