"""A model that is yet to be compiled, one that is, and the result of a run, as the driver has them."""

from __future__ import annotations

import shutil
import tarfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import whence
from whence.reading.textio import write_module
from whence.relay.executors import bound_params
from whence.relay.module import IRModule
from whence.runtime.loading.loaded import load_module, read_package
from whence.runtime.program.timing import BenchmarkResult
from whence.runtime.values.params import save_param_dict
from whence.runtime.values.tensors import Tensor
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, PipelineError, WhenceError, expectation
from whence.support.files import replacing

FilePath: TypeAlias = str | PathLike[str]
TVMCException = WhenceError
"""The error that programs of the driver catch."""
_MODULE = "model.mlir"
"""The module in a .tar file; its weights are the other member."""


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
        self.mod = mod if mod is not None else IRModule.of(_read(Path(str(model_path))))
        self.params = dict(params or {})

    def summary(self, file: Any = None) -> None:
        """Print the module."""
        print(self.mod.astext(show_meta_data=False), file=file)

    def save(self, model_path: FilePath) -> None:
        """Write the module and its weights: to a .tar file, or to an .mlir file with the weights beside it.

        Raises PipelineError for another suffix, and where the file cannot be written.
        """
        path = Path(model_path)
        if path.suffix not in (".tar", ".mlir"):
            raise PipelineError(expectation(f"save to {path}", "a file in .tar or .mlir", path.suffix or "none"))
        module = bound_params(self.mod.module, self.params) if self.params else self.mod.module
        if path.suffix == ".mlir":
            write_module(module, path)
            return
        with TemporaryDirectory(prefix="tvmc-") as folder:
            write_module(module, Path(folder) / _MODULE)
            with replacing(path) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
                for file in sorted(Path(folder).iterdir()):
                    archive.add(file, file.name)


class TVMCPackage:
    """A file that `whence compile` or tvmc wrote.

    project_dir: the temporary folder of the file, which is removed with this object.
    """

    type = "classic"
    executor_type = "graph"

    def __init__(self, package_path: str | PathLike[str], project_dir: Path | None = None):
        path = Path(package_path)
        # `compile` adds the suffix to a path without one.
        self.package_path = path if path.suffix or path.exists() else path.with_name(f"{path.name}.tar")
        self.project_dir = project_dir
        if project_dir is not None:
            weakref.finalize(self, shutil.rmtree, project_dir, ignore_errors=True)

    @property
    def lib_path(self) -> str:
        return str(self.package_path)

    @property
    def lib_name(self) -> str:
        return self.package_path.name

    @property
    def graph(self) -> str:
        """Return the model in TVM's graph JSON; raises FrontendError for a file that is not ours."""
        return bytes(read_package(self.package_path).part("graph")).decode()

    @property
    def params(self) -> bytes:
        """The parameters as the bytes of a params file; errors as `load_module`."""
        return bytes(save_param_dict(load_module(self.package_path).get_params()))


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
        with replacing(Path(output_path)) as stream:
            np.savez(stream, allow_pickle=False, **cast("dict[str, Any]", self.outputs))

    def format_times(self) -> str:
        return str(self.times)

    def __str__(self) -> str:
        return f"{self.format_times()}\nOutput Names:\n {list(self.outputs)}"


def is_saved_model(path: Path) -> bool:
    """Return whether a file is one that `TVMCModel.save` wrote as .tar."""
    try:
        with tarfile.open(path) as archive:
            return _MODULE in archive.getnames()
    except (OSError, tarfile.TarError):
        return False


def _read(path: Path) -> ModuleOp:
    """The module in a file of `save`. Raises FrontendError for another one."""
    if path.suffix != ".tar":
        return whence.load(str(path))
    try:
        with TemporaryDirectory(prefix="tvmc-") as folder, tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
            if (Path(folder) / _MODULE).is_file():
                return whence.load(str(Path(folder) / _MODULE))
    except (OSError, tarfile.TarError) as error:
        raise FrontendError(expectation(str(path), "a model of TVMCModel.save", str(error))) from error
    raise FrontendError(expectation(str(path), "a model of TVMCModel.save", "another archive"))
