"""Graphs in memory: the door that `torch.compile` goes through, where no torch is needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import whence
from whence.frontends.torch.archive import Archive
from whence.frontends.torch.captured import Captured
from whence.frontends.torch.schema import Reader
from whence.frontends.torch.tensors import tensors_of

PROGRAMS = Path(__file__).parents[2] / "exports" / "pytorch"


class Stored(Captured):
    """A graph whose document and weights come out of a file."""

    archive = Archive((PROGRAMS / "cnn.pt2").read_bytes(), "cnn.pt2")

    def document(self) -> Mapping[str, Any]:
        return self.archive.document(self.archive.model())


def test_a_graph_in_memory_is_what_the_file_is():
    weights = tensors_of(Stored.archive, Reader("cnn.pt2"))
    kept: dict[str, np.ndarray[Any, Any]] = {name: np.ascontiguousarray(value) for name, value in weights.items()}
    shapes = {"image": [2, 3, 16, 16]}
    memory = whence.compile(Stored(None, kept), input_shapes=shapes)  # pyright: ignore[reportArgumentType]
    file = whence.compile(PROGRAMS / "cnn.pt2", input_shapes=shapes)
    image = np.random.default_rng(0).standard_normal((2, 3, 16, 16)).astype(np.float32)
    assert memory.layers == file.layers
    np.testing.assert_array_equal(np.asarray(memory(image)), np.asarray(file(image)))
