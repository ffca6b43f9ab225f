"""Random te graphs under random schedules: a schedule changes how a function is computed, never what.

    python tests/support/random_schedules.py [--cases 2000] [--seed 0] [--primitives 12]

A case draws a graph (`random_graphs`) and applies up to 12 drawn primitives (`random_primitives`). What a primitive
refuses must leave the schedule as it was. The results are those of numpy and of the unscheduled function, also with
tensors on the way among the arguments, and every snapshot lowers, verifies and is drawn. Stops at the first difference
with the seed and the schedule, and exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from fenced_kernels import run_kernel
from laid_out_arrays import in_order, laid_out
from numpy.typing import NDArray
from random_graphs import Dice, Graph, random_graph
from random_primitives import draw

from whence import te
from whence.dialects.tir import PrimFuncOp
from whence.explorer.schedule.tedd import viz_dataflow_graph, viz_itervar_relationship_graph, viz_schedule_tree
from whence.kernels import lower
from whence.provenance.audit import check_located
from whence.support.errors import ScheduleError
from whence.te.schedule.schedule import Schedule
from whence.te.schedule.stage_state import Storage

Array = NDArray[Any]
PRIMITIVES = 12
_VIEWS = (viz_schedule_tree, viz_itervar_relationship_graph, viz_dataflow_graph)


class Difference(AssertionError):
    """What a schedule should not have changed."""


@dataclass
class Tally:
    """What many cases did."""

    cases: int = 0
    applied: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    """At once, with nothing changed."""
    undone: Counter[str] = field(default_factory=Counter[str])
    """When lowered: what the primitive made cannot be carried out."""
    snapshots: int = 0

    def __str__(self) -> str:
        names = sorted({*self.applied, *self.refused, *self.undone})
        lines = [f"{'primitive':22}{'applied':>9}{'refused':>9}{'when lowered':>14}"]
        lines += [f"{n:22}{self.applied[n]:9}{self.refused[n]:9}{self.undone[n]:14}" for n in names]
        totals = (self.applied.total(), self.refused.total(), self.undone.total())
        lines.append(f"{'all':22}{totals[0]:9}{totals[1]:9}{totals[2]:14}")
        return "\n".join([f"{self.cases} cases, {self.snapshots} snapshots", *lines])


State: TypeAlias = tuple[str, str, list[str]]


def _state(schedule: Schedule) -> State:
    """All that a refused primitive may not change."""
    return str(schedule.sequence), str(schedule), schedule.primitive_record


def random_schedule(dice: Dice, schedule: Schedule, tally: Tally, most: int = PRIMITIVES) -> Schedule:
    """A schedule of up to `most` drawn primitives, each snapshot checked; one that cannot be carried out is undone."""
    wanted = dice.randint(0, most) if dice.random() < 0.5 else most
    trial, applied = schedule.snapshot(), 0
    before = _state(trial)
    seen = set[int]()
    for _ in range(4 * wanted):
        if applied == wanted:
            break
        name, apply = draw(dice, trial)
        try:
            apply()
        except ScheduleError as error:
            _same(trial, before, f"{name} was refused ({error}), but changed the schedule to")
            tally.refused[name] += 1
            continue
        except Exception as error:
            raise Difference(f"{name} fails with {error!r}") from error
        try:
            func = lower(trial, simple_mode=True)
        except ScheduleError:
            tally.undone[name] += 1
            trial = schedule.snapshot()
            _same(trial, before, "replayed, the schedule is")
            continue
        except Exception as error:
            raise Difference(f"after {name} lowering fails with {error!r}\n{trial.sequence}") from error
        check_snapshot(trial, func)
        tally.applied[name] += 1
        tally.snapshots += 1
        applied += 1
        seen.add(len(trial.primitives))
        schedule, trial = trial, trial.snapshot()
        before = _state(trial)
    _same(schedule, before, "replayed, the schedule is not")
    # What one call records as several primitives has snapshots in between.
    for count in {*range(len(schedule.primitives))} - seen:
        snapshot = schedule.snapshot(count)
        check_snapshot(snapshot, lower(snapshot, simple_mode=True))
        tally.snapshots += 1
    return schedule


def _same(schedule: Schedule, wanted: State, what: str) -> None:
    if _state(schedule) != wanted:
        raise Difference(f"{what}\n{schedule.sequence}\n{schedule}")


def check_snapshot(schedule: Schedule, func: PrimFuncOp) -> None:
    """Its loops are well-formed and located, and it is drawn in three views."""
    try:
        func.verify()
        check_located(func, "convert-te-to-tir")
        for view in _VIEWS:
            assert view(schedule, output_dot_string=True)
    except Exception as error:
        raise Difference(f"{error!r}\n{schedule.sequence}\n{schedule}") from error


def _inputs(schedule: Schedule, graph: Graph) -> list[Array]:
    return [laid_out(schedule, value.tensor, value.array.astype(value.tensor.dtype)) for value in graph.inputs]


def _run(schedule: Schedule, graph: Graph, level: int) -> list[Array]:
    func = lower(schedule)
    func.verify()
    outputs = [laid_out(schedule, value.tensor, np.zeros(value.shape, value.tensor.dtype)) for value in graph.outputs]
    arrays = run_kernel(func, _inputs(schedule, graph), outputs, level)
    return [in_order(schedule, value.tensor, array) for value, array in zip(graph.outputs, arrays, strict=True)]


def _run_exposed(schedule: Schedule, graph: Graph, level: int) -> None:
    """Lower with some of the tensors on the way among the arguments, which get what others need of them."""
    inner = [
        value
        for value in graph.values
        if (stage := schedule.operations.get(value.tensor.op)) is not None
        and not (stage.inlined or stage.is_output)
        and stage.is_compute
        and (stage.scope, stage.storage) == ("global", Storage())
        and graph.dice.random() < 0.5
    ]
    outputs = [value for value in graph.outputs if graph.dice.random() < 0.7]
    written = [*inner, *outputs]
    graph.dice.shuffle(written)
    args = [value.tensor for value in (*graph.inputs, *written)]
    if len(set(args)) != len(args):
        return
    func = lower(schedule, args)
    func.verify()
    zeros = [laid_out(schedule, value.tensor, np.zeros(value.shape, value.tensor.dtype)) for value in written]
    arrays = run_kernel(func, _inputs(schedule, graph), zeros, level)
    for value, stored in zip(written, arrays, strict=True):
        array = in_order(schedule, value.tensor, stored)
        written_to = ~np.isnan(array) if array.dtype.kind == "f" else array != 77
        there = np.full(array.shape, True) if value in outputs else written_to
        _compare([array[there]], [value.array[there].astype(array.dtype)], f"'{value.tensor.name}' as an argument")


def _compare(found: list[Array], wanted: list[Array], what: str) -> None:
    for got, want in zip(found, wanted, strict=True):
        if want.dtype.kind in "iu":
            np.testing.assert_array_equal(got, want, err_msg=what)
        else:
            scale = float(np.abs(want).max(initial=1.0))
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5 * scale, err_msg=what)


def check(seed: int, tally: Tally | None = None, most: int = PRIMITIVES) -> None:
    """One case. Raises Difference, with the schedule, when something is not as it should be."""
    tally = tally if tally is not None else Tally()
    graph = random_graph(seed)
    tensors = [value.tensor for value in graph.outputs]
    plain = te.create_schedule(tensors, inputs=[value.tensor for value in graph.inputs])
    try:
        with warnings.catch_warnings():
            # TVM warns, too, of what these two change besides.
            warnings.filterwarnings("ignore", "create_group|bind")
            schedule = random_schedule(graph.dice, plain, tally, most)
            reference = [value.array for value in graph.outputs]
            unscheduled = _run(plain, graph, 0)
            _compare(unscheduled, reference, "unscheduled against numpy")
            try:
                found = _run(schedule, graph, 1)
                _compare(found, reference, "scheduled against numpy")
                _compare(found, unscheduled, "scheduled against unscheduled")
                _run_exposed(schedule, graph, 1)
            except Exception as error:
                raise Difference(f"{error}\n{schedule.sequence}\n{schedule}") from error
    except Exception as error:
        raise Difference(f"seed {seed}: {error}\n{plain.func}") from error
    tally.cases += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the others follow")
    parser.add_argument("--primitives", type=int, default=PRIMITIVES, help="at most, per schedule")
    arguments = parser.parse_args()
    tally, begin = Tally(), perf_counter()
    for seed in range(arguments.seed, arguments.seed + arguments.cases):
        try:
            check(seed, tally, arguments.primitives)
        except Difference as error:
            traceback.print_exception(error, limit=-3)
            print(f"reproduce: python tests/support/random_schedules.py --cases 1 --seed {seed}", file=sys.stderr)
            return 1
        if tally.cases % 50 == 0:
            print(f"{tally.cases} cases, {(perf_counter() - begin) / tally.cases:.2f} s each", flush=True)
    print(f"{tally}\n{perf_counter() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
