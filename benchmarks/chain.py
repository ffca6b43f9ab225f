"""A chain of 10,000 and of 100,000 relay ops through print, parse, every pass, and compile: seconds, and per op.

Nothing recurses over the depth of a graph, and everything is linear in its length: the figures per op stay the same.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from io import StringIO
from typing import TypeVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, TensorType, f32
from xdsl.parser import Parser
from xdsl.printer import Printer

import whence
from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.dialects.relay.elementwise import NegativeOp
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.provenance.builder import LocatedBuilder
from whence.provenance.span import layer_location
from whence.support.garbage import fewer_collections
from whence.universe import UNIVERSE

T = TypeVar("T")


def chain(length: int) -> ModuleOp:
    """`@main`: negative after negative, each op a layer of its own."""
    type_ = TensorType(f32, [1, 16])
    main = FuncOp("main", [type_], [type_], location=layer_location("chain", "chain.mlir", 0))
    builder = LocatedBuilder(main.block)
    value = main.block.args[0]
    main.block.args[0].location = main.location
    for index in range(length):
        with builder.located(layer_location(f"op{index}", "chain.mlir", index)):
            value = builder.add(NegativeOp(value)).result
    with builder.located(main.location):
        builder.add(ReturnOp(value))
    return ModuleOp([main])


def timed(what: str, length: int, run: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = run()
    report(what, length, time.perf_counter() - start)
    return result


def report(what: str, length: int, seconds: float) -> None:
    print(f"{length:7d} ops  {what:32s} {seconds:8.2f} s  {seconds / length * 1e6:8.1f} us per op", flush=True)


def printed(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(module)
    return stream.getvalue()


def parsed(text: str) -> ModuleOp:
    context = Context()
    for name, dialect in UNIVERSE.all_dialects.items():
        context.register_dialect(name, dialect)
    context.load_dialect(Builtin)
    return Parser(context, text).parse_module()


def main() -> None:
    print(f"recursion limit {sys.getrecursionlimit()}")
    for length in (10_000, 100_000):
        module = timed("build", length, lambda length=length: chain(length))
        text = timed("print", length, lambda module=module: printed(module))
        timed("parse", length, lambda text=text: parsed(text))
        with fewer_collections():  # as the compiler does
            run_passes(
                module.clone(),
                relay_pipeline(3),
                on_pass=lambda one, _, seconds, length=length: report(one.name, length, seconds),
            )
        exe = timed("compile", length, lambda module=module: whence.compile(module, threads=1))
        x = np.random.default_rng(0).standard_normal((1, 16)).astype(np.float32)
        result = timed("run", length, lambda exe=exe, x=x: exe(x))
        assert np.array_equal(result, x), "an even number of negatives changed the input"


if __name__ == "__main__":
    main()
