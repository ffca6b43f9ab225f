"""Seconds of compiling per level, at n, 2n and 4n: a chain of operators, many calls, one Concat, graphs of many shapes.

chain: relus and additions by turns, fused into few kernels. calls: the same without fusion, one call per operator.
concat: one Concat of n equal parts; uneven concat: of parts of five sizes. The last column is the time at 4n over that
at n: 4 is linear. answers, and answers, calls (without fusion): what `whence where --all` and `why --all` take of a
compiled chain, and compiling it with a snapshot after every pass. Of each shape of graph that reads values twice
(`tests/support/dag_shapes.py`; as trees they have 2 ** n operators) it shows the time in all, and the lines of loops
that were made.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import SSAValue

import whence
from whence.dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.elementwise import AddOp, ReluOp
from whence.dialects.relay.transform import ConcatenateOp
from whence.executables.executable import Executable
from whence.explorer.overview import overview
from whence.explorer.why import why_all
from whence.lowering.cache import KernelCache
from whence.lowering.kernel.record import Kernel
from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.emit import emit_module
from whence.lowering.llvm_to_native.target import Target
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.planning.assemble import assemble
from whence.planning.build import compile_kernels
from whence.planning.main_program import main_program
from whence.provenance.builder import LocatedBuilder
from whence.provenance.ledger import Ledger
from whence.provenance.span import layer_location
from whence.support.context import PassContext
from whence.support.garbage import fewer_collections

T = TypeVar("T")
Times = dict[str, float]


class Clock:
    """Seconds of processor time by level, of all threads: other processes do not count."""

    def __init__(self) -> None:
        self.seconds: Times = {}

    def __call__(self, level: str, run: Callable[[], T]) -> T:
        start = time.process_time()
        result = run()
        self.seconds[level] = self.seconds.get(level, 0.0) + time.process_time() - start
        return result


def network(arguments: list[tuple[int, ...]], result: tuple[int, ...]) -> tuple[ModuleOp, LocatedBuilder]:
    """A module with an empty `@main`, and what fills it."""
    types = [TensorType(f32, shape) for shape in arguments]
    main = FuncOp("main", types, [TensorType(f32, result)], location=layer_location("main", "net", 0))
    for argument in main.block.args:
        argument.location = main.location
    return ModuleOp([main]), LocatedBuilder(main.block, main.location)


def chain(length: int) -> ModuleOp:
    module, builder = network([(1, 16)], (1, 16))
    step = builder.add(ConstantOp.of(np.array(0.001, np.float32), module, "step")).result
    value: SSAValue = builder.block.args[0]
    for index in range(length):
        with builder.located(layer_location(f"layer{index}", "net", index)):
            value = builder.add(ReluOp(value) if index % 2 else AddOp(value, step)).result
    builder.add(ReturnOp(value))
    return module


def concat(parts: int, *, uneven: bool = False) -> ModuleOp:
    widths = [3 + index * 7 % 5 if uneven else 3 for index in range(parts)]
    module, builder = network([(4, width) for width in widths], (4, sum(widths)))
    with builder.located(layer_location("concat", "net", 0)):
        value = builder.add(ConcatenateOp(*builder.block.args, axis=1)).result
    builder.add(ReturnOp(value))
    return module


def _silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def compile_whole(module: ModuleOp, opt_level: int) -> Times:
    """All kernels at once, by `compile_kernels`; the passes one by one."""
    clock, target = Clock(), Target.native()
    ledger = Ledger()
    with PassContext(opt_level):
        for one in relay_pipeline(opt_level):
            clock(one.name, lambda one=one: run_passes(module, [one], ledger=ledger))
    off = KernelCache(enabled=False)
    kernels, kernel_of, _, sizes = clock("kernels", lambda: compile_kernels(module, target, off, _silent))
    assembly = clock("assemble", lambda: assemble(module, kernels, kernel_of, kernel_sizes=sizes))
    main = clock("main program", lambda: main_program(assembly))
    text = clock("main text", lambda: emit_module(main, target=target))
    clock("main native", lambda: compile_text(text, target))
    return clock.seconds


def answers(length: int, opt_level: int) -> Times:
    """The questions about all layers and kernels of a chain, and snapshots of it after every pass."""
    clock = Clock()
    executable = clock("compile", lambda: whence.compile(chain(length), opt_level=opt_level))
    kept = clock("compile, snapshots", lambda: whence.compile(chain(length), opt_level=opt_level, snapshots=True))
    assert len(kept.snapshots) > len(relay_pipeline(opt_level))
    del kept
    overviewed = clock("where, all layers", lambda: overview(executable.artifact))
    whys = clock("why, all kernels", lambda: list(why_all(executable.artifact)))
    assert len(overviewed.rows) >= length
    assert len(whys) == len(executable.artifact.kernels)
    return clock.seconds


def report(title: str, sizes: list[int], run: Callable[[int], Times]) -> None:
    with fewer_collections():
        found = [run(size) for size in sizes]
    print(f"{title:24}" + "".join(f"{size:>10}" for size in sizes) + f"{'4n / n':>10}")
    total = [sum(times.values()) for times in found]
    for level in (*found[0], "all"):
        row = total if level == "all" else [times[level] for times in found]
        if level == "all" or row[-1] > 0.02 * total[-1]:
            print(f"  {level:22}" + "".join(f"{one:10.3f}" for one in row) + f"{row[-1] / max(row[0], 1e-9):10.1f}")
    print(flush=True)


def graph_shapes() -> Mapping[str, Callable[[int], ModelProto]]:
    """The graphs that the tests have, by their names."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    return cast(Mapping[str, Callable[[int], ModelProto]], import_module("dag_shapes").SHAPES)


