"""Small networks of random weights, exported by PyTorch and transformers: makes the files of this folder.

    python tests/exports/make.py [NAME ...]      needs torch 2.8, torchvision 0.23, transformers, onnx, onnxscript,
                                                 onnxruntime (for the quantised ones)

Each network is exported by the newer exporter (torch.export, `<name>.onnx`) and the older one (`<name>.trace.onnx`),
with dynamic axes where it has some. A file is at most 300 kB.
"""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import torch
import torchvision
import transformers as hf
from torch import nn

HERE = Path(__file__).parent
LIMIT = 300_000
torch.manual_seed(0)


class Picked(nn.Module):
    """A model of which some results are taken, as a tuple."""

    def __init__(self, model: nn.Module, names: list[str], *outputs: str, **fixed: Any):
        super().__init__()
        self.model, self.names, self.outputs, self.fixed = model, names, outputs, fixed

    def forward(self, *given: Any) -> Any:
        found = self.model(**dict(zip(self.names, given, strict=True)), **self.fixed)
        return tuple(found[name] for name in self.outputs)


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(0, 64, shape)


def alive(model: nn.Module, *shape: int) -> nn.Module:
    """A vision model whose results depend on its input: batch norms that know what they meet, a wide last layer.

    Biases are not alike, as the exporter shares those that are, which the quantiser does not understand.
    """
    for one in model.modules():
        if isinstance(one, nn.BatchNorm2d):
            one.momentum = None  # the mean of all that it has seen
        if isinstance(one, nn.Linear):
            nn.init.normal_(one.weight, std=one.in_features**-0.5)
        if isinstance(one, nn.Linear | nn.Conv2d) and one.bias is not None:
            nn.init.normal_(one.bias, std=0.1)
    with torch.no_grad():
        for _ in range(8):
            model.train()(torch.randn(16, *shape))
    return model.eval()


SMALL = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}


def bert() -> Any:
    config = hf.BertConfig(**SMALL, max_position_embeddings=32, attn_implementation="eager")
    model = Picked(hf.BertModel(config), ["input_ids", "attention_mask"], "last_hidden_state", "pooler_output")
    return model, (ids(2, 9), torch.ones(2, 9, dtype=torch.int64)), {0: "batch", 1: "seq"}


