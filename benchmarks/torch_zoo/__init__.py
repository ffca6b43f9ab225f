"""Networks of torchvision, timm and transformers in tiny configurations with random weights, for torch_networks.py."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable

from . import modules, sequences, texts, transformers_vision, vision
from .case import Case

NETWORKS: dict[str, Callable[[], Case]] = {
    **vision.NETWORKS,
    **transformers_vision.NETWORKS,
    **texts.NETWORKS,
    **sequences.NETWORKS,
    **modules.NETWORKS,
}
"""Name -> what builds the network, with its inputs."""
