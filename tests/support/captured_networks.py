"""Twenty small networks of torchvision, timm, transformers and torch itself, with random weights."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import torch
from torch import nn

Made = tuple[nn.Module, tuple[Any, ...]]
"""A network, and the arguments of a call."""


def _image(extent: int = 32, batch: int = 2) -> tuple[Any, ...]:
    return (torch.randn(batch, 3, extent, extent),)


def _ids(vocabulary: int = 50, length: int = 7) -> tuple[Any, ...]:
    return (torch.randint(1, vocabulary, (2, length)),)


def _vision(name: str) -> Any:
    return import_module(f"torchvision.models.{name}")


def _resnet() -> Made:
    models = _vision("resnet")
    return models.ResNet(models.BasicBlock, [1, 1, 1, 1], num_classes=5), _image()


def _bottlenecks() -> Made:
    models = _vision("resnet")
    return models.ResNet(models.Bottleneck, [1, 1, 1, 1], num_classes=5, groups=2, width_per_group=16), _image()


def _mobilenet_v2() -> Made:
    setting = [[1, 8, 1, 1], [6, 16, 2, 2]]
    return _vision("mobilenetv2").MobileNetV2(5, 0.25, inverted_residual_setting=setting), _image()


def _mobilenet_v3() -> Made:
    models = _vision("mobilenetv3")
    setting = [
        models.InvertedResidualConfig(16, 3, 16, 16, True, "RE", 2, 1, 1),
        models.InvertedResidualConfig(16, 5, 32, 24, True, "HS", 2, 1, 1),
    ]
    return models.MobileNetV3(setting, 32, 5), _image()


def _shufflenet() -> Made:
    return _vision("shufflenetv2").ShuffleNetV2([1, 1, 1], [8, 16, 16, 32, 32], 5), _image()


def _densenet() -> Made:
    return _vision("densenet").DenseNet(4, (2, 2), 8, 2, num_classes=5), _image()


def _swin() -> Made:
    return _vision("swin_transformer").SwinTransformer([4, 4], 8, [2], [2], [2, 2], num_classes=5), _image(16)


def _vit() -> Made:
    model = import_module("timm.models.vision_transformer").VisionTransformer
    return model(img_size=16, patch_size=8, embed_dim=24, depth=2, num_heads=2, num_classes=5), _image(16)


def _mixer() -> Made:
    model = import_module("timm.models.mlp_mixer").MlpMixer
    return model(img_size=16, patch_size=8, embed_dim=16, num_blocks=2, num_classes=5), _image(16)


def _convnext() -> Made:
    return import_module("timm.models.convnext").ConvNeXt(
        depths=(1, 1, 1, 1), dims=(8, 8, 16, 16), num_classes=5
    ), _image()


_SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}


def _transformers(model: str, config: str, **options: Any) -> nn.Module:
    package = import_module("transformers")
    return getattr(package, model)(getattr(package, config)(**options))


def _bert() -> Made:
    return _transformers("BertModel", "BertConfig", vocab_size=50, **_SMALL), _ids()


def _gpt2() -> Made:
    options = {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 50, "bos_token_id": 1, "eos_token_id": 1}
    return _transformers("GPT2LMHeadModel", "GPT2Config", **options), _ids()


def _llama() -> Made:
    return _transformers("LlamaForCausalLM", "LlamaConfig", vocab_size=50, **_SMALL, num_key_value_heads=1), _ids()


def _t5() -> Made:
    options = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2, "vocab_size": 50}
    return _transformers("T5EncoderModel", "T5Config", **options), _ids()


def _clip() -> Made:
    return _transformers("CLIPVisionModel", "CLIPVisionConfig", image_size=16, patch_size=8, **_SMALL), _image(16)


class _Recurrent(nn.Module):
    """A tagger of words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 8)
        self.lstm = nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(12, 5, batch_first=True)
        self.tags = nn.Linear(5, 3)

    def forward(self, ids: Any) -> Any:
        results, (hidden, _) = self.lstm(self.words(ids))
        results, last = self.gru(results)
        return {"tags": self.tags(results).log_softmax(-1), "states": (hidden, last)}


class _UNet(nn.Module):
    """Down, up, and what was there before beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(2, 6)
        self.up = nn.ConvTranspose2d(6, 4, 2, stride=2)
        self.out = nn.Conv2d(7, 2, 1)

    def forward(self, image: Any) -> Any:
        inner = nn.functional.silu(self.norm(self.down(image)))
        outer = nn.functional.interpolate(self.up(inner), scale_factor=1.0, mode="nearest")
        return self.out(torch.cat([image, outer], 1)).softmax(1)


class _Mixture(nn.Module):
    """Experts, of which each row of the input chooses one."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.weights = nn.Parameter(torch.randn(3, 8, 4))

    def forward(self, x: Any) -> Any:
        scores, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
        each = torch.einsum("bi,eio->beo", x, self.weights)
        mixed = each.gather(1, chosen[:, :, None].expand(-1, -1, 4)) * scores[:, :, None]
        return mixed.sum(1), chosen


class _Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Any) -> Any:
        return self.encoder(x)


class _Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(2, ceil_mode=True)
        self.inner = nn.Sequential(
            nn.Flatten(), nn.Linear(3 * 25, 6), nn.Tanh(), nn.Linear(6, 75), nn.Unflatten(1, (3, 5, 5))
        )

    def forward(self, image: Any) -> Any:
        small = self.pool(image)
        again = self.inner(small)
        return nn.functional.interpolate(again, size=(9, 9), mode="bilinear"), (again - small).square().mean()


NETWORKS: Mapping[str, Callable[[], Made]] = {
    "resnet": _resnet,
    "bottlenecks": _bottlenecks,
    "mobilenet_v2": _mobilenet_v2,
    "mobilenet_v3": _mobilenet_v3,
    "shufflenet": _shufflenet,
    "densenet": _densenet,
    "swin": _swin,
    "vit": _vit,
    "mixer": _mixer,
    "convnext": _convnext,
    "bert": _bert,
    "gpt2": _gpt2,
    "llama": _llama,
    "t5": _t5,
    "clip": _clip,
    "recurrent": lambda: (_Recurrent(), _ids()),
    "unet": lambda: (_UNet(), _image(8)),
    "mixture": lambda: (_Mixture(), (torch.randn(5, 8),)),
    "encoder": lambda: (_Encoder(), (torch.randn(2, 5, 16),)),
    "autoencoder": lambda: (_Autoencoder(), _image(9)),
}
"""Name -> what makes a network in inference mode and the arguments of a call."""


def made(name: str) -> Made:
    """A network with weights and running statistics that are no zeros or ones, and arguments for it."""
    torch.manual_seed(0)
    model, arguments = NETWORKS[name]()
    for value in [*model.parameters(), *model.buffers()]:
        if value.is_floating_point() and value.numel() and bool((value == value.flatten()[0]).all()):
            value.data.add_(torch.rand(value.shape) * 0.2)
    return model.eval(), arguments
