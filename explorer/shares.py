"""Parts of layers in something."""

from __future__ import annotations

from .layers import Layer

Shares = dict[Layer | None, float]
"""Layer -> its part of something; None: what no layer is known of."""
