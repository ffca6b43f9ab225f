"""10,000 and 100,000 bindings of let-blocks through text, clone, verification and the passes: seconds, and per binding.

Nothing recurses over the number of bindings, and everything is linear in it: the figures per binding stay the same.
Every tenth binding is impure, so that there is a let-block for every run between.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from io import StringIO
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, TensorType, f32
from xdsl.parser import Parser
from xdsl.printer import Printer

from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.dialects.relay.elementwise import NegativeOp
from whence.dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from whence.passes.pipelines import available_passes, run_passes
from whence.passes.relay.analysis.visitor import Mutator
from whence.passes.relay.analysis.well_formed import well_formed
from whence.provenance.builder import LocatedBuilder
from whence.provenance.ledger import Ledger
from whence.provenance.span import layer_location
from whence.support.garbage import fewer_collections
from whence.syntax.relay.equal import structural_hash
from whence.syntax.relay.view import view
from whence.universe import UNIVERSE

T = TypeVar("T")
IMPURE = 10
"""Every how many-th binding reads a reference."""
PASSES = (
    "relay-infer-purity",
    "relay-to-a-normal-form",
    "relay-infer-type",
    "relay-fold-constant",
    "relay-dead-code-elimination",
    "relay-eliminate-common-subexpr",
    "relay-inline",
    "relay-lambda-lift",
    "relay-partial-evaluate",
    "relay-to-graph-normal-form",
    "relay-to-basic-block-normal-form",
)


def chain(length: int) -> ModuleOp:
    """`@main`: negative after negative, now and then through a reference."""
    type_ = TensorType(f32, [1, 16])
    main = FuncOp("main", [type_], [type_], location=layer_location("chain", "chain.mlir", 0))
    builder = LocatedBuilder(main.block)
    value = main.block.args[0]
    main.block.args[0].location = main.location
    with builder.located(main.location):
        ref = builder.add(RefCreateOp(value)).result
    for index in range(1, length):
        with builder.located(layer_location(f"op{index}", "chain.mlir", index)):
            if index % IMPURE == 0:
                value = builder.add(RefReadOp(ref)).result
            elif index % IMPURE == IMPURE - 1:
                builder.add(RefWriteOp(ref, value))
            else:
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
    print(f"{length:7d} ops  {what:34s} {seconds:8.2f} s  {seconds / length * 1e6:8.1f} us per op", flush=True)


def printed(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(module)
    return stream.getvalue()


def parsed(text: str) -> ModuleOp:
    context = Context()
    context.load_dialect(Builtin)
    for name, load in UNIVERSE.all_dialects.items():
        context.register_dialect(name, load)
    return Parser(context, text).parse_module()


def main(lengths: list[int]) -> None:
    print(f"recursion limit {sys.getrecursionlimit()}")
    known = available_passes()
    for length in lengths:
        with fewer_collections():
            module = timed("build", length, lambda length=length: chain(length))
            for name in PASSES:
                if name not in known:
                    continue
                one = known[name]()()
                timed(name, length, lambda one=one, module=module: run_passes(module, [one], ledger=Ledger()))
                if name == "relay-to-a-normal-form":
                    text = timed("  print", length, lambda module=module: printed(module))
                    timed("  parse", length, lambda text=text: parsed(text))
                    timed("  clone", length, module.clone)
                    timed("  mutate", length, lambda module=module: Mutator().run(module))
                    timed("  structural hash", length, lambda module=module: structural_hash(view(module)))
                    timed("  verify", length, module.verify)
                    timed("  well-formed", length, lambda module=module: well_formed(module))
            module.verify()


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [10_000, 100_000])
