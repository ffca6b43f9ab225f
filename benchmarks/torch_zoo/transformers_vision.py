"""Networks of images, and of images and texts, of transformers."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import torch

from .case import Case, Returning, images

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}


def network(cls: str, config: str, **options: Any) -> Any:
    """A network of transformers with random weights."""
    library: Any = import_module("transformers")
    return getattr(library, cls)(getattr(library, config)(**options))


def _images(
    family: str, result: str = "last_hidden_state", size: int = 32, head: str = "Model", **options: Any
) -> Case:
    return images(Returning(network(family + head, f"{family}Config", **options), result, ("pixel_values",)), size)


def _clip(family: str) -> Case:
    text = {**SMALL, "vocab_size": 64, "max_position_embeddings": 16, "eos_token_id": 2, "bos_token_id": 1}
    vision = {**SMALL, "image_size": 16, "patch_size": 4}
    options: dict[str, Any] = {"text_config": text, "vision_config": vision}
    if family == "CLIP":
        options["projection_dim"] = 24
    model = network(f"{family}Model", f"{family}Config", **options)

    def inputs(texts: int, pictures: int) -> tuple[torch.Tensor, ...]:
        return torch.randint(3, 64, (texts, 16)), torch.randn(pictures, 3, 16, 16)

    case = Returning(model, "logits_per_image", ("input_ids", "pixel_values"))
    return Case(case, inputs(2, 3), inputs(4, 2), ((0,), (0,)))


def _detr() -> Case:
    resnet: Any = import_module("transformers").ResNetConfig(
        embedding_size=16,
        hidden_sizes=[16, 24, 32, 48],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage4"],
    )
    options: dict[str, Any] = {
        "use_timm_backbone": False,
        "use_pretrained_backbone": False,
        "backbone_config": resnet,
        "backbone": None,
        "d_model": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "num_queries": 6,
        "num_labels": 5,
    }
    model = network("DetrForObjectDetection", "DetrConfig", **options)
    return images(Returning(model, lambda r: (r.logits, r.pred_boxes), ("pixel_values",)), 64)


def _video() -> Case:
    model = network("VideoMAEModel", "VideoMAEConfig", image_size=16, patch_size=4, num_frames=4, **SMALL)
    case = Returning(model, "last_hidden_state", ("pixel_values",))
    return Case(case, (torch.randn(2, 4, 3, 16, 16),), (torch.randn(3, 4, 3, 16, 16),), ((0,),))


NETWORKS: dict[str, Callable[[], Case]] = {
    "transformers/vit": partial(_images, "ViT", image_size=32, patch_size=8, **SMALL),
    "transformers/beit": partial(
        _images, "Beit", image_size=32, patch_size=8, use_relative_position_bias=True, **SMALL
    ),
    "transformers/dinov2": partial(_images, "Dinov2", image_size=32, patch_size=8, **SMALL),
    "transformers/swin": partial(
        _images, "Swin", image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 2], window_size=4
    ),
    "transformers/segformer": partial(
        _images,
        "Segformer",
        "logits",
        64,
        "ForSemanticSegmentation",
        num_encoder_blocks=2,
        depths=[1, 1],
        sr_ratios=[4, 2],
        hidden_sizes=[16, 32],
        num_attention_heads=[1, 2],
        patch_sizes=[7, 3],
        strides=[4, 2],
        mlp_ratios=[2, 2],
        decoder_hidden_size=16,
    ),
    "transformers/mobilevit": partial(
        _images,
        "MobileViT",
        "last_hidden_state",
        64,
        image_size=64,
        hidden_sizes=[16, 24, 32],
        neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32],
        num_attention_heads=2,
    ),
    "transformers/poolformer": partial(
        _images, "PoolFormer", "last_hidden_state", 64, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32]
    ),
    "transformers/dpt": partial(
        _images,
        "DPT",
        "predicted_depth",
        32,
        "ForDepthEstimation",
        image_size=32,
        patch_size=8,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 16, 16],
        reassemble_factors=[4, 2, 1, 0.5],
        fusion_hidden_size=16,
        is_hybrid=False,
        **{**SMALL, "num_hidden_layers": 4},
    ),
    "transformers/yolos": partial(
        _images,
        "Yolos",
        "pred_boxes",
        32,
        "ForObjectDetection",
        image_size=[32, 32],
        patch_size=8,
        num_detection_tokens=5,
        **SMALL,
    ),
    "transformers/video_mae": _video,
    "transformers/detr": _detr,
    "transformers/clip": partial(_clip, "CLIP"),
    "transformers/siglip": partial(_clip, "Siglip"),
}
