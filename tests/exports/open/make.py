"""Small networks of random weights that take any sizes, exported by PyTorch: makes the files of this folder.

    python tests/exports/open/make.py [NAME ...]      needs torch 2.8, transformers, onnx, onnxscript

Text models of any batch and length, decoders with a cache that grows, pictures of any size, lines of any width. A file
is at most 300 kB. `<name>.onnx` is of the older exporter, `<name>.dynamo.onnx` of the newer one.
"""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportCallIssue=false, reportOperatorIssue=false

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers as hf
from torch import nn

sys.path.insert(0, str(Path(__file__).parent.parent))
from make import LIMIT, SMALL, Picked, Recurrent, WithCache, ids, shrink

HERE = Path(__file__).parent
POSITIONS = 256
"""Lengths that tables of positions reach."""


class Export(NamedTuple):
    model: nn.Module
    inputs: tuple[torch.Tensor, ...]
    names: list[str]
    axes: list[dict[int, str]]
    """Of each input, by the number of the axis."""
    outputs: list[str]


def bert() -> Export:
    config = hf.BertConfig(**SMALL, max_position_embeddings=136, attn_implementation="eager")
    names = ["input_ids", "attention_mask"]
    model = Picked(hf.BertModel(config), names, "last_hidden_state", "pooler_output")
    mask = torch.ones(2, 9, dtype=torch.int64)
    return Export(model, (ids(2, 9), mask), names, [{0: "batch", 1: "seq"}] * 2, ["hidden", "pooled"])


def _decoder(model: nn.Module, heads: int) -> Export:
    past = [torch.randn(2, heads, 5, 8) for _ in range(4)]
    names = [f"past_{layer}_{part}" for layer in range(2) for part in ("key", "value")]
    axes = [{0: "batch", 1: "seq"}, *[{0: "batch", 2: "past"}] * 4]
    outputs = ["logits", *[name.replace("past", "present") for name in names]]
    return Export(WithCache(model), (ids(2, 3), *past), ["input_ids", *names], axes, outputs)


def gpt2() -> Export:
    config = hf.GPT2Config(
        vocab_size=64, n_positions=POSITIONS, n_embd=32, n_layer=2, n_head=4, attn_implementation="eager"
    )
    return _decoder(hf.GPT2LMHeadModel(config), 4)


def llama() -> Export:
    config = hf.LlamaConfig(
        **SMALL, num_key_value_heads=2, max_position_embeddings=POSITIONS, attn_implementation="eager"
    )
    return _decoder(hf.LlamaForCausalLM(config), 2)


def lstm() -> Export:
    outputs = ["sequence", "hidden", "cell"]
    return Export(Recurrent(nn.LSTM), (torch.randn(2, 7, 12),), ["x"], [{0: "batch", 1: "seq"}], outputs)


def _block(channels: int, out: int, stride: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.LeakyReLU(0.1))


class Detector(nn.Module):
    """Centres of objects: two scales, the smaller one resized to the other and added, peaks of a map of scores."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.fine, self.coarse = _block(3, 8, 2), _block(8, 16, 2), _block(16, 24, 2)
        self.side = nn.Conv2d(24, 16, 1)
        self.scores, self.boxes = nn.Conv2d(16, 2, 3, padding=1), nn.Conv2d(16, 4, 1)

    def forward(self, x: torch.Tensor) -> Any:
        fine = self.fine(self.stem(x))
        side = self.side(self.coarse(fine))
        both = fine + nn.functional.interpolate(side, size=fine.shape[-2:], mode="bilinear", align_corners=False)
        scores = self.scores(both).sigmoid()
        peaks = nn.functional.max_pool2d(scores, 3, 1, 1)
        return torch.where(peaks == scores, scores, torch.zeros_like(scores)), self.boxes(both).exp()


def detector() -> Export:
    axes = [{0: "batch", 2: "height", 3: "width"}]
    return Export(Detector(), (torch.randn(1, 3, 64, 96),), ["image"], axes, ["scores", "boxes"])


class Recogniser(nn.Module):
    """Text of a line: convolutions down to one row, two directions of an LSTM, odds of characters for CTC."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            _block(1, 8, 1), nn.MaxPool2d(2), _block(8, 16, 1), nn.MaxPool2d(2), _block(16, 24, 1),
            nn.MaxPool2d((2, 1)), nn.Conv2d(24, 32, (4, 1)), nn.ReLU(),
        )  # fmt: skip
        self.lines = nn.LSTM(32, 16, num_layers=2, bidirectional=True, batch_first=True)
        self.characters = nn.Linear(32, 40)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        columns = self.convolutions(x).squeeze(2).transpose(1, 2)
        return self.characters(self.lines(columns)[0]).log_softmax(-1)


def recogniser() -> Export:
    return Export(Recogniser(), (torch.randn(2, 1, 32, 100),), ["line"], [{0: "batch", 3: "width"}], ["odds"])


NETWORKS: dict[str, Callable[[], Export]] = {f.__name__: f for f in (bert, gpt2, llama, lstm, detector, recogniser)}
DYNAMO = ("bert",)


def export(name: str, dynamo: bool) -> Path:
    torch.manual_seed(0)
    made = NETWORKS[name]()
    model = made.model.eval()
    path = HERE / f"{name}{'.dynamo' if dynamo else ''}.onnx"
    with torch.no_grad():
        if dynamo:
            dims = {text: torch.export.Dim(text, min=1, max=136) for axes in made.axes for text in axes.values()}
            shapes = tuple({axis: dims[text] for axis, text in axes.items()} for axes in made.axes)
            torch.onnx.export(
                model, made.inputs, path, dynamo=True, external_data=False,
                dynamic_shapes=(shapes,), input_names=made.names, output_names=made.outputs,
            )  # fmt: skip
        else:
            axes = dict(zip(made.names, made.axes, strict=True))
            torch.onnx.export(
                model, made.inputs, path, dynamo=False, opset_version=17,
                input_names=made.names, output_names=made.outputs, dynamic_axes=axes,
            )  # fmt: skip
    shrink(path)
    return path


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    wanted = [(name, False) for name in NETWORKS] + [(name, True) for name in DYNAMO]
    for name, dynamo in wanted:
        if names and name not in names:
            continue
        size = export(name, dynamo).stat().st_size
        print(f"{name}{'.dynamo' if dynamo else ''}: {size} bytes{' TOO LARGE' if size > LIMIT else ''}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
