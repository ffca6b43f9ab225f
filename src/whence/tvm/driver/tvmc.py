"""TVM's driver for programs in Python: load, compile, run, tune.

>>> model = tvmc.load("model.onnx", shape_dict={"x": [1, 3, 224, 224]})
>>> package = tvmc.compile(model, target="llvm", package_path="model.tar")
>>> result = tvmc.run(package, device="cpu")
>>> print(result)

Schedules follow from rules, or with `tuning_records` from measurements. A package is a file of `whence compile`. On a
command line, `python -m whence.driver.tvmc` is `whence`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from whence.driver.package import TVMCPackage
from whence.relay.module import IRModule
from whence.runtime.program.timing import BenchmarkResult, Timing
from whence.runtime.values.tensors import Tensor
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, PipelineError, expectation
from whence.target import TargetLike, check_host, target_of

__all__ = ["TVMCModel", "TVMCPackage", "TVMCResult", "compile", "load", "run", "tune"]

FilePath: TypeAlias = str | PathLike[str]
_FORMATS = {"onnx": ".onnx", "tflite": ".tflite", "relay": ".relay", "mlir": ".mlir"}
"""TVM's name of a model's format -> the suffix of its files."""


class TVMCModel:
    """A model that is yet to be compiled, as a module of Relay."""

    def __init__(
        self,
        mod: IRModule | None = None,
        params: Mapping[str, Array] | None = None,
        model_path: FilePath | None = None,
    ):
        """Make a model of a module and its parameters, or of a file of `save`. Raises PipelineError for both."""
        if (mod is None) == (model_path is None):
            got = "neither" if mod is None else "both"
            raise PipelineError(expectation("TVMCModel", "a module, or the path of one", got))
        self.mod = mod if mod is not None else load(str(model_path)).mod
        self.params = dict(params or {})

    def summary(self, file: Any = None) -> None:
        """Print the module."""
        print(self.mod.astext(show_meta_data=False), file=file)

    def save(self, model_path: FilePath) -> None:
        """Write the module to an .mlir file, its weights beside it."""
        from whence.reading.textio import write_module
        from whence.relay.executors import bound_params

        path = Path(model_path)
        if path.suffix != ".mlir":
            raise PipelineError(expectation(f"save to {path}", "a file in .mlir", path.suffix or "none"))
        write_module(bound_params(self.mod.module, self.params) if self.params else self.mod.module, path)


@dataclass(frozen=True)
class TVMCResult:
    """The outputs of a run, and its times."""

    outputs: dict[str, Tensor]
    """`output_0`, `output_1`, .. in the model's order."""
    times: BenchmarkResult
    names: tuple[str, ...] = ()
    """The model's own names of its outputs."""

    def get_output(self, name: str) -> Tensor:
        """Return an output by TVM's name or the model's; raises FrontendError for an unknown one."""
        arrays = {**dict(zip(self.names, self.outputs.values(), strict=False)), **self.outputs}
        if name not in arrays:
            raise FrontendError(expectation("get_output", f"a name among {', '.join(arrays)}", repr(name)))
        return arrays[name]

    def save(self, output_path: FilePath) -> None:
        """Write the outputs to an .npz file."""
        from whence.support.files import replacing

        with replacing(Path(output_path)) as stream:
            np.savez(stream, allow_pickle=False, **cast("dict[str, Any]", self.outputs))

    def format_times(self) -> str:
        return str(self.times)

    def __str__(self) -> str:
        return f"{self.format_times()}\nOutput Names:\n {list(self.outputs)}"


def load(
    path: FilePath,
    model_format: str | None = None,
    shape_dict: Mapping[str, Sequence[int | str]] | str | None = None,
) -> TVMCModel:
    """Return the model in a file, or of a name that `whence.load` knows.

    model_format: `onnx`, `tflite`, `relay` or `mlir`; by default that of the suffix. shape_dict: shapes of inputs that
    the model leaves open. Raises the errors of `whence.load`.
    """
    import whence

    if model_format is not None:
        if model_format not in _FORMATS:
            raise PipelineError(expectation("model_format", f"one of {', '.join(_FORMATS)}", repr(model_format)))
        if (suffix := Path(path).suffix) not in ("", _FORMATS[model_format]):
            raise PipelineError(expectation("model_format", f"the format of a {suffix} file", model_format))
    return TVMCModel(IRModule.of(whence.load(fspath(path), shape_dict or None)))


