# pyright: basic, reportMissingImports=false
"""`torch.compile(.., backend="whence")` beside eager PyTorch and its own inductor: time, and what a call costs.

    python benchmarks/torch_compile.py                          every network, one thread
    python benchmarks/torch_compile.py resnet18 'vit*' --threads 2

Networks have random weights. Candidates take turns; medians count, in milliseconds per call. `/ eager` and `/ inductor`
are their times divided by ours: above 1 we are faster. `off` is the largest difference from eager, relative to
1 + its size. `tiny` is a dense layer of 8 by 8: what is left is Dynamo's guards, torch's wrappers, and ours. Inductor
needs a C++ compiler.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from fnmatch import fnmatch
from importlib import import_module
from statistics import median
from typing import Any

import torch
from torch import nn

SECONDS = 6.0
"""Of measuring a network, all candidates together."""
LEAST = 7
"""Rounds at least."""


def _torchvision(name: str) -> Any:
    return getattr(import_module("torchvision.models"), name)(), (torch.randn(1, 3, 224, 224),)


def _vit() -> Any:
    return import_module("timm").create_model("vit_tiny_patch16_224"), (torch.randn(1, 3, 224, 224),)


def _bert(hidden: int, layers: int, heads: int) -> Any:
    package = import_module("transformers")
    sizes = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads}
    config = package.BertConfig(**sizes, intermediate_size=4 * hidden)
    return package.BertModel(config), (torch.randint(1, 30000, (1, 128)),)


NETWORKS: dict[str, Callable[[], Any]] = {
    "tiny": lambda: (nn.Sequential(nn.Linear(8, 8), nn.ReLU()), (torch.randn(1, 8),)),
    "resnet18": lambda: _torchvision("resnet18"),
    "resnet50": lambda: _torchvision("resnet50"),
    "mobilenet_v2": lambda: _torchvision("mobilenet_v2"),
    "vit_tiny": _vit,
    "bert_tiny": lambda: _bert(128, 2, 2),
    "bert_base": lambda: _bert(768, 12, 12),
}


def leaves(result: Any) -> list[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def off(actual: Any, expected: Any) -> float:
    """The largest difference, relative to 1 + the size of what is expected."""
    pairs = zip(leaves(actual), leaves(expected), strict=True)
    return max(float(((a - b).abs() / (1 + b.abs())).max()) for a, b in pairs)


def candidates(model: Any, arguments: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """The forms of a model that can run, warmed up, as functions of nothing."""
    calls: dict[str, Callable[[], Any]] = {"eager": lambda: model(*arguments)}
    for backend in ("inductor", "whence"):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=backend)
        try:
            compiled(*arguments)
        except Exception as error:
            print(f"{backend} does not run: {str(error).splitlines()[0]}")
            continue
        calls[backend] = lambda compiled=compiled: compiled(*arguments)
    return calls


def measured(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds per call, medians of rounds in which the candidates take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    start = time.perf_counter()
    for call in calls.values():
        call()
    each = (time.perf_counter() - start) / len(calls)
    repeat = max(1, int(0.01 / each))
    while len(times["eager"]) < LEAST or time.perf_counter() - start < SECONDS:
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(repeat):
                call()
            times[name].append((time.perf_counter() - begin) / repeat)
    return {name: median(values) for name, values in times.items()}


def row(name: str) -> str:
    torch.manual_seed(0)
    model, arguments = NETWORKS[name]()
    calls = candidates(model.eval(), arguments)
    difference = off(calls["whence"](), calls["eager"]())
    seconds = measured(calls)
    ours = seconds["whence"]
    texts = [f"{seconds[key] * 1e3:9.3f}" if key in seconds else " " * 9 for key in ("eager", "inductor", "whence")]
    ratios = [f"{seconds[key] / ours:8.2f}" if key in seconds else " " * 8 for key in ("eager", "inductor")]
    return f"{name:13}{''.join(texts)}{''.join(ratios)}  {difference:.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", default=["*"], help="networks, or patterns of names")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warnings.simplefilter("ignore")
    print(f"{'':13}{'eager':>9}{'inductor':>9}{'whence':>9}{'/ eager':>8}{'/ induc':>8}  off")
    with torch.no_grad():
        for name in NETWORKS:
            if any(fnmatch(name, pattern) for pattern in options.names):
                print(row(name), flush=True)


if __name__ == "__main__":
    main()
