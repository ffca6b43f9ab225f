"""Tuning by the driver's names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import whence
from whence.driver.tvmc.compiler import layouts_of
from whence.driver.tvmc.frontends import load_model
from whence.driver.tvmc.model import FilePath, TVMCModel
from whence.relay.executors import bound_params
from whence.support.errors import PipelineError, expectation
from whence.target import TargetLike, check_host, target_of


def tune_model(
    tvmc_model: TVMCModel | FilePath,
    target: TargetLike = "llvm",
    tuning_records: FilePath | None = None,
    prior_records: FilePath | None = None,
    enable_autoscheduler: bool = False,
    rpc_key: str | None = None,
    hostname: str | None = None,
    port: int | str = 8786,
    trials: int = 96,
    target_host: TargetLike = None,
    tuner: str = "formula",
    min_repeat_ms: int | None = None,
    early_stopping: int | None = None,
    timeout: float = 10,
    *,
    desired_layout: str | None = None,
    desired_layout_ops: Sequence[str] | None = None,
    seed: int = 0,
    threads: int | None = None,
    budget: float | None = None,
) -> str:
    """Tune a model's kernels, and return the file of the records, which `tvmc.compile` takes.

    tuning_records: the file; by default `tuning.json` in the current folder. prior_records: other records, whose
    candidates are not measured again. hostname, port: those of a dask scheduler whose workers measure. trials: the most
    candidates of a kernel. timeout: seconds for one candidate. budget: seconds for all kernels; seed: the seed of the
    search. enable_autoscheduler, tuner, min_repeat_ms, early_stopping: TVM's options of search, which must have their
    defaults here. Raises PipelineError for others and for an RPC key, and errors as `whence.tune`.
    """
    for name, value, default in (
        ("enable_autoscheduler", enable_autoscheduler, False),
        ("rpc_key", rpc_key, None),
        ("tuner", tuner, "formula"),
        ("min_repeat_ms", min_repeat_ms, None),
        ("early_stopping", early_stopping, None),
    ):
        if value != default:
            raise PipelineError(expectation("tvmc.tune", f"{name} {default}, as there is one way to tune", repr(value)))
    check_host(target, target_host)
    model = tvmc_model if isinstance(tvmc_model, TVMCModel) else load_model(tvmc_model)
    path = Path(tuning_records if tuning_records is not None else "tuning.json")
    whence.tune(
        bound_params(model.mod.module, model.params) if model.params else model.mod.module,
        path,
        budget=budget,
        trials=trials,
        seed=seed,
        threads=threads,
        timeout=timeout,
        prior=prior_records,
        target=target_of(target),
        scheduler=f"tcp://{hostname}:{port}" if hostname is not None else None,
        desired_layouts=layouts_of(desired_layout or "", desired_layout_ops or ()),
    )
    return str(path)
