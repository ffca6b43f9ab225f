"""The models of the command line: a path, or the name of a model that the onnx package ships."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from whence.reading.foreign import refuse_foreign
from whence.support.errors import FrontendError, expectation
from whence.support.names import did_you_mean, shortened, shown

Source: TypeAlias = object
"""A model: a file, its bytes, a binary file object, a module of ours, or an object of a framework."""

KERAS = (".keras", ".h5", ".hdf5")
"""The files of Keras models."""
PYTORCH = (".pt2", ".pt", ".pth")
"""The files that torch writes; of them only those of exported programs are read."""
SUFFIXES = (".onnx", ".tflite", ".pb", ".pt2", *KERAS[:2], ".mlir", ".relay")
SCRIPT = ".py"
"""The files of kernels as TVMScript."""
SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt", "saved_model.cpb")
"""The files of which the folder of a saved model has one."""
_SHOWN = 200
"""Letters of a path that an error shows."""
EXPORTED = (".tar", ".so", ".o")
"""The files that hold a compiled model."""


@cache
def shipped_folder() -> Path | None:
    """Return the folder of the onnx package's light models, without importing the package."""
    spec = find_spec("onnx")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "backend" / "test" / "data" / "light"
    return folder if folder.is_dir() else None


def shipped_models() -> tuple[str, ...]:
    """Return the names of the shipped models."""
    folder = shipped_folder()
    return tuple(sorted(path.stem for path in folder.glob("*.onnx"))) if folder is not None else ()


def model_path(name: str) -> Path:
    """Return the file of a model: `name` itself, or for a bare name like `light_resnet50` the shipped one.

    Raises FrontendError when there is no such file.
    """
    path = Path(name)
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except OSError as error:
        expected = f"a model file ({', '.join(SUFFIXES)}) or the name of a shipped model"
        raise FrontendError(expectation(shortened(shown(name), _SHOWN), expected, str(error.strerror))) from error
    if is_file:
        return path
    if is_folder:
        if any((path / file).exists() for file in SAVED_MODEL):
            return path
        refuse_foreign(path)
        raise FrontendError(f"{name}: expected a model file or the folder of a saved model, got another folder")
    folder = shipped_folder()
    if folder is not None and path.name == name and (folder / f"{name}.onnx").is_file():
        return folder / f"{name}.onnx"
    text = f"{name}: expected a model file ({', '.join(SUFFIXES)}) or the name of a shipped model, got no such file"
    raise FrontendError(text + did_you_mean(name, [*_files_beside(path), *shipped_models()]))


def _files_beside(path: Path) -> list[str]:
    """Return the model files in the folder of a path."""
    try:
        return sorted(str(file) for file in path.parent.iterdir() if file.suffix in SUFFIXES)
    except OSError:
        return []


def shipped_references(path: Path) -> tuple[Path, ...]:
    """Return the files of a shipped model's outputs for the default input, in order; () for other models."""
    if path.parent != shipped_folder():
        return ()
    return tuple(sorted(path.parent.glob(f"{path.stem}_output_*.pb")))
