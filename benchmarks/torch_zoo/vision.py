"""Networks of images of torchvision and timm."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import nn

from .case import Case, Returning, images


def _torchvision(name: str) -> Any:
    return import_module(f"torchvision.models.{name}")


def _resnet() -> Case:
    models = _torchvision("resnet")
    return images(models.ResNet(models.BasicBlock, [1, 1, 1, 1], num_classes=10), 64, other=(96, 64))


def _resnext() -> Case:
    models = _torchvision("resnet")
    return images(models.ResNet(models.Bottleneck, [1, 1, 1, 1], num_classes=10, groups=4, width_per_group=4), 64)


def _mobilenet_v2() -> Case:
    return images(_torchvision("mobilenetv2").MobileNetV2(num_classes=10, width_mult=0.25), 64, other=(96, 64))


def _mobilenet_v3() -> Case:
    return images(_torchvision("mobilenetv3").mobilenet_v3_small(num_classes=10, width_mult=0.35), 64)


def _shufflenet() -> Case:
    network = _torchvision("shufflenetv2").ShuffleNetV2([2, 2, 2], [16, 16, 32, 48, 64], num_classes=10)
    return images(network, 64, other=(96, 64))


def _squeezenet() -> Case:
    return images(_torchvision("squeezenet").squeezenet1_1(num_classes=10), 64, other=(96, 64))


def _densenet() -> Case:
    return images(_torchvision("densenet").DenseNet(8, (2, 2, 2, 2), 16, num_classes=10), 64)


def _mnasnet() -> Case:
    return images(_torchvision("mnasnet").MNASNet(0.25, num_classes=10), 64)


def _regnet() -> Case:
    models = _torchvision("regnet")
    params = models.BlockParams.from_init_params(4, 16, 24.0, 2.5, group_width=8, se_ratio=0.25)
    return images(models.RegNet(params, num_classes=10, stem_width=16), 64)


def _vgg() -> Case:
    models = _torchvision("vgg")
    features = models.make_layers([8, "M", 16, "M", 16, "M", 24, "M", 24, "M"], batch_norm=True)
    network = models.VGG(features, num_classes=10, init_weights=False)
    network.classifier = nn.Sequential(nn.Linear(24 * 49, 32), nn.ReLU(), nn.Dropout(), nn.Linear(32, 10))
    return images(network, 64, other=(96, 64))


def _googlenet() -> Case:
    models = _torchvision("googlenet")
    network = nn.Sequential(
        models.BasicConv2d(3, 16, kernel_size=3, padding=1),
        models.Inception(16, 8, 8, 16, 4, 8, 8),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        models.Inception(40, 16, 8, 16, 4, 8, 8),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(48, 10),
    )
    return images(network, 33, other=(40, 52))


def _inception() -> Case:
    models = _torchvision("inception")
    network = nn.Sequential(models.InceptionA(16, 8), models.InceptionB(232), models.InceptionC(712, 16))
    return images(network, 17, 16)


def _convnext() -> Case:
    models = _torchvision("convnext")
    settings = [models.CNBlockConfig(16, 32, 1), models.CNBlockConfig(32, 48, 1), models.CNBlockConfig(48, None, 1)]
    return images(models.ConvNeXt(settings, num_classes=10), 64, other=(96, 64))


def _vit() -> Case:
    return images(_torchvision("vision_transformer").VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=10))


def _swin(version: int) -> Case:
    models = _torchvision("swin_transformer")
    block, merging = (models.SwinTransformerBlock, models.PatchMerging)
    if version == 2:
        block, merging = models.SwinTransformerBlockV2, models.PatchMergingV2
    network = models.SwinTransformer(
        [4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10, block=block, downsample_layer=merging
    )
    return images(network, 64)


def _maxvit() -> Case:
    network = _torchvision("maxvit").MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 8, 0.0, num_classes=10)
    return images(network, 64)


def _fcn() -> Case:
    segmentation, utils = _torchvision("segmentation.fcn"), _torchvision("_utils")
    models = _torchvision("resnet")
    backbone = models.ResNet(models.BasicBlock, [1, 1, 1, 1])
    backbone = utils.IntermediateLayerGetter(backbone, {"layer4": "out"})
    return images(
        Returning(segmentation.FCN(backbone, segmentation.FCNHead(512, 5)), lambda r: r["out"]), 64, other=(96, 64)
    )


def _deeplab() -> Case:
    segmentation, utils = _torchvision("segmentation.deeplabv3"), _torchvision("_utils")
    network = _torchvision("mobilenetv3").mobilenet_v3_small(width_mult=0.35, dilated=True).features
    channels = network[-1].out_channels
    backbone = utils.IntermediateLayerGetter(network, {str(len(network) - 1): "out"})
    head = segmentation.DeepLabHead(channels, 5, atrous_rates=[2, 3])
    return images(Returning(segmentation.DeepLabV3(backbone, head), lambda r: r["out"]), 64)


def _lraspp() -> Case:
    network = _torchvision("segmentation.lraspp").lraspp_mobilenet_v3_large(num_classes=5, weights_backbone=None)
    return images(Returning(network, lambda r: r["out"]), 64)


class Pyramid(nn.Module):
    """The trunk of a detector: features of a network, a pyramid of them, and proposals or boxes for each level."""

    def __init__(self, head: nn.Module, width: int = 16):
        super().__init__()
        models, ops = _torchvision("resnet"), import_module("torchvision.ops")
        self.body = models.ResNet(models.BasicBlock, [1, 1, 1, 1])
        self.pyramid = ops.FeaturePyramidNetwork(
            [64, 128, 256], width, import_module("torchvision.ops.feature_pyramid_network").LastLevelMaxPool()
        )
        self.head = head

    def forward(self, image: torch.Tensor) -> Any:
        body = self.body
        x = body.maxpool(body.relu(body.bn1(body.conv1(image))))
        features: dict[str, torch.Tensor] = {}
        for name in ("layer1", "layer2", "layer3"):
            x = features[name] = getattr(body, name)(x)
        return self.head(list(self.pyramid(features).values()))


def _proposals() -> Case:
    return images(Pyramid(_torchvision("detection.rpn").RPNHead(16, 3)), 64, other=(96, 64))


def _retinanet() -> Case:
    return images(Pyramid(_torchvision("detection.retinanet").RetinaNetHead(16, 3, 5)), 64)


def _fcos() -> Case:
    return images(Pyramid(_torchvision("detection.fcos").FCOSHead(32, 1, 5), 32), 64)


def _ssd() -> Case:
    return images(Pyramid(_torchvision("detection.ssd").SSDHead([16] * 4, [2] * 4, 5)), 64)


def _video() -> Case:
    models = _torchvision("video.resnet")
    network = models.VideoResNet(models.BasicBlock, [models.Conv3DSimple] * 4, [1, 1, 1, 1], models.BasicStem, 10)
    return Case(network, (torch.randn(2, 3, 4, 32, 32),), (torch.randn(3, 3, 4, 32, 32),), ((0,),))


def _mixed_video() -> Case:
    models = _torchvision("video.resnet")
    network = models.VideoResNet(models.BasicBlock, [models.Conv2Plus1D] * 4, [1, 1, 1, 1], models.R2Plus1dStem, 10)
    return Case(network, (torch.randn(2, 3, 4, 32, 32),), (torch.randn(3, 3, 4, 32, 32),), ((0,),))


def _raft() -> Case:
    models = _torchvision("optical_flow.raft")
    network = models._raft(
        feature_encoder_layers=(16, 16, 24, 32, 32),
        feature_encoder_block=models.BottleneckBlock,
        feature_encoder_norm_layer=nn.InstanceNorm2d,
        context_encoder_layers=(16, 16, 24, 32, 40),
        context_encoder_block=models.BottleneckBlock,
        context_encoder_norm_layer=nn.BatchNorm2d,
        corr_block_num_levels=3,
        corr_block_radius=2,
        motion_encoder_corr_layers=(24,),
        motion_encoder_flow_layers=(16, 8),
        motion_encoder_out_channels=20,
        recurrent_block_hidden_state_size=24,
        recurrent_block_kernel_size=((3, 3),),
        recurrent_block_padding=((1, 1),),
        flow_head_hidden_size=16,
        use_mask_predictor=False,
        weights=None,
        progress=False,
    )
    shapes = (1, 3, 128, 128), (2, 3, 128, 128)
    first, second = (tuple(torch.randn(shape) for _ in range(2)) for shape in shapes)
    return Case(Returning(network, lambda flows: flows[-1], num_flow_updates=2), first, second, ((0,), (0,)))


def _timm(name: str, size: int = 64, other: tuple[int, int] | None = None, **options: Any) -> Case:
    return images(import_module("timm").create_model(name, num_classes=10, **options), size, other=other)


def _timm_class(module: str, cls: str, size: int = 64, **options: Any) -> Case:
    models = import_module(f"timm.models.{module}")
    return images(getattr(models, cls)(num_classes=10, **options), size)


def _gated_mixer() -> Case:
    block, mlp = import_module("timm.models.mlp_mixer").SpatialGatingBlock, import_module("timm.layers").GatedMlp
    options: dict[str, Any] = {"img_size": 32, "patch_size": 8, "num_blocks": 2, "embed_dim": 32, "mlp_ratio": 4}
    return _timm_class("mlp_mixer", "MlpMixer", 32, block_layer=block, mlp_layer=mlp, **options)


NETWORKS: dict[str, Callable[[], Case]] = {
    "torchvision/resnet": _resnet,
    "torchvision/resnext": _resnext,
    "torchvision/mobilenet_v2": _mobilenet_v2,
    "torchvision/mobilenet_v3": _mobilenet_v3,
    "torchvision/shufflenet_v2": _shufflenet,
    "torchvision/squeezenet": _squeezenet,
    "torchvision/densenet": _densenet,
    "torchvision/mnasnet": _mnasnet,
    "torchvision/regnet": _regnet,
    "torchvision/vgg": _vgg,
    "torchvision/googlenet": _googlenet,
    "torchvision/inception_v3": _inception,
    "torchvision/convnext": _convnext,
    "torchvision/vit": _vit,
    "torchvision/swin": partial(_swin, 1),
    "torchvision/swin_v2": partial(_swin, 2),
    "torchvision/maxvit": _maxvit,
    "torchvision/fcn": _fcn,
    "torchvision/deeplab_v3": _deeplab,
    "torchvision/lraspp": _lraspp,
    "torchvision/fpn_rpn": _proposals,
    "torchvision/retinanet_head": _retinanet,
    "torchvision/fcos_head": _fcos,
    "torchvision/ssd_head": _ssd,
    "torchvision/r3d": _video,
    "torchvision/r2plus1d": _mixed_video,
    "torchvision/raft": _raft,
    "timm/byobnet": partial(_timm, "test_byobnet"),
    "timm/coatnet": partial(_timm, "test_coatnet", img_size=64),
    "timm/convnext_v2": partial(_timm, "test_convnext2", other=(96, 64)),
    "timm/efficientnet": partial(_timm, "test_efficientnet", other=(96, 64)),
    "timm/efficientnet_evos": partial(_timm, "test_efficientnet_evos"),
    "timm/mambaout": partial(_timm, "test_mambaout"),
    "timm/maxvit": partial(_timm, "test_maxvit", img_size=64),
    "timm/nfnet": partial(_timm, "test_nfnet"),
    "timm/vit_relpos": partial(_timm, "test_vit_relpos", img_size=32, size=32),
    "timm/vit_map_pool": partial(_timm, "test_vit4", img_size=32, size=32),
    "timm/mixer": partial(
        _timm_class, "mlp_mixer", "MlpMixer", 32, img_size=32, patch_size=8, num_blocks=2, embed_dim=32
    ),
    "timm/eva": partial(
        _timm_class,
        "eva",
        "Eva",
        32,
        img_size=32,
        patch_size=8,
        embed_dim=32,
        depth=2,
        num_heads=2,
        use_rot_pos_emb=True,
        head_init_scale=1.0,
    ),
    "timm/levit": partial(
        _timm_class, "levit", "Levit", 64, img_size=64, embed_dim=(32, 48), key_dim=8, depth=(1, 1), num_heads=(2, 3)
    ),
    "timm/xcit": partial(
        _timm_class,
        "xcit",
        "Xcit",
        32,
        img_size=32,
        patch_size=8,
        embed_dim=32,
        depth=1,
        num_heads=2,
        cls_attn_layers=1,
    ),
    "timm/gmlp": _gated_mixer,
}
