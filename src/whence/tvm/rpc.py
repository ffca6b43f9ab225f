"""Sessions on devices, by TVM's names: the only device is this machine, so the only session is a local one."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from whence._ffi.registry import get_global_func
from whence.runtime.loading.loaded import LoadedModule, load_module
from whence.runtime.values.device import Device, cpu
from whence.support.errors import PipelineError, expectation


class LocalSession:
    """A session in this process: files are uploaded to a folder, which goes with the session."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="whence-session-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def upload(self, data: bytes | bytearray | str | PathLike[str], target: str | None = None) -> None:
        """Copy a file, or bytes under the name `target`. Raises PipelineError for bytes without a name."""
        if isinstance(data, bytes | bytearray):
            if target is None:
                raise PipelineError(expectation("upload", "a target for bytes", "none"))
            self._path(target).write_bytes(data)
        else:
            shutil.copyfile(data, self._path(target or Path(data).name))

    def download(self, path: str) -> bytearray:
        """Return the bytes of an uploaded file; raises PipelineError for an unknown one."""
        return bytearray(self._uploaded(path).read_bytes())

    def remove(self, path: str) -> None:
        """Remove an uploaded file; raises PipelineError for an unknown one."""
        self._uploaded(path).unlink()

    def load_module(self, path: str) -> LoadedModule:
        """Load an uploaded file of `export_library`; errors as `runtime.load_module`, and for an unknown name."""
        return load_module(self._uploaded(path))

    def get_function(self, name: str) -> Callable[..., Any]:
        """Return a global function; raises ValueError for an unknown name."""
        return get_global_func(name)

    def cpu(self, dev_id: int = 0) -> Device:
        """Return the device of the session."""
        return cpu(dev_id)

    def _path(self, name: str) -> Path:
        path = self._folder / name
        if path.parent != self._folder:
            raise PipelineError(expectation("upload", "the name of a file without a folder", repr(name)))
        return path

    def _uploaded(self, name: str) -> Path:
        if not (path := self._path(name)).is_file():
            there = ", ".join(sorted(file.name for file in self._folder.iterdir())) or "nothing"
            raise PipelineError(expectation("session", f"a file that was uploaded ({there})", repr(name)))
        return path


def connect(url: str, port: int, *args: object, **kwargs: object) -> NoReturn:
    """Raise PipelineError: models run here, and are shipped to other machines as files."""
    _refuse("connect", f"{url}:{port}")


def connect_tracker(url: str, port: int) -> NoReturn:
    """Raise PipelineError, as `connect` does."""
    _refuse("connect_tracker", f"{url}:{port}")


def _refuse(name: str, address: str) -> NoReturn:
    expected = "LocalSession, as models run here and are shipped to other machines as files of export_library"
    raise PipelineError(expectation(f"rpc.{name}", expected, address))
