# pyright: basic, reportMissingImports=false
"""The networks of TVM's own tests of its Keras frontend, by TVM's names: results are those of Keras, where Keras is."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whence import relay
from whence.support.errors import FrontendError

os.environ.setdefault("KERAS_BACKEND", "numpy")
keras: Any = pytest.importorskip("keras")
L = keras.layers
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

Case = Callable[[], Any]
"""A function that builds a model."""


def of(shape: tuple[int, ...], *layers: Any) -> Case:
    """A chain of layers, each by a function or as it is."""

    def build() -> Any:
        x = data = keras.Input(shape)
        for layer in layers:
            x = layer()(x)
        return keras.Model(data, x)

    return build


def layer(kind: str, *arguments: Any, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(L, kind)(*arguments, **options)


def merged(kind: str) -> Case:
    def build() -> Any:
        data = keras.Input((32, 32, 3))
        x = L.Conv2D(8, (3, 3), padding="same")(data)
        y = L.Conv2D(8, (3, 3), padding="same")(x)
        z = L.Conv2D(8, (3, 3), padding="same")(y)
        return keras.Model(data, getattr(L, kind)()([x, y] if kind == "Subtract" else [x, y, z]))

    return build


def joined() -> Any:
    data = keras.Input((32, 32, 3))
    return keras.Model(data, L.Concatenate()([L.Conv2D(8, 3)(data), L.Conv2D(4, 3)(data)]))


def dotted(axes: Any) -> Case:
    def build() -> Any:
        a, b = keras.Input((2, 2)), keras.Input((2, 2))
        return keras.Model([a, b], L.Dot(axes=axes)([a, b]))

    return build


def several_inputs() -> Any:
    a, b = keras.Input((32, 32, 3)), keras.Input((32, 32, 3))
    x = L.Conv2D(8, (3, 3), padding="same")(a)
    y = L.Conv2D(8, (3, 3), padding="same")(b)
    mean = L.Average()([x, y])
    z = L.Conv2D(8, (3, 3), padding="same")(L.Add()([x, y]))
    return keras.Model([a, b], L.GlobalAveragePooling2D()(L.Add()([z, mean])))


def several_outputs() -> Any:
    data = keras.Input((32, 32, 3))
    x, y = L.Conv2D(8, (3, 3), padding="same")(data), L.Conv2D(8, (3, 3), padding="same")(data)
    return keras.Model(data, [L.GlobalAveragePooling2D()(x), L.GlobalAveragePooling2D()(y)])


def reused() -> Any:
    data = keras.Input((32, 32, 3))
    conv = L.Conv2D(8, (3, 3), padding="same")
    x = conv(data)
    y = L.Conv2D(3, (3, 3), padding="same")(x)
    return keras.Model(data, L.GlobalAveragePooling2D()(L.Add()([x, conv(y)])))


def chain() -> Any:
    return keras.Sequential(
        [keras.Input((32, 32, 3)), L.Conv2D(16, 3, strides=2, padding="same"), L.ReLU(), L.Dropout(0.5), L.Flatten(),
         L.Dense(10, activation="softmax")]
    )  # fmt: skip


def nested() -> Any:
    inner = keras.applications.MobileNet(include_top=False, weights=None, input_shape=(32, 32, 3), alpha=0.25)
    return keras.Sequential([keras.Input((32, 32, 3)), inner, L.GlobalAveragePooling2D(), L.Dense(16), L.Dense(10)])


def application(name: str, size: int, **options: Any) -> Case:
    return lambda: getattr(keras.applications, name)(
        weights=None, include_top=True, input_shape=(size, size, 3), classes=10, **options
    )


IMAGE, VOLUME, PLANE = (32, 32, 3), (10, 10, 10, 3), (7, 7, 1)
ACTIVATIONS = ("relu", "softmax", "softplus", "softsign", "hard_sigmoid", "sigmoid", "tanh", "linear", "selu", "elu")
RECURRENT = {"lstm": "LSTM", "rnn": "SimpleRNN", "gru": "GRU"}
CASES: dict[str, Case] = {
    **{f"merge {kind}": merged(kind) for kind in ("Add", "Average", "Maximum", "Multiply", "Subtract")},
    "merge Concatenate": joined,
    **{f"merge_dot {axes}": dotted(axes) for axes in (1, 2, (2, 1))},
    **{f"activation {name}": of((10, 4), layer("Activation", name)) for name in ACTIVATIONS},
    "activation ReLU": of((10,), layer("ReLU")),
    "activation ReLU 6": of((10,), layer("ReLU", max_value=6.0)),
    "activation ReLU threshold": of((10,), layer("ReLU", max_value=6.0, threshold=1.0)),
    "activation ReLU slope": of((10,), layer("ReLU", max_value=6.0, negative_slope=0.1, threshold=1.0)),
    "activation LeakyReLU": of((10,), layer("LeakyReLU", negative_slope=0.3)),
    "activation ELU": of((10,), layer("ELU", alpha=0.5)),
    "activation PReLU": of((10, 4), layer("PReLU")),
    "activation Softmax": of((10, 4), layer("Softmax", axis=-1)),
    "activation Softmax axis": of((10, 4), layer("Softmax", axis=1)),
    "dense": of((32, 32, 1), layer("Flatten"), layer("Dropout", 0.5), layer("Dense", 10, activation="relu")),
    "dense of rows": of((1, 32), layer("Dense", 32, activation="relu")),
    "permute": of((2, 3, 4), layer("Permute", (2, 3, 1))),
    "sequential": chain,
    **{f"pool {kind}": of((32, 32, 1), layer(kind)) for kind in ("GlobalMaxPooling2D", "GlobalAveragePooling2D")},
    "pool max": of((32, 32, 1), layer("MaxPooling2D", pool_size=3, strides=1, padding="same")),
    "pool average": of((32, 32, 1), layer("AveragePooling2D", pool_size=3, strides=1, padding="same")),
    "conv1d": of((32, 3), layer("Conv1D", 10, 3, strides=2, padding="same")),
    "conv1d dilated": of((32, 3), layer("Conv1D", 10, 3, dilation_rate=2, padding="same")),
    "conv1d valid": of((32, 3), layer("Conv1D", 1, 3, padding="valid")),
    "conv1d transposed": of((32, 3), layer("Conv1DTranspose", 10, 3, padding="valid")),
    "conv2d": of(IMAGE, layer("Conv2D", 10, (3, 3), strides=2, padding="same")),
    "conv2d dilated": of(IMAGE, layer("Conv2D", 10, (3, 3), dilation_rate=2, padding="same")),
    "conv2d one filter": of(IMAGE, layer("Conv2D", 1, (3, 3), padding="same")),
    "conv2d grouped": of((32, 32, 4), layer("Conv2D", 4, (3, 3), padding="same", groups=2)),
    "conv2d depthwise": of(IMAGE, layer("DepthwiseConv2D", (3, 3), padding="same")),
    "conv2d transposed": of(IMAGE, layer("Conv2DTranspose", 10, (3, 3), padding="valid")),
    "conv2d transposed by 2": of(IMAGE, layer("Conv2DTranspose", 10, (3, 3), strides=2, padding="same")),
    "conv2d transposed wide": of(IMAGE, layer("Conv2DTranspose", 10, (2, 5), strides=2, padding="same")),
    "conv2d separable": of(IMAGE, layer("SeparableConv2D", 10, (3, 3), padding="same")),
    "conv2d separable dilated": of(IMAGE, layer("SeparableConv2D", 10, (3, 3), dilation_rate=2, padding="same")),
    "batch_norm": of((32, 32, 4), layer("BatchNormalization")),
    "batch_norm axis": of((6, 5, 4), layer("BatchNormalization", axis=2)),
    "batch_norm epsilon": of((32, 32, 4), layer("BatchNormalization", axis=-1, epsilon=0.01, scale=False)),
    "upsample": of(IMAGE, layer("UpSampling2D", size=(3, 3))),
    "upsample bilinear": of(IMAGE, layer("UpSampling2D", size=(3, 3), interpolation="bilinear")),
    "reshape": of(IMAGE, layer("Reshape", (16, 64, 3))),
    "reshape flat": of(IMAGE, layer("Reshape", (-1,))),
    "reshape to image": of((3072,), layer("Reshape", (32, 32, 3))),
    "reshape rows": of((8, 16), layer("Reshape", (16, 8))),
    "reshape open": of((8, 16), layer("Reshape", (-1, 4))),
    "crop": of(IMAGE, layer("Cropping2D", ((1, 1), (1, 1))), layer("Cropping2D", (1, 1)), layer("Cropping2D", 1)),
    "crop uneven": of(IMAGE, layer("Cropping2D", ((0, 1), (1, 0)))),
    "zero_padding": of(IMAGE, layer("ZeroPadding2D", ((1, 2), (3, 4)))),
    "multi_inputs": several_inputs,
    "multi_outputs": several_outputs,
    "reuse_layers": reused,
    **{f"{name} last": of((32, 16), layer(kind, 8, return_sequences=False)) for name, kind in RECURRENT.items()},
    **{f"{name} all": of((32, 16), layer(kind, 8, return_sequences=True)) for name, kind in RECURRENT.items()},
    "lstm backwards": of((32, 16), layer("LSTM", 8, go_backwards=True)),
    "gru reset before": of((1, 32), layer("GRU", 32, recurrent_activation="sigmoid", reset_after=False)),
    "rnn no bias": of((2, 16), layer("SimpleRNN", 16, use_bias=False)),
    "simplernn_with_infertype": of((1, 2, 16), layer("Flatten"), layer("Reshape", (2, 16)), layer("SimpleRNN", 4)),
    "vgg16": application("VGG16", 32),
    "xception": application("Xception", 71),
    "resnet50": application("ResNet50", 32),
    "mobilenet": application("MobileNet", 32),
    "conv3d": of((16, 16, 16, 3), layer("Conv3D", 4, (3, 3, 3), strides=2, padding="same")),
    "conv3d dilated": of((16, 16, 16, 3), layer("Conv3D", 4, (3, 3, 3), dilation_rate=2, padding="same")),
    "conv3d valid": of(VOLUME, layer("Conv3D", 1, (3, 3, 3), padding="valid")),
    "conv3d_transpose": of(VOLUME, layer("Conv3DTranspose", 4, (3, 3, 3), padding="valid")),
    "conv3d_transpose by 2": of(VOLUME, layer("Conv3DTranspose", 4, (2, 2, 2), strides=2, padding="same")),
    "pool3d max": of((8, 8, 8, 1), layer("MaxPooling3D", pool_size=(2, 3, 3), padding="same")),
    "pool3d average": of((8, 8, 8, 1), layer("AveragePooling3D", pool_size=3, strides=1, padding="same")),
    "global_pool3d": of((8, 8, 8, 2), layer("GlobalMaxPooling3D")),
    "global_pool3d average": of((8, 8, 8, 2), layer("GlobalAveragePooling3D")),
    "upsample3d": of((4, 4, 4, 2), layer("UpSampling3D", size=(2, 3, 4))),
    "zero_padding3d": of((4, 4, 4, 2), layer("ZeroPadding3D", ((0, 0), (2, 2), (3, 3)))),
    "embedding": of((9,), layer("Embedding", 15, 5)),
    "repeat_vector": of((6,), layer("RepeatVector", 3)),
    "time_distributed": of((10, 6, 6, 3), lambda: L.TimeDistributed(L.Conv2D(4, 3))),
    "nested_layers": nested,
}  # fmt: skip


def first(array: Any) -> Any:
    """An image with its channels first, others as they are."""
    return array.transpose(0, 3, 1, 2) if array.ndim == 4 else array


@pytest.mark.parametrize("name", CASES)
def test_a_network_of_tvm_computes_what_keras_computes(name: str):
    keras.utils.set_random_seed(1)
    net, rng = CASES[name](), np.random.default_rng(0)
    indices = name == "embedding"
    arrays = [
        (rng.integers(0, 15, (2, *tensor.shape[1:])) if indices else rng.uniform(-1, 1, (2, *tensor.shape[1:])))
        for tensor in net.inputs
    ]
    arrays = [array.astype(np.float32) for array in arrays]
    wanted = net(arrays if len(arrays) > 1 else arrays[0], training=False)
    names = [tensor._keras_history.operation.name for tensor in net.inputs]
    shapes = {input_name: first(array).shape for input_name, array in zip(names, arrays, strict=True)}
    module, params = relay.frontend.from_keras(net, shapes)
    results = relay.create_executor("graph", mod=module).evaluate()(*map(first, arrays), **params)
    results = results if isinstance(wanted, list | tuple) else [results]
    for result, reference in zip(results, wanted if isinstance(wanted, list | tuple) else [wanted], strict=True):
        np.testing.assert_allclose(result.numpy(), first(np.asarray(reference)), rtol=1e-5, atol=1e-5)


def test_code_of_the_user_is_refused():
    """TVM reads the Lambda of its test of l2_normalize, which is code that it does not run, by its name."""
    net = of((10, 4), lambda: L.Lambda(lambda x: x * 2, name="l2_normalize", output_shape=(10, 4)))()
    with pytest.raises(FrontendError, match="layer 'l2_normalize': expected layers that are no code"):
        relay.frontend.from_keras(net)
