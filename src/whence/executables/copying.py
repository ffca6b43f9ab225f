"""Executables as bytes: pickled, sent to other processes and copied as the file that `export_library` writes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from whence.executables.unpacking import artifact_of
from whence.runtime.loading.loaded import read_package
from whence.support.errors import PipelineError

_NAME = "executable.tar"


def exported_bytes(export: Callable[[Path], None]) -> bytes:
    """Return the bytes of the file that `export`, the `export_library` of an executable, writes.

    Raises PipelineError, with the name of the executable, if it has no such file.
    """
    with tempfile.TemporaryDirectory(prefix="whence") as folder:
        path = Path(folder) / _NAME
        try:
            export(path)
        except PipelineError as error:
            text = f"pickle, copy: an executable goes as the file that export_library writes: {error}"
            raise PipelineError(text) from error
        return path.read_bytes()


def revived(kind: Any, data: bytes, threads: int | None, facts: Mapping[str, Any], kept: Any) -> Any:
    """Return the executable in `exported_bytes`; raises the errors of `read_artifact`.

    kind: its class. facts: its other attributes. kept: its state between calls.
    """
    with tempfile.TemporaryDirectory(prefix="whence") as folder:
        path = Path(folder) / _NAME
        path.write_bytes(data)
        executable = kind.of_artifact(artifact_of(read_package(path), _NAME), threads)
    for name, value in facts.items():
        setattr(executable, name, value)
    executable.go_on(kept)
    return executable
