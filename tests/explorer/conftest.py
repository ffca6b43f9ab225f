"""A small model with all that the explorer has to tell apart: twins, folded nodes, dropped nodes, a shared kernel."""

from __future__ import annotations

import pytest
from explored_models import twins
from onnx import ModelProto

import whence


@pytest.fixture(scope="session")
def source() -> ModelProto:
    return twins()


@pytest.fixture(scope="session")
def compiled(source: ModelProto) -> whence.Executable:
    return whence.compile(source)
