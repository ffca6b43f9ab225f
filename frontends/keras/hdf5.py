"""Reads HDF5 files, without following links to other files or external storage."""

from __future__ import annotations

import io
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..importing.limits import excess, expectation

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DAMAGES = (OSError, KeyError, RuntimeError, ValueError, TypeError, OverflowError, AttributeError, MemoryError)
"""Errors that h5py raises for damaged files."""

Group: TypeAlias = Any
"""A `h5py.Group`; h5py states no types."""
Dataset: TypeAlias = Any
"""A `h5py.Dataset`."""


class Hdf5:
    """An open HDF5 file. Every method raises FrontendError where the file is damaged or leads to another file."""

    def __init__(self, file: str, data: bytes):
        """file: the name for errors. Raises FrontendError where h5py is missing, too."""
        self.file = file
        try:
            self._h5py: Any = import_module("h5py")
        except ImportError as error:
            expected = "the h5py package, which reads Keras models (pip install 'whence-compiler[keras]')"
            raise FrontendError(f"{file}: expected {expected}, got none") from error
        with self._reading("the file"):
            self.root: Group = self._h5py.File(io.BytesIO(data), "r")

    @contextmanager
    def _reading(self, what: str) -> Generator[None]:
        try:
            yield
        except FrontendError:
            raise
        except _DAMAGES as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise FrontendError(f"{self.file}: expected {what} as HDF5, got: {reason}") from error

    def group(self, parent: Group, name: str) -> Group | None:
        """Return a group inside another; None where there is none."""
        child = self._child(parent, name)
        return child if isinstance(child, self._h5py.Group) else None

    def dataset(self, parent: Group, name: str) -> Dataset | None:
        """Return a dataset inside a group; None where there is none."""
        child = self._child(parent, name)
        return child if isinstance(child, self._h5py.Dataset) else None

    def _child(self, parent: Group, name: str) -> object:
        with self._reading(f"'{name}'"):
            link = parent.get(name, getlink=True)
            if link is None:
                return None
            if not isinstance(link, self._h5py.HardLink):
                path = f"{parent.name or ''}/{name}".replace("//", "/")
                raise FrontendError(f"{self.file}: expected '{path}' inside the file, got a {type(link).__name__}")
            return parent.get(name)

    def at(self, parent: Group, path: str) -> Group | None:
        """Return the group at a path; None where there is none."""
        group: Group | None = parent
        for name in filter(None, path.split("/")):
            group = self.group(group, name) if group is not None else None
        return group

    def members(self, group: Group) -> list[str]:
        """Return the names in a group."""
        with self._reading("a group"):
            return list(group.keys())

    def texts(self, owner: Group, name: str) -> list[str] | None:
        """Return an attribute that is a list of texts, perhaps in pieces `name0`, `name1`, ..; None without one."""
        with self._reading(f"attribute '{name}'"):
            if name in owner.attrs:
                return self._texts(owner, name)
            pieces: list[str] = []
            at = 0
            while f"{name}{at}" in owner.attrs:
                pieces += self._texts(owner, f"{name}{at}")
                at += 1
            return pieces if at else None

    def _texts(self, owner: Group, name: str) -> list[str]:
        return [_text(item) for item in np.asarray(owner.attrs[name]).reshape(-1).tolist()]

    def text(self, owner: Group, name: str) -> str | None:
        """Return an attribute that is one text; None without one."""
        with self._reading(f"attribute '{name}'"):
            return _text(owner.attrs[name]) if name in owner.attrs else None

    def array(self, dataset: Dataset, what: str) -> Array:
        """Return the numbers of a dataset, called `what` in errors, after a check that they fit in memory."""
        with self._reading(what):
            if dataset.is_virtual or dataset.external:
                raise FrontendError(f"{self.file}: expected {what} inside the file, got numbers of another file")
            shape, dtype = tuple(dataset.shape), dataset.dtype
            if dtype.kind not in "fiub" and dataset.attrs.get("dtype") != "bfloat16":
                raise FrontendError(f"{self.file}: expected {what} as numbers, got {dtype}")
            if too_big := excess(shape, dtype.itemsize):
                raise FrontendError(f"{self.file}: expected {what} to be {expectation()}, got {too_big}")
            array: Array = np.asarray(dataset[()])
            if dataset.attrs.get("dtype") == "bfloat16":
                import ml_dtypes

                array = array.view(ml_dtypes.bfloat16) if array.dtype.kind == "V" else array.astype(ml_dtypes.bfloat16)
            return np.asarray(array.astype(array.dtype.newbyteorder("=")))


def _text(item: object) -> str:
    """Return a text of an attribute, which may be bytes; raises ValueError for another value."""
    if isinstance(item, bytes):
        return item.decode()
    if isinstance(item, str):
        return item
    raise ValueError(f"{type(item).__name__} in place of a text")
