"""Functions of te as the operators of the ONNX standard's node tests become them, without their schedules."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

from standard_cases import cases

import whence
from whence.dialects.kernel_context import kernel_context
from whence.dialects.te import FuncOp
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.convert_relay_to_te import ConvertRelayToTePass
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.support.errors import WhenceError


def te_functions(step: int = 1, first: int = 0) -> Iterator[tuple[str, FuncOp]]:
    """Give the functions of every `step`-th node test, each text once, with the name of its test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from functions_of((case.name, case.model) for case in list(cases())[first::step])


def functions_of(models: Iterable[tuple[str, object]]) -> Iterator[tuple[str, FuncOp]]:
    """Give the functions of models, each text once, with the name of the first that has it."""
    seen: set[str] = set()
    machine = Target.parse("native").hardware
    for name, model in models:
        try:
            module = whence.load(model)
            run_passes(module, relay_pipeline(3, machine))
            ConvertRelayToTePass("native").apply(kernel_context(), module)
        except WhenceError:
            # Tests of control flow and of sequences have no kernels.
            continue
        for func in [op for op in module.ops if isinstance(op, FuncOp)]:
            text = str(func).partition("(")[2]
            if text not in seen:
                seen.add(text)
                yield name, func