def compile(
    tvmc_model: TVMCModel | FilePath,
    target: TargetLike = "llvm",
    opt_level: int = 3,
    executor: object = None,
    runtime: object = None,
    tuning_records: FilePath | None = None,
    package_path: FilePath | None = None,
    cross: Callable[..., object] | None = None,
    cross_options: Sequence[str] | None = None,
    output_format: str | None = None,
    dump_code: str | Sequence[str] | None = None,
    *,
    target_host: TargetLike = None,
    desired_layout: str | None = None,
    desired_layout_ops: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | str | None = None,
    pass_context_configs: Sequence[str] | None = None,
    mod_name: str = "default",
    print_pass_times: bool = False,
    instruments: Sequence[Any] | None = None,
) -> TVMCPackage:
    """Compile a model to a file; without `package_path`, a temporary one, which is removed with the package.

    output_format: "tar", "so" or "o", if the path's suffix does not say it. cross: the linker of a shared library, as
    in `export_library`. tuning_records: a file, or a folder of files, with tuning records of whence; TVM's records
    decide nothing, as its schedules differ. dump_code: "asm", "ll", "opt.ll", "tir" or "relay", each written to a file
    beside the package. Others are options of `whence compile`. Raises PipelineError for an unknown option, and the
    errors of `whence.compile`.
    """
    from whence.driver.compilation import Wish, compile_to

    if executor is not None and str(executor) not in ("graph", "aot"):
        raise PipelineError(expectation("tvmc.compile", "executor graph or aot", str(executor)))
    check_host(target, target_host)
    model = tvmc_model if isinstance(tvmc_model, TVMCModel) else load(tvmc_model)
    kind, scratch = output_format or "tar", None
    if package_path is None:
        scratch = Path(tempfile.mkdtemp(prefix="tvmc-"))
        package_path = scratch / f"module.{kind}"
    path = Path(package_path)
    if path.suffix == "":
        path = path.with_name(f"{path.name}.{kind}")
    elif output_format is not None and path.suffix != f".{output_format}":
        raise PipelineError(expectation(f"tvmc.compile to {path}", f"a file in .{output_format}", path.suffix))
    package = TVMCPackage(path, scratch)
    wish = Wish(
        target=target_of(target),
        opt_level=opt_level,
        layout=desired_layout or "",
        layout_ops=tuple(desired_layout_ops or ()),
        disabled=disabled_pass or (),
        configs=tuple(pass_context_configs or ()),
        times=print_pass_times,
        instruments=tuple(instruments or ()),
        codes=dump_code or (),
        tuned=tuning_records,
    )
    compile_to(path, model.mod.module, model.params, wish, mod_name, cross, tuple(cross_options or ()))
    return package


def tune(
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
    import whence
    from whence.driver.compilation import layouts_of
    from whence.relay.executors import bound_params

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
    model = tvmc_model if isinstance(tvmc_model, TVMCModel) else load(tvmc_model)
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


def run(
    tvmc_package: TVMCPackage,
    device: object = "cpu",
    rpc_key: str | None = None,
    hostname: str | None = None,
    port: int | str = 9090,
    inputs: Mapping[str, Array] | None = None,
    fill_mode: str = "random",
    repeat: int = 10,
    number: int = 10,
    profile: bool = False,
    end_to_end: bool = False,
    *,
    seed: int = 0,
    threads: int | None = None,
) -> TVMCResult:
    """Run a package once for its outputs, then measure `repeat` times `number` runs.

    fill_mode: the contents of missing inputs: random, zeros, ones or ramp. profile: print the time of each node.
    Raises PipelineError for another device than the CPU and for a remote one, FrontendError for inputs that do not fit.
    """
    from whence.driver.inputs import filled
    from whence.runtime.loading.loaded import load_module
    from whence.runtime.values.device import check_cpu

    if rpc_key is not None or hostname is not None:
        raise PipelineError(expectation("tvmc.run", "a model that runs here", "a remote device"))
    check_cpu(device, "tvmc.run")
    module = load_module(tvmc_package.package_path, threads=threads)
    values = filled(module.inputs, inputs or {}, fill_mode, seed)
    if profile:
        from whence.contrib.debugger.debug_executor import GraphModuleDebug

        debug = GraphModuleDebug(module["debug_create"](module.libmod_name, "cpu"))
        print(debug.profile(**values))
        debug.exit()
    outputs = module.run(values)
    times = Timing(number, repeat).measure(lambda: module.run(values))
    numbered = {f"output_{index}": array for index, array in enumerate(outputs.values())}
    return TVMCResult(numbered, times, tuple(outputs))


if __name__ == "__main__":
    from whence.cli.main import main

    sys.exit(main())
