"""Twenty networks through `torch.compile(.., backend="whence")`, against eager torch."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import warnings
from typing import Any

import pytest

from whence.support.errors import FrontendWarning

torch = pytest.importorskip("torch")
for package in ("torchvision", "timm", "transformers"):
    pytest.importorskip(package)
captured_networks = pytest.importorskip("captured_networks")
whence_torch = pytest.importorskip("whence.torch")


def leaves(result: Any) -> list[Any]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", captured_networks.NETWORKS)
def test_a_network_equals_eager_torch(name: str):
    torch._dynamo.reset()
    model, arguments = captured_networks.made(name)
    fast = torch.compile(model, backend="whence")
    with torch._dynamo.config.patch(allow_rnn=True), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", FrontendWarning)
        actual, expected = leaves(fast(*arguments)), leaves(model(*arguments))
    assert len(actual) == len(expected) > 0
    for a, b in zip(actual, expected, strict=True):
        assert b.numel() == 1 or b.unique().numel() > 1
        torch.testing.assert_close(a, b, rtol=2e-5, atol=2e-5)
        assert a.stride() == b.stride() or not b.is_contiguous()
    (executable,) = whence_torch.executables(fast)
    assert executable.coverage()["relay"] == 1
    places = {str(executable.where(layer)).splitlines()[0] for layer in executable.layers[:3]}
    assert not any("<memory>" in place for place in places)
