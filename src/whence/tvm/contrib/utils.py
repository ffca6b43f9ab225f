"""Folders for files that go when the program is done with them, as TVM has them at `tvm.contrib.utils`."""

from __future__ import annotations

import tempfile
from pathlib import Path


class TempDirectory:
    """A folder that goes with this object, or when `remove` is called."""

    def __init__(self, custom_path: str | None = None):
        self._folder = None if custom_path else tempfile.TemporaryDirectory()
        self.temp_dir = custom_path or (self._folder.name if self._folder else "")
        Path(self.temp_dir).mkdir(parents=True, exist_ok=True)

    @property
    def path(self) -> Path:
        return Path(self.temp_dir)

    def relpath(self, name: str) -> str:
        """The path of a file in the folder."""
        return str(Path(self.temp_dir) / name)

    def __truediv__(self, other: str) -> Path:
        return self.path / other

    def listdir(self) -> list[str]:
        """The names in the folder."""
        return [path.name for path in self.path.iterdir()]

    def remove(self) -> None:
        """Remove the folder, unless it was there before."""
        if self._folder is not None:
            self._folder.cleanup()


def tempdir(custom_path: str | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """A new folder; one at `custom_path` stays, as does one to be kept."""
    return TempDirectory(custom_path or (tempfile.mkdtemp() if keep_for_debug else None))