class WithCache(nn.Module):
    """A decoder whose cache goes in and out as tensors: keys and values of each layer in turn."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, *past: torch.Tensor) -> Any:
        cache = hf.DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        out = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True)
        left = [t for layer in out.past_key_values.layers for t in (layer.keys, layer.values)]
        return (out.logits, *left)


def gpt2() -> Any:
    config = hf.GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4, attn_implementation="eager")
    past = [torch.randn(1, 4, 5, 8) for _ in range(4)]
    return WithCache(hf.GPT2LMHeadModel(config)), (ids(1, 3), *past), None


def llama() -> Any:
    config = hf.LlamaConfig(**SMALL, num_key_value_heads=2, max_position_embeddings=32, attn_implementation="eager")
    past = [torch.randn(1, 2, 5, 8) for _ in range(4)]
    return WithCache(hf.LlamaForCausalLM(config)), (ids(1, 3), *past), None


def t5() -> Any:
    config = hf.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
    return Picked(hf.T5EncoderModel(config), ["input_ids"], "last_hidden_state"), (ids(2, 9),), {0: "batch", 1: "seq"}


def vit() -> Any:
    sizes = {k: v for k, v in SMALL.items() if k != "vocab_size"}
    config = hf.ViTConfig(**sizes, image_size=32, patch_size=8, num_labels=5, attn_implementation="eager")
    return (
        Picked(hf.ViTForImageClassification(config), ["pixel_values"], "logits"),
        (torch.randn(1, 3, 32, 32),),
        {0: "batch"},
    )


def swin() -> Any:
    config = hf.SwinConfig(
        image_size=16, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=5
    )
    return Picked(hf.SwinForImageClassification(config), ["pixel_values"], "logits"), (torch.randn(1, 3, 16, 16),), None


def convnext() -> Any:
    config = hf.ConvNextConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], num_labels=5, image_size=32)
    return (
        Picked(hf.ConvNextForImageClassification(config), ["pixel_values"], "logits"),
        (torch.randn(1, 3, 32, 32),),
        {0: "batch"},
    )


def efficientnet() -> Any:
    from torchvision.models.efficientnet import EfficientNet, MBConvConfig

    blocks = [
        MBConvConfig(1, 3, 1, 8, 8, 1, 1, 1),
        MBConvConfig(4, 3, 2, 8, 12, 2, 1, 1),
        MBConvConfig(4, 5, 2, 12, 16, 1, 1, 1),
    ]
    model = EfficientNet(blocks, 0.1, num_classes=5, last_channel=32)
    return alive(model, 3, 32, 32), (torch.randn(1, 3, 32, 32),), None


def mobilenet_v3() -> Any:
    from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3

    def block(*args: Any) -> Any:
        return InvertedResidualConfig(*args, width_mult=1.0)

    blocks = [
        block(16, 3, 16, 8, True, "RE", 2, 1),
        block(8, 5, 24, 12, True, "HS", 2, 1),
        block(12, 5, 32, 12, True, "HS", 1, 1),
    ]
    return alive(MobileNetV3(blocks, 32, num_classes=5), 3, 32, 32), (torch.randn(1, 3, 32, 32),), None


def shufflenet_v2() -> Any:
    model = torchvision.models.ShuffleNetV2([1, 2, 1], [8, 16, 24, 32, 32], num_classes=5)
    return model, (torch.randn(1, 3, 32, 32),), None


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.deep = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU())
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Sequential(
            nn.Conv2d(16, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.LeakyReLU(), nn.Conv2d(8, 2, 1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = self.down(x)
        return self.out(torch.cat([skip, self.up(self.deep(skip))], 1))


def unet() -> Any:
    return UNet(), (torch.randn(1, 3, 16, 24),), {0: "batch"}


def deeplab() -> Any:
    from torchvision.models.segmentation.deeplabv3 import ASPP

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
            self.aspp = ASPP(8, [2, 4], 8)
            self.out = nn.Conv2d(8, 3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.out(self.aspp(torch.relu(self.stem(x))))
            return nn.functional.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)

    return Head(), (torch.randn(1, 3, 24, 24),), None


class Detector(nn.Module):
    """Boxes from a small map, decoded, thresholded and suppressed, as SSD and RetinaNet do."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=4, padding=1), nn.ReLU())
        self.boxes, self.scores = nn.Conv2d(8, 4, 1), nn.Conv2d(8, 2, 1)

    def forward(self, x: torch.Tensor) -> Any:
        features = self.stem(x)
        delta = self.boxes(features).flatten(2).transpose(1, 2)[0]
        scores = self.scores(features).flatten(2).transpose(1, 2)[0].sigmoid()
        corner = torch.stack(torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij"), -1).reshape(-1, 2) * 4
        boxes = torch.cat([corner + delta[:, :2], corner + 6 + delta[:, 2:]], 1)
        best, label = scores.max(1)
        keep = torch.where(best > 0.45)[0]
        boxes, best, label = boxes[keep], best[keep], label[keep]
        chosen = torchvision.ops.batched_nms(boxes, best, label, 0.4)[:10]
        return boxes[chosen], best[chosen], label[chosen]


def detector() -> Any:
    return Detector(), (torch.randn(1, 3, 32, 32),), None


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]):
        super().__init__()
        self.cell = kind(12, 16, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, x: torch.Tensor) -> Any:
        out, state = self.cell(x)
        return (out, *state) if isinstance(state, tuple) else (out, state)


def lstm() -> Any:
    return Recurrent(nn.LSTM), (torch.randn(2, 7, 12),), None


def gru() -> Any:
    return Recurrent(nn.GRU), (torch.randn(2, 7, 12),), None


def rnn() -> Any:
    return Recurrent(nn.RNN), (torch.randn(2, 7, 12),), None


def wav2vec2() -> Any:
    sizes = {k: v for k, v in SMALL.items() if k != "vocab_size"}
    config = hf.Wav2Vec2Config(
        **sizes,
        vocab_size=20,
        conv_dim=(16, 16),
        conv_kernel=(10, 3),
        conv_stride=(5, 2),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
        attn_implementation="eager",
    )
    return Picked(hf.Wav2Vec2ForCTC(config), ["input_values"], "logits"), (torch.randn(1, 400),), None


def whisper() -> Any:
    config = hf.WhisperConfig(
        vocab_size=64,
        d_model=32,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        num_mel_bins=16,
        max_source_positions=20,
        max_target_positions=8,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=3,
        attn_implementation="eager",
    )
    return (
        Picked(hf.WhisperModel(config).encoder, ["input_features"], "last_hidden_state"),
        (torch.randn(1, 16, 40),),
        None,
    )


