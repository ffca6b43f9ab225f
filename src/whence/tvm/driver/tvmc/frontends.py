"""The formats of models that the driver opens, by TVM's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import fspath
from pathlib import Path
from typing import ClassVar

import whence
from whence.driver.tvmc.model import FilePath, TVMCModel, is_saved_model
from whence.relay.module import IRModule
from whence.support.errors import PipelineError, expectation

Shapes = Mapping[str, Sequence[int | str]] | str | None


class Frontend:
    """A format of models."""

    format: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]

    @classmethod
    def name(cls) -> str:
        """TVM's name of the format."""
        return cls.format

    @classmethod
    def suffixes(cls) -> list[str]:
        """The ends of the names of its files, without a dot."""
        return [ending.removeprefix(".") for ending in cls.endings]

    def load(self, path: FilePath, shape_dict: Shapes = None) -> IRModule:
        """Return the module of a file. Raises the errors of `whence.load`."""
        return IRModule.of(whence.load(fspath(path), shape_dict or None))


class OnnxFrontend(Frontend):
    """Files of ONNX."""

    format, endings = "onnx", (".onnx",)


class TFLiteFrontend(Frontend):
    """Files of TensorFlow Lite."""

    format, endings = "tflite", (".tflite",)


class KerasFrontend(Frontend):
    """Files of Keras."""

    format, endings = "keras", (".keras", ".h5")


class TensorflowFrontend(Frontend):
    """Frozen graphs of TensorFlow."""

    format, endings = "pb", (".pb",)


class PyTorchFrontend(Frontend):
    """Exported programs of PyTorch."""

    format, endings = "pytorch", (".pt2", ".pth", ".pt")


class RelayFrontend(Frontend):
    """Texts of Relay."""

    format, endings = "relay", (".relay",)


class MLIRFrontend(Frontend):
    """Modules of whence, with their weights beside them."""

    format, endings = "mlir", (".mlir",)


ALL_FRONTENDS: tuple[type[Frontend], ...] = (
    OnnxFrontend,
    TFLiteFrontend,
    KerasFrontend,
    TensorflowFrontend,
    PyTorchFrontend,
    RelayFrontend,
    MLIRFrontend,
)


def get_frontend_names() -> list[str]:
    """The names of all formats."""
    return [frontend.name() for frontend in ALL_FRONTENDS]


def get_frontend_by_name(name: str) -> Frontend:
    """The format of a name. Raises PipelineError for an unknown one."""
    for frontend in ALL_FRONTENDS:
        if frontend.name() == name:
            return frontend()
    raise PipelineError(expectation("model_format", f"one of {', '.join(get_frontend_names())}", repr(name)))


def guess_frontend(path: FilePath) -> Frontend:
    """The format of a file, by the end of its name. Raises PipelineError for an unknown one."""
    suffix = Path(path).suffix.lower()
    for frontend in ALL_FRONTENDS:
        if suffix in frontend.endings:
            return frontend()
    endings = ", ".join(ending for frontend in ALL_FRONTENDS for ending in frontend.endings)
    raise PipelineError(expectation(f"model {path}", f"a file in {endings}", suffix or "none"))


def load_model(path: FilePath, model_format: str | None = None, shape_dict: Shapes = None) -> TVMCModel:
    """Return the model in a file, or of a name that `whence.load` knows.

    model_format: a name of `get_frontend_names`; by default that of the suffix. A .tar file is one of `TVMCModel.save`.
    shape_dict: shapes of inputs that the model leaves open. Raises PipelineError for an unknown format and one that the
    suffix contradicts, and the errors of `whence.load`.
    """
    if is_saved_model(Path(path)):
        return TVMCModel(model_path=path)
    if model_format is not None:
        frontend, suffix = get_frontend_by_name(model_format), Path(path).suffix
        if suffix not in ("", *frontend.endings):
            raise PipelineError(expectation("model_format", f"the format of a {suffix} file", model_format))
        return TVMCModel(frontend.load(path, shape_dict))
    return TVMCModel(Frontend().load(path, shape_dict))
