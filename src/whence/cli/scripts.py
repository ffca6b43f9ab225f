"""Scripts of TVMScript on the command line: a source of kernels, and a form to print them in."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from whence.cli.common import check_uncompiled
from whence.cli.options import TARGET
from whence.dialects.tir import PrimFuncOp, prim_funcs
from whence.reading.textio import decoded
from whence.support.errors import FrontendError, PipelineError, expectation

if TYPE_CHECKING:
    from whence.kernels.functions import Function
    from whence.runtime.values.tensors import Tensor, TensorSpec
    from whence.support.dtypes import Array


def script_module(data: bytes, name: str) -> ModuleOp:
    """Return the kernels of a script's text; raises TextError with each mistake at its place in the file `name`."""
    import whence

    text = decoded(data, name)
    functions = whence.script.from_source(text, file=name)
    return functions.module


@dataclass(frozen=True)
class TVMScript(Target):
    """The kernels of a module as TVMScript, in the spelling of TVM 0.27 or 0.14."""

    name = "tvmscript"
    version: float = 0.27

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        import whence

        # The main function calls kernels, and is none.
        kernels = [func.clone() for func in prim_funcs(module)]
        if not kernels:
            actual = ", ".join(sorted({op.name for op in module.ops})) or "an empty module"
            raise PipelineError(
                expectation("functions", "kernels (-p ..,convert-relay-to-te,convert-te-to-tir)", actual)
            )
        output.write(whence.IRModule.of(ModuleOp(kernels)).script(str(self.version)) + "\n")


@dataclass
class ScriptProgram:
    """The kernel of a script, compiled."""

    function: Function
    names: tuple[str, ...]
    """The names of its arguments in the script."""

    @cached_property
    def specs(self) -> tuple[TensorSpec, ...]:
        """Its arguments in the order of a call: inputs, then outputs."""
        from whence.runtime.values.tensors import TensorSpec

        pairs = zip(self.names, self.function.arguments, strict=True)
        return tuple(TensorSpec(name, shape, dtype) for name, (_, shape, dtype) in pairs)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self.specs[: self.function.inputs]

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self.specs[self.function.inputs :]

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Tensor]:
        """Return the outputs by name."""
        results = self.function(*in_order(inputs, self.inputs))
        found = results if isinstance(results, tuple) else (results,)
        return {spec.name: result for spec, result in zip(self.outputs, found, strict=True)}


def in_order(inputs: Mapping[str, Array], specs: Sequence[TensorSpec]) -> list[Array]:
    """Return the arrays of a kernel's inputs. Raises FrontendError for one that is missing."""
    if missing := [spec for spec in specs if spec.name not in inputs]:
        raise FrontendError(expectation("inputs", f"an array for {missing[0]}", ", ".join(inputs) or "none"))
    return [inputs[spec.name] for spec in specs]


def script_kernel(args: argparse.Namespace, path: Path) -> PrimFuncOp:
    """Return the kernel of a script.

    Raises TextError for mistakes in the script, and PipelineError for options about models, and for several kernels.
    """
    check_uncompiled(args, path, but=("target", "tuned"))
    kernels = list(prim_funcs(script_module(path.read_bytes(), str(path))))
    if len(kernels) != 1:
        raise PipelineError(expectation(str(path), "one function", str(len(kernels))))
    return kernels[0]


def script_program(args: argparse.Namespace, path: Path) -> tuple[ScriptProgram, float]:
    """Compile the kernel of a script for `whence run`; return it, and the seconds that it took.

    Raises errors as `script_kernel`, and PipelineError for sizes that a call decides.
    """
    from whence.kernels.building import build

    if args.profile or args.executor == "graph":
        option = "--profile" if args.profile else "--executor graph"
        raise PipelineError(expectation(option, "a model", f"the script {path}"))
    start = time.perf_counter()
    kernel = script_kernel(args, path)
    function = build(kernel, target=args.target or TARGET, threads=args.threads, tuned=args.tuned)
    if function.sizes:
        raise PipelineError(expectation(str(path), "shapes of numbers", f"sizes {', '.join(function.sizes)}"))
    names = tuple([argument.name_hint or "" for argument in kernel.block.args])
    return ScriptProgram(function, names), time.perf_counter() - start
