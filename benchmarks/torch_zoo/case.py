"""A network with inputs of two sizes."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Case:
    """A network, the inputs of two calls, and the axes of each input that the export leaves open."""

    module: nn.Module
    first: tuple[torch.Tensor, ...]
    second: tuple[torch.Tensor, ...]
    open_axes: tuple[tuple[int, ...], ...]

    @property
    def dynamic(self) -> Any:
        """The dynamic shapes of the export: the exporter decides which of the axes can stay open."""
        shapes = [dict.fromkeys(axes, torch.export.Dim.AUTO) or None for axes in self.open_axes]
        return {"inputs": tuple(shapes)} if isinstance(self.module, Returning) else tuple(shapes)


class Returning(nn.Module):
    """A network of which one result, or a function of the results, is asked for."""

    def __init__(
        self, network: nn.Module, result: Callable[..., Any] | str = "", names: tuple[str, ...] = (), **fixed: Any
    ):
        super().__init__()
        self.network = network
        self.result, self.names, self.fixed = result, names, fixed

    def forward(self, *inputs: torch.Tensor) -> Any:
        if self.names:
            results = self.network(**dict(zip(self.names, inputs, strict=True)), **self.fixed)
        else:
            results = self.network(*inputs, **self.fixed)
        if isinstance(self.result, str):
            return getattr(results, self.result) if self.result else results
        return self.result(results)


def images(network: nn.Module, size: int = 32, channels: int = 3, other: tuple[int, int] | None = None) -> Case:
    """A network of images; `other` is height and width of the second call where these can be open."""
    height, width = other or (size, size)
    return Case(
        network,
        (torch.randn(2, channels, size, size),),
        (torch.randn(3, channels, height, width),),
        ((0,) if other is None else (0, 2, 3),),
    )


def token_ids(network: nn.Module, words: int = 64, length: int = 7, other: int | None = 11) -> Case:
    """A network of texts; `other` is the length of the second call, None where it cannot be open."""
    second = other or length
    return Case(
        network,
        (torch.randint(3, words, (2, length)),),
        (torch.randint(3, words, (3, second)),),
        ((0,) if other is None else (0, 1),),
    )
