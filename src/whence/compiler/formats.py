"""The formats of models, and the frontend that reads each: a row of a table."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from whence.reading.foreign import refuse_foreign
from whence.reading.models import KERAS, PYTORCH
from whence.reading.textio import MODULES
from whence.support.errors import FrontendWarning, PipelineError

if TYPE_CHECKING:
    from whence.frontends.importing.custom import CustomOps
    from whence.frontends.importing.model import Model


_CAPTURED = "whence.frontends.torch.captured"
"""The module of graphs that `torch.compile` captured."""


def is_tflite(source: object) -> bool:
    """Return whether a source is a TFLite model: a file of that name, bytes that say so, or a `tflite.Model`."""
    if isinstance(source, Path):
        return source.suffix == ".tflite"
    if isinstance(source, bytes):
        return source[4:8] == b"TFL3"
    return type(source).__module__.partition(".")[0] == "tflite"


def is_pytorch(source: object) -> bool:
    """Return whether a source is an exported PyTorch program: a .pt2 file, bytes that say so, or one in memory.

    So is a graph that `torch.compile` captured. What torch writes otherwise, .pt or .pth files and modules, is taken
    for one, too, and refused with the way out.
    """
    if isinstance(source, Path):
        return source.suffix in PYTORCH
    if isinstance(source, bytes):
        return source.startswith(b"PK") and b"/archive_format" in source
    homes = [base.__module__ for base in type(source).__mro__]
    return _CAPTURED in homes or any(home.partition(".")[0] == "torch" for home in homes)


def is_torchscript(source: object) -> bool:
    """Return whether a source is TorchScript, a module or a function that was traced or scripted."""
    names = {f"{base.__module__}.{base.__name__}" for base in type(source).__mro__}
    return not names.isdisjoint(("torch.jit._script.ScriptModule", "torch.jit.ScriptFunction"))


def is_keras(source: object) -> bool:
    """Return whether a source is a Keras model: a file of that name, bytes that say so, or a model in memory."""
    if isinstance(source, Path):
        return source.suffix in KERAS
    if isinstance(source, bytes):
        return source.startswith(b"\x89HDF") or (source.startswith(b"PK") and b"metadata.json" in source[:64])
    return any(base.__module__.partition(".")[0] == "keras" for base in type(source).__mro__)


def is_tensorflow(source: object) -> bool:
    """Return whether a source is a TensorFlow model: a folder, or the file or bytes of a graph; a GraphDef.

    Functions and loaded models of TensorFlow in memory count, too, and so do its other objects, which are refused.
    """
    if isinstance(source, Path):
        return source.suffix == ".pb" or source.is_dir()
    if isinstance(source, bytes):
        # A graph begins with a node, which no ONNX model does.
        return source[:1] == b"\n"
    if getattr(getattr(source, "DESCRIPTOR", None), "name", "") == "GraphDef":
        return True
    return any(base.__module__.partition(".")[0] == "tensorflow" for base in type(source).__mro__)


_STABLEHLO = re.compile(rb"\b(?:stable|c)hlo\.")
_HEAD = 1 << 20
"""The number of bytes at the start of a text that identify its format."""


def is_stablehlo(source: object) -> bool:
    """Return whether a source is a program of StableHLO: a text of its ops, or an object of JAX.

    Bytecode of MLIR counts, too, and is refused with a command that converts it.
    """
    if isinstance(source, Path):
        if source.suffix not in (".mlir", ".mlirbc") or not source.is_file():
            return False
        with source.open("rb") as stream:
            source = stream.read(_HEAD)
        return source.startswith(b"ML\xefR") or (_STABLEHLO.search(source) is not None and b"relay." not in source)
    if isinstance(source, bytes):
        return source.startswith(b"ML\xefR") or _STABLEHLO.search(source, 0, _HEAD) is not None
    return any(base.__module__.partition(".")[0] in ("jax", "jaxlib") for base in type(source).__mro__)


class Format(NamedTuple):
    """A format of models."""

    name: str
    takes: Callable[[object], bool]
    module: str
    """The module with its `open_model`."""
    signed: bool = False
    """True if models have signatures, which name inputs and outputs."""
    stateful: bool = False
    """True if models may keep something from call to call."""
    custom: bool = True
    """True if Python functions may compute operators."""
    libraries: tuple[str, ...] = ()
    """The libraries that may compute operators without rows."""


FORMATS = (
    Format("tflite", is_tflite, "whence.frontends.tflite.graph", signed=True, stateful=True),
    Format("torchscript", is_torchscript, "whence.frontends.torch.script_model", stateful=True, custom=False),
    Format("pytorch", is_pytorch, "whence.frontends.torch.graph", stateful=True, libraries=("torch",)),
    Format("keras", is_keras, "whence.frontends.keras.graph", stateful=True),
    Format("stablehlo", is_stablehlo, "whence.frontends.stablehlo.graph"),
    Format("tensorflow", is_tensorflow, "whence.frontends.tensorflow.model", signed=True, stateful=True),
)
"""All formats but ONNX, the format of everything else."""


def is_onnx(source: object) -> bool:
    """Return whether a source is an ONNX model, as other files and bytes are taken for; a ModelProto."""
    return isinstance(source, Path | bytes) or getattr(getattr(source, "DESCRIPTOR", None), "name", "") == "ModelProto"


_ONNX = Format("onnx", is_onnx, "whence.frontends.onnx.graph", libraries=("onnxruntime", "reference"))


def _format_of(source: object) -> Format:
    return next((row for row in FORMATS if row.takes(source)), _ONNX)


def is_model(source: object) -> bool:
    """Return whether a source is a file, bytes, or a model in memory of some format."""
    return any(row.takes(source) for row in (*FORMATS, _ONNX))


def format_name(source: object) -> str:
    """Return the name of the format of a file, of its bytes, or of a model in memory."""
    return _format_of(source).name


def has_signatures(source: object) -> bool:
    """Return whether the model of a source may have signatures."""
    return _format_of(source).signed


def is_module(source: object) -> bool:
    """Return whether a source is the file of a module of ours."""
    return isinstance(source, Path) and source.suffix in MODULES and not is_stablehlo(source)


def _check_library(row: Format, library: str) -> None:
    """Raise PipelineError for a library that computes no operators of a format."""
    if library in row.libraries:
        return
    formats = {name: other.name for other in (*FORMATS, _ONNX) for name in other.libraries}
    if library not in formats:
        raise PipelineError(f"fallback: expected one of {', '.join(sorted(formats))}, got {library!r}")
    own = f"{' or '.join(row.libraries)}, for a model of {row.name}" if row.libraries else "a model of another format"
    raise PipelineError(f"fallback: expected {own}, got {library!r}, which is for {formats[library]}")


def read_model(
    source: Any, signature: str | None = None, *, keep: bool = False, custom_ops: CustomOps | None = None
) -> Model:
    """Read and check the model of a file, of its bytes, or in memory.

    custom_ops: the operators that Python functions compute, and the library to fall back on; a warning names operators
    that the model does not have.

    keep: whether state that a call changes is an input and an output, kept for the next call; else it begins anew.
    """
    refuse_foreign(source)
    row = _format_of(source)
    options: dict[str, Any] = {"signature": signature} if row.signed else {}
    if row.stateful:
        options["keep"] = keep
    if custom_ops is not None and (fallback := custom_ops.fallback) is not None:
        _check_library(row, fallback.library)
    if custom_ops is not None and not row.custom:
        raise PipelineError(f"custom_ops: expected a model of another format, got one of {row.name}")
    if custom_ops is not None:
        options["custom_ops"] = custom_ops
    model = import_module(row.module).open_model(source, **options)
    if custom_ops is not None and (unmet := custom_ops.unmet()):
        listed = ", ".join(f"'{name}'" for name in unmet)
        text = f"custom_ops: expected names of operators of the model, got {listed}, of which it has none"
        warnings.warn(FrontendWarning(text), stacklevel=2)
    return model
