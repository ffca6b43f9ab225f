"""A module into a file, as the driver's options say."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

import whence
from whence.cli.compile import CODES, code_of
from whence.cli.inputs import native
from whence.cli.options import checked_passes, configured
from whence.driver.tvmc.frontends import load_model
from whence.driver.tvmc.model import FilePath, TVMCModel, TVMCPackage
from whence.driver.tvmc.transform import convert_to_mixed_precision
from whence.executables.exporting import export_artifact
from whence.ir.memory_pools import PoolInfo, WorkspaceMemoryPools
from whence.lowering.llvm_to_native.target import Target
from whence.relay.executors import bound_params
from whence.support.context import PassContext
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation
from whence.support.files import write_text
from whence.support.instrument import PassTimingInstrument
from whence.target import TargetLike, check_host, target_of

_LAYOUT_OPS = ("nn.conv2d", "qnn.conv2d")


def layouts_of(layout: str, names: Sequence[str]) -> str:
    """Return the layouts of operators, by default of convolutions, in the form of `relay-convert-layout`."""
    return ";".join(f"{name}:{layout}" for name in names or _LAYOUT_OPS) if layout else ""


@dataclass(frozen=True)
class Wish:
    """The options for the compilation of a model."""

    target: str | Target
    opt_level: int
    layout: str
    layout_ops: Sequence[str]
    disabled: Sequence[str] | str
    configs: Sequence[str]
    """`name=value` each."""
    times: bool
    instruments: Sequence[Any]
    codes: Sequence[str] | str
    tuned: str | PathLike[str] | None
    """Records of tuning."""
    pools: Sequence[PoolInfo] = ()
    """The pools of memory for intermediate tensors."""


def compile_to(
    path: Path,
    module: ModuleOp,
    params: Mapping[str, Array],
    wish: Wish,
    name: str,
    link: Callable[..., object] | None,
    options: Sequence[str],
) -> None:
    """Write the file, and code beside it."""
    codes = _words(wish.codes)
    if strange := [code for code in codes if code not in CODES]:
        raise PipelineError(expectation("dump_code", ", ".join(CODES), ", ".join(strange)))
    timing = PassTimingInstrument()
    instruments = [*wish.instruments, *([timing] if wish.times else [])]
    layouts = layouts_of(wish.layout, wish.layout_ops)
    disabled = checked_passes(_words(wish.disabled), "disabled_pass")
    config = configured(wish.configs, "pass_context_configs")
    with PassContext(wish.opt_level, (), disabled, config, instruments):
        bound = bound_params(module, params) if params else module
        compiled = whence.compile(
            bound,
            target=wish.target,
            opt_level=wish.opt_level,
            desired_layouts=layouts,
            tuned=wish.tuned,
            workspace_memory_pools=wish.pools,
        )
        if wish.times:
            print(timing.render(), end="", file=sys.stderr)
    artifact = native(compiled, "tvmc.compile").artifact
    export_artifact(artifact, None, None, path, name=name, link=link, options=options)
    for code in codes:
        write_text(path.with_name(f"{path.name}.{code}"), code_of(artifact, code))


def _words(text: Sequence[str] | str) -> list[str]:
    """Names in a list, or in a text with commas between them."""
    words = text.split(",") if isinstance(text, str) else text
    return [word.strip() for word in words if word.strip()]


def compile_model(
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
    use_vm: bool = False,
    workspace_pools: WorkspaceMemoryPools | None = None,
    mixed_precision: bool = False,
    mixed_precision_ops: Sequence[str] | None = None,
    mixed_precision_calculation_type: str = "float16",
    mixed_precision_acc_type: str = "float16",
) -> TVMCPackage:
    """Compile a model to a file; without `package_path`, a temporary one, which is removed with the package.

    output_format: "tar", "so" or "o", if the path's suffix does not say it. cross: the linker of a shared library, as
    in `export_library`. tuning_records: a file, or a folder of files, with tuning records of whence; TVM's records
    decide nothing, as its schedules differ. dump_code: "asm", "ll", "opt.ll", "tir" or "relay", each written to a file
    beside the package. use_vm: without effect, as the model decides the kind of its program. workspace_pools: those of
    `whence.compile`. mixed_precision: compute on halves as `transform.convert_to_mixed_precision` says. Others are
    options of `whence compile`. Raises PipelineError for an unknown option, and the
    errors of `whence.compile`.
    """
    if executor is not None and str(executor) not in ("graph", "aot"):
        raise PipelineError(expectation("tvmc.compile", "executor graph or aot", str(executor)))
    check_host(target, target_host)
    model = tvmc_model if isinstance(tvmc_model, TVMCModel) else load_model(tvmc_model)
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
        pools=tuple(workspace_pools.pools) if workspace_pools is not None else (),
    )
    mod = model.mod
    if mixed_precision:
        mod = convert_to_mixed_precision(
            mod, mixed_precision_ops, mixed_precision_calculation_type, mixed_precision_acc_type
        )
    compile_to(path, mod.module, model.params, wish, mod_name, cross, tuple(cross_options or ()))
    return package
