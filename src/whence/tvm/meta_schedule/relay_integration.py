"""A model tuned into a folder of records, and compiled by them."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, NoReturn

import whence
from whence import autotvm, relay
from whence.relay.executors import bound_params
from whence.relay.module import IRModule
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation
from whence.target import TargetLike, target_of
from whence.tuning.records import Records

_SEARCH = {
    "builder": "local",
    "runner": "local",
    "database": "json",
    "cost_model": "xgb",
    "measure_callbacks": "default",
    "task_scheduler": "gradient",
    "space": "post-order-apply",
    "strategy": "evolutionary",
    "num_tuning_cores": "physical",
    "module_equality": "structural",
    "num_trials_per_iter": 64,
}
"""Options of TVM's search, which must have its defaults: there is one way to tune."""


@door()
def tune_relay(
    mod: IRModule,
    params: Mapping[str, Array],
    target: TargetLike,
    work_dir: str | PathLike[str],
    max_trials_global: int,
    *,
    max_trials_per_task: int | None = None,
    seed: int | None = None,
    opt_level: int = 3,
    budget: float | None = None,
    **options: Any,
) -> Records:
    """Tune a model's kernels, and return the records, which are kept in the folder `work_dir`.

    max_trials_global: the most candidates of all kernels together, as far as each gets at least one;
    max_trials_per_task: of a kernel. budget: seconds for all of it. Raises PipelineError for options of another search,
    and errors as `whence.tune`.
    """
    for name, value in options.items():
        if value != _SEARCH.get(name):
            expected = f"{name} {_SEARCH[name]}" if name in _SEARCH else f"options among {', '.join(_SEARCH)}"
            raise PipelineError(expectation("tune_relay", f"{expected}, as there is one way to tune", repr(value)))
    module = bound_params(mod.module, params) if params else mod.module
    tasks = autotvm.task.extract_from_program(mod, params, target)
    trials = max(1, max_trials_global // max(1, len(tasks)))
    whence.tune(
        module,
        work_dir,
        trials=min(trials, max_trials_per_task or trials),
        seed=seed or 0,
        budget=budget,
        target=target_of(target),
        opt_level=opt_level,
    )
    return Records.load(work_dir)


@door()
def compile_relay(
    database: Records | str | PathLike[str],
    mod: IRModule,
    target: TargetLike,
    params: Mapping[str, Array] | None,
    *,
    backend: str = "graph",
    opt_level: int = 3,
) -> Any:
    """Compile a model by records, as `relay.build` does. Raises PipelineError for another backend than "graph"."""
    if backend != "graph":
        raise PipelineError(expectation("compile_relay", "backend graph", repr(backend)))
    with autotvm.apply_history_best(database), whence.transform.PassContext(opt_level=opt_level):
        return relay.build(mod, target=target, params=dict(params or {}))


def tune_tir(mod: object, target: TargetLike, work_dir: object, max_trials_global: int, **options: object) -> NoReturn:
    """Raise PipelineError: only schedules have knobs, and loops that are written out have none."""
    expected = "tensors with a schedule (autotvm.template, auto_scheduler.create_task) or a model (tune_relay)"
    raise PipelineError(expectation("tune_tir", expected, "loops"))


def compile_tir(database: object, mod: object, target: TargetLike) -> NoReturn:
    """Raise PipelineError, as `tune_tir` does."""
    tune_tir(mod, target, database, 0)
