"""A builder of small networks, every layer of which has a location of its own."""

from __future__ import annotations

import pytest
from relay_nets import Net


@pytest.fixture
def make_net() -> type[Net]:
    return Net
