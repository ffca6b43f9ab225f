"""The networks by name, with the class of each, and small configurations of them for tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import tflite_networks

from zoo import classifiers, hybrids, lowered, predictors, residual, sequences, texts, transformers
from zoo.builder import Built
from zoo.lowered import File


class Entry(NamedTuple):
    kind: str
    """f32, f16, int8 or tflite: the networks that a mean is of."""
    make: Callable[..., Built | File]


_FLOATS: dict[str, Callable[..., Built]] = dict(
    resnet50=classifiers.resnet50,
    vgg16=classifiers.vgg16,
    mobilenet_v2=classifiers.mobilenet_v2,
    mobilenet_v3_small=classifiers.mobilenet_v3_small,
    efficientnet_b0=classifiers.efficientnet_b0,
    densenet121=classifiers.densenet121,
    squeezenet=classifiers.squeezenet,
    shufflenet=classifiers.shufflenet,
    shufflenet_v2=classifiers.shufflenet_v2,
    inception_v3=classifiers.inception_v3,
    regnet_y_400mf=classifiers.regnet_y_400mf,
    convnext_tiny=classifiers.convnext_tiny,
    bert_base=transformers.bert,
    gpt2_prompt=transformers.gpt2,
    gpt2_step_32=partial(transformers.gpt2, 1, 32),
    gpt2_step_512=partial(transformers.gpt2, 1, 512),
    gpt2_step_900=partial(transformers.gpt2, 1, 900),
    llama_prompt=transformers.llama,
    llama_step_512=partial(transformers.llama, 1, 512),
    vit_small=transformers.vit_small,
    swin_tiny=transformers.swin_tiny,
    unet=predictors.unet,
    yolov8n_640=predictors.yolov8n,
    yolov8n_320=partial(predictors.yolov8n, 320),
    deeplab=predictors.deeplab,
    ssd=predictors.ssd,
    diffusion=predictors.diffusion,
    whisper_encoder=sequences.whisper_encoder,
    wav2vec2=sequences.wav2vec2,
    lstm=partial(sequences.recurrent, "LSTM"),
    gru=partial(sequences.recurrent, "GRU"),
    vocoder=sequences.vocoder,
    recommender=sequences.recommender,
    ghostnet=residual.ghostnet,
    repvgg_a0=residual.repvgg_a0,
    mobilenet_v4_small=residual.mobilenet_v4_small,
    hrnet_small=residual.hrnet_small,
    edsr=residual.edsr,
    r2plus1d=residual.r2plus1d,
    style_transfer=residual.style_transfer,
    mobilevit=hybrids.mobilevit,
    maxvit=hybrids.maxvit,
    poolformer=hybrids.poolformer,
    efficientformer=hybrids.efficientformer,
    segformer_b0=hybrids.segformer_b0,
    detr=hybrids.detr,
    mlp_mixer=hybrids.mlp_mixer,
    sam_encoder=hybrids.sam_encoder,
    t5_encoder=texts.t5_encoder,
    t5_step=texts.t5_step,
    mamba=texts.mamba,
    qwen2_step_256=partial(transformers.llama, 1, 256, 6, 896, 14, 2, 4864, name="qwen2"),
    conformer=sequences.conformer,
    deep_speech=sequences.deep_speech,
    resnet50_open=partial(classifiers.resnet50, symbolic=True),
    bert_base_open=partial(transformers.bert, symbolic=True),
    gpt2_prompt_open=partial(transformers.gpt2, symbolic=True),
)
_HALVES = ("resnet50", "bert_base", "unet", "vit_small")
_BYTES = ("resnet50", "mobilenet_v2", "vit_small")

NETWORKS: dict[str, Entry] = {
    **{name: Entry("f32", make) for name, make in _FLOATS.items()},
    **{f"{name}_f16": Entry("f16", partial(lowered.half, _FLOATS[name])) for name in _HALVES},
    **{f"{name}_qdq": Entry("int8", partial(lowered.quantised, _FLOATS[name])) for name in _BYTES},
    "bert_base_dynamic": Entry("int8", partial(lowered.dynamic, transformers.bert)),
    "mobilenet_v1_tflite": Entry("tflite", partial(lowered.tflite, partial(tflite_networks.mobilenet, integers=True))),
    "mobilenet_v2_tflite": Entry(
        "tflite", partial(lowered.tflite, partial(tflite_networks.mobilenet_v2, integers=True))
    ),
    "resnet50_tflite": Entry("tflite", partial(lowered.tflite, partial(tflite_networks.resnet50, integers=True))),
}
"""Name -> a network; each maker takes `saturating`."""

SMALL: dict[str, Callable[..., Built]] = {
    "resnet": partial(classifiers.resnet50, 64, (1, 1), 16, 10),
    "vgg": partial(classifiers.vgg16, 32, 8, 64, 10),
    "mobilenet_v2": partial(classifiers.mobilenet_v2, 64, 1, 10),
    "mobilenet_v3": partial(classifiers.mobilenet_v3_small, 64, 5, 10),
    "efficientnet": partial(classifiers.efficientnet_b0, 64, 1, 10),
    "densenet": partial(classifiers.densenet121, 64, (2, 2), 16, 10),
    "squeezenet": partial(classifiers.squeezenet, 64, 10),
    "shufflenet": partial(classifiers.shufflenet, 64, (2,), 10),
    "shufflenet_v2": partial(classifiers.shufflenet_v2, 64, (2,), 10),
    "regnet": partial(classifiers.regnet_y_400mf, 64, (1, 1), 10),
    "convnext": partial(classifiers.convnext_tiny, 32, (1, 1), 24, 10),
    "bert": partial(transformers.bert, 16, 2, 64, 4, 100),
    "gpt2": partial(transformers.gpt2, 8, 0, 2, 64, 4, 101),
    "gpt2_step": partial(transformers.gpt2, 1, 20, 2, 64, 4, 101),
    "llama": partial(transformers.llama, 8, 0, 2, 64, 4, 2, 96, 100),
    "vit": partial(transformers.vit_small, 32, 8, 2, 48, 3, 10),
    "swin": partial(transformers.swin_tiny, 32, (2, 2), 24, 4, 10),
    "unet": partial(predictors.unet, 32, 8, 2),
    "yolov8n": partial(predictors.yolov8n, 64, 4, 8),
    "ssd": partial(predictors.ssd, 64, 5, 10),
    "diffusion": partial(predictors.diffusion, 8, 32, (1, 2), 7, 24),
    "whisper": partial(sequences.whisper_encoder, 60, 2, 48, 3, 16),
    "wav2vec2": partial(sequences.wav2vec2, 1600, 1, 48, 3, 24, 16),
    "lstm": partial(sequences.recurrent, "LSTM", 8, 24, 40, 1, True),
    "gru": partial(sequences.recurrent, "GRU", 8, 24, 40, 1),
    "vocoder": partial(sequences.vocoder, 4, 32, 16),
    "recommender": partial(sequences.recommender, 4, 5, 50, 16, (32, 24)),
    "ghostnet": partial(residual.ghostnet, 64, 4, 10),
    "repvgg": partial(residual.repvgg_a0, 64, (1, 1), 10),
    "mobilenet_v4": partial(residual.mobilenet_v4_small, 64, 8, 10),
    "hrnet": partial(residual.hrnet_small, 64, 8, 3, 5),
    "edsr": partial(residual.edsr, 12, 16, 1),
    "r2plus1d": partial(residual.r2plus1d, 24, 4, (1, 1), 8, 10),
    "style": partial(residual.style_transfer, 24, 8, 1),
    "mobilevit": partial(hybrids.mobilevit, 64, (16, 24, 32), (1, 1, 1), 10),
    "maxvit": partial(hybrids.maxvit, 32, (1, 1), 32, 4, 10),
    "poolformer": partial(hybrids.poolformer, 32, (1, 1), (16, 24), 10),
    "efficientformer": partial(hybrids.efficientformer, 64, (1, 1, 1, 1), (8, 16, 24, 32), 10),
    "segformer": partial(hybrids.segformer_b0, 64, (32, 64), 1, 32, 7),
    "detr": partial(hybrids.detr, 64, (1, 1, 1, 1), 1, 32, 4, 7, 8, 5),
    "mixer": partial(hybrids.mlp_mixer, 32, 8, 1, 32, 10),
    "sam": partial(hybrids.sam_encoder, 4, 32, 1, 4),
    "t5": partial(texts.t5_encoder, 12, 1, 32, 4, 48, 60),
    "t5_step": partial(texts.t5_step, 20, 9, 1, 32, 4, 48, 60),
    "mamba": partial(texts.mamba, 6, 1, 32, 8, 50),
    "qwen2_step": partial(transformers.llama, 1, 20, 1, 64, 4, 2, 96, 100, name="qwen2"),
    "conformer": partial(sequences.conformer, 40, 1, 32, 4, 16, 7),
    "deep_speech": partial(sequences.deep_speech, 48, 48, 16, 1),
    "resnet_qdq": partial(lowered.quantised, partial(classifiers.resnet50, 32, (1, 1), 16, 10)),
    "bert_dynamic": partial(lowered.dynamic, partial(transformers.bert, 16, 2, 64, 4, 100)),
    "bert_f16": partial(lowered.half, partial(transformers.bert, 16, 2, 64, 4, 100)),
}
"""The same at sizes that a test has time for."""
