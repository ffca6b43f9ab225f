"""The networks by name, with the class of each, and small configurations of them for tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from zoo import classifiers, transformers
from zoo.builder import Built


class Entry(NamedTuple):
    kind: str
    """f32, f16, int8 or tflite: the networks that a mean is of."""
    make: Callable[..., Built]


def _floats(**makers: Callable[..., Built]) -> dict[str, Entry]:
    return {name: Entry("f32", make) for name, make in makers.items()}


NETWORKS: dict[str, Entry] = _floats(
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
)
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
}
"""The same at sizes that a test has time for."""