def mamba() -> Any:
    config = hf.MambaConfig(vocab_size=64, hidden_size=16, state_size=4, num_hidden_layers=2, use_mambapy=False)
    return Picked(hf.MambaForCausalLM(config), ["input_ids"], "logits", use_cache=False), (ids(1, 6),), None


_VISION = (vit, swin, convnext, efficientnet, mobilenet_v3, shufflenet_v2, unet, deeplab, detector)
_SEQUENCES = (bert, gpt2, llama, t5, lstm, gru, rnn, wav2vec2, whisper, mamba)
NETWORKS: dict[str, Callable[[], Any]] = {f.__name__: f for f in (*_VISION, *_SEQUENCES)}
HALF = ("vit", "unet", "llama")
QUANTISED = ("mobilenet_v3", "unet", "vit")


def export(name: str, trace: bool, half: bool = False) -> Path:
    model, inputs, dynamic = NETWORKS[name]()
    dynamic = None if half else dynamic
    model = model.eval()
    if half:
        model = model.half()
        inputs = tuple(x.half() if x.is_floating_point() else x for x in inputs)
    path = HERE / f"{name}{'.half' if half else ''}{'.trace' if trace else ''}.onnx"
    with torch.no_grad():
        if trace:
            axes = {f"x{k}": dict(dynamic) for k in range(len(inputs))} if dynamic else None
            names = [f"x{k}" for k in range(len(inputs))]
            torch.onnx.export(model, inputs, path, dynamo=False, opset_version=17, input_names=names, dynamic_axes=axes)
        else:
            shapes = None
            if dynamic:
                one = {axis: torch.export.Dim.DYNAMIC for axis in dynamic}
                shapes = tuple(one for _ in inputs)
                shapes = (shapes,) if isinstance(model, Picked) else shapes
            torch.onnx.export(model, inputs, path, dynamo=True, external_data=False, dynamic_shapes=shapes)
    shrink(path)
    return path


def shrink(path: Path) -> None:
    """Without what the exporters say of their own sources, which is most of a small file."""
    model = onnx.load(path)
    for graph in (model.graph, *model.functions):
        for node in graph.node:
            node.ClearField("doc_string")
            node.ClearField("metadata_props")
    model.graph.ClearField("value_info")
    for value in (*model.graph.input, *model.graph.output, *model.graph.initializer):
        value.ClearField("metadata_props") if hasattr(value, "metadata_props") else None
    onnx.save(model, path)


def quantise(name: str, qdq: bool) -> Path:
    """int8 by onnxruntime's quantiser: per channel in the QDQ form, per tensor in the QOperator form.

    Weights of the latter have 7 bits: onnxruntime's kernels saturate sums of pairs on machines without VNNI.
    """
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    source = HERE / f"{name}.trace.onnx"
    if not source.exists():
        export(name, trace=True)
    _, inputs, _ = NETWORKS[name]()

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = [{f"x{k}": torch.randn_like(x).numpy() for k, x in enumerate(inputs)} for _ in range(4)]

        def get_next(self) -> Any:
            return self.left.pop() if self.left else None

    path = HERE / f"{name}.{'qdq' if qdq else 'qop'}.onnx"
    quantize_static(
        str(source),
        str(path),
        Reader(),
        quant_format=QuantFormat.QDQ if qdq else QuantFormat.QOperator,
        per_channel=qdq,
        activation_type=QuantType.QInt8 if qdq else QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        reduce_range=not qdq,
    )
    return path


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    wanted: list[tuple[str, Callable[[], Path]]] = []
    for name in NETWORKS:
        wanted += [(f"{name}", lambda n=name: export(n, False)), (f"{name}.trace", lambda n=name: export(n, True))]
    wanted += [(f"{name}.half", lambda n=name: export(n, False, True)) for name in HALF]
    wanted += [
        (f"{n}.{form}", lambda n=n, q=form == "qdq": quantise(n, q)) for n in QUANTISED for form in ("qdq", "qop")
    ]
    for name, make in wanted:
        if names and name not in names:
            continue
        try:
            path = make()
            size = path.stat().st_size
            print(f"{name}: {size} bytes{' TOO LARGE' if size > LIMIT else ''}", flush=True)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
