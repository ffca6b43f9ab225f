"""How long the relay passes of level 3 take on light DenseNet-121 and Inception v2, and on ten of each in one module.

Prints the seconds of processor time of each pass and of all, for one network and for ten that share nothing, and the
ratio: ten take ten times as long where nothing is worse than linear. The two are timed in turns; the figures are
medians.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from statistics import median
from time import process_time

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

import whence
from whence.dialects.relay.constants import ConstantPool, pool_of, set_pool
from whence.dialects.relay.core import ConstantOp, FuncOp
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.planning.build import fewer_collections
from whence.provenance.ledger import Ledger
from whence.support.instrument import PassInfo, PassInstrument

NETWORKS = ("light_densenet121", "light_inception_v2")
COPIES = 10
ROUNDS = 3


def several(module: ModuleOp, count: int) -> ModuleOp:
    """`@main` with its body `count` times over, of arguments and constants of its own each."""
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    arrays = pool_of(module)
    pool = ConstantPool()
    inputs = [argument.type for argument in main.block.args] * count
    made = FuncOp("main", inputs, [], location=main.location)
    results: list[SSAValue] = []
    for copy in range(count):
        width = len(main.block.args)
        known: dict[SSAValue, SSAValue] = dict(
            zip(main.block.args, made.block.args[copy * width : (copy + 1) * width], strict=True)
        )
        for old, new in known.items():
            assert not isinstance(old.owner, ConstantOp)
            new.location = old.location  # type: ignore[attr-defined]
        for op in main.block.ops:
            if op is main.return_op:
                results += (known[value] for value in op.operands)
                continue
            twin = op.clone(known)
            twin.location = op.location
            if isinstance(twin, ConstantOp) and twin.key is not None:
                twin.key = StringAttr(pool.add(twin.key.data, arrays[twin.key.data].copy()))
            made.block.add_op(twin)
    last = type(main.return_op)(*results)
    last.location = main.return_op.location
    made.block.add_op(last)
    made.update_type()
    whole = ModuleOp([made])
    set_pool(whole, pool)
    whole.verify()
    return whole


@dataclass
class Clock(PassInstrument):
    """Adds up the processor time of each pass: what else runs on the machine does not count."""

    found: dict[str, float] = field(default_factory=lambda: dict[str, float]())
    start: float = 0.0

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        self.start = process_time()

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        self.found[info.name] = self.found.get(info.name, 0) + process_time() - self.start


def timed(module: ModuleOp) -> dict[str, float]:
    """Pass -> seconds, runs of one pass added up."""
    copy, clock = module.clone(), Clock()
    gc.collect()
    with fewer_collections():
        run_passes(copy, relay_pipeline(3), ledger=Ledger(), instruments=[clock])
    return clock.found


def main() -> None:
    for name in NETWORKS:
        one = whence.load(name)
        modules = one, several(one, COPIES)
        rounds = [tuple(timed(module) for module in modules) for _ in range(ROUNDS)]
        print(f"{name}: medians of {ROUNDS}\n{'pass':40s} {'one':>8s} {f'{COPIES}':>8s}   ratio")
        for row in (*rounds[0][0], "all"):
            columns = [
                [sum(turn[place].values()) if row == "all" else turn[place][row] for turn in rounds] for place in (0, 1)
            ]
            single, many = map(median, columns)
            print(f"{row:40s} {single:8.3f} {many:8.3f} {many / single:7.1f}")
        print(flush=True)


if __name__ == "__main__":
    main()