def graphs(sizes: list[int]) -> None:
    """A line for each shape of graph: the seconds and the lines of loops at each length, and how much they grew."""
    shapes = graph_shapes()
    # What is imported when it is first needed counts for none, and no kernel comes from a cache.
    os.environ["WHENCE_CACHE_DIR"] = ""
    load_and_compile(shapes["squares"](2))
    print(f"{'graph':16}" + "".join(f"{size:>8} s" for size in sizes) + "   4n / n" + "   lines of loops".rjust(18))
    for name, build in shapes.items():
        times, lines = list[float](), list[int]()
        for size in sizes:
            start = time.process_time()
            executable = load_and_compile(build(size))
            times.append(time.process_time() - start)
            lines.append(sum(kernel.tir.count("\n") for kernel in executable))
        grown = f"{times[-1] / times[0]:9.1f}" + "".join(f"{count:>8}" for count in lines)
        print(f"{name:16}" + "".join(f"{seconds:10.2f}" for seconds in times) + grown, flush=True)


def load_and_compile(model: ModelProto) -> Sequence[Kernel]:
    """The kernels of a model; none of one that is compiled when it runs."""
    compiled = whence.compile(model)
    return cast("Sequence[Kernel]", compiled.artifact.kernels) if type(compiled) is Executable else ()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chain", type=int, default=2500, metavar="N", help="operators of the shortest chain")
    parser.add_argument("--answers", type=int, default=4000, metavar="N", help="operators of the shortest chain asked")
    parser.add_argument("--concat", type=int, default=500, metavar="N", help="parts of the smallest Concat")
    parser.add_argument("--uneven", type=int, default=500, metavar="N", help="parts of the smallest uneven Concat")
    parser.add_argument("--graphs", type=int, default=16, metavar="N", help="steps of the smallest graphs")
    args = parser.parse_args()
    graphs([args.graphs * factor for factor in (1, 2, 4)])
    sizes = [args.chain * factor for factor in (1, 2, 4)]
    report("chain", sizes, lambda size: compile_whole(chain(size), 3))
    report("calls", sizes, lambda size: compile_whole(chain(size), 0))
    sizes = [args.answers * factor for factor in (1, 2, 4)]
    report("answers", sizes, lambda size: answers(size, 3))
    report("answers, calls", sizes, lambda size: answers(size, 0))
    report("concat", [args.concat * factor for factor in (1, 2, 4)], lambda size: compile_whole(concat(size), 3))
    # Parts of many sizes make kernels of many kinds.
    sizes = [args.uneven * factor for factor in (1, 2, 4)]
    report("uneven concat", sizes, lambda size: compile_whole(concat(size, uneven=True), 3))


if __name__ == "__main__":
    main()
