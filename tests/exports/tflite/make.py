"""Small Keras networks of random weights as TensorFlow's converter writes them: makes the files of this folder.

    python tests/exports/tflite/make.py [--all FOLDER] [NAME ...]      needs tensorflow 2.21, tf_keras

Each network comes as floats (`.float`), with weights of 8 bits (`.dynamic`) or of 16 (`.half`), in integers of 8 bits
(`.int8`), or with data of 16 and weights of 8 (`.int16`). `COMMITTED` are kept here, each at most 300 kB; `--all`
writes every network in every form to another folder, for `tests/support/tflite_exports.py`.
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false, reportAttributeAccessIssue=false

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

keras: Any = tf.keras
L: Any = keras.layers
HERE = Path(__file__).parent
LIMIT = 300_000
FORMS = ("float", "dynamic", "half", "int8", "int16")
Model = Any


def conv(x: Any, outputs: int, kernel: int = 3, stride: int = 1, activation: str | None = "relu6") -> Any:
    """A convolution with a batch norm and an activation."""
    x = L.BatchNormalization()(L.Conv2D(outputs, kernel, stride, "same", use_bias=False)(x))
    return L.Activation(activation)(x) if activation else x


def depthwise(x: Any, kernel: int = 3, stride: int = 1, activation: str | None = "relu6") -> Any:
    x = L.BatchNormalization()(L.DepthwiseConv2D(kernel, stride, "same", use_bias=False)(x))
    return L.Activation(activation)(x) if activation else x


def head(x: Any, classes: int = 10) -> Any:
    return L.Softmax()(L.Dense(classes)(L.GlobalAveragePooling2D()(x)))


def mobilenet_v1() -> Model:
    given = keras.Input((32, 32, 3), 1, name="image")
    x = conv(given, 8, stride=2)
    for outputs, stride in ((16, 1), (24, 2), (24, 1), (48, 2)):
        x = conv(depthwise(x, stride=stride), outputs, 1)
    return keras.Model(given, head(x))


def inverted(
    x: Any, outputs: int, stride: int, kernel: int = 3, activation: str = "relu6", excite: bool = False
) -> Any:
    """The block of MobileNetV2 and after."""
    inside = depthwise(conv(x, 3 * x.shape[-1], 1, activation=activation), kernel, stride, activation)
    if excite:
        weight = L.GlobalAveragePooling2D(keepdims=True)(inside)
        weight = L.Conv2D(8, 1, activation="relu")(weight)
        inside = inside * L.Conv2D(inside.shape[-1], 1, activation="hard_sigmoid")(weight)
    y = conv(inside, outputs, 1, activation=None)
    return L.Add()([x, y]) if stride == 1 and outputs == x.shape[-1] else y


def mobilenet_v2() -> Model:
    given = keras.Input((32, 32, 3), 1, name="image")
    x = conv(given, 8, stride=2)
    for outputs, stride in ((8, 1), (12, 2), (12, 1), (16, 2), (16, 1)):
        x = inverted(x, outputs, stride)
    return keras.Model(given, head(conv(x, 64, 1)))


def mobilenet_v3() -> Model:
    given = keras.Input((32, 32, 3), 1, name="image")
    x = conv(given, 8, stride=2, activation="hard_swish")
    for outputs, stride, kernel, activation, excite in (
        *((8, 1, 3, "relu", True), (12, 2, 3, "relu", False)),
        *((16, 2, 5, "hard_swish", True), (16, 1, 5, "hard_swish", True)),
    ):
        x = inverted(x, outputs, stride, kernel, activation, excite)
    return keras.Model(given, head(conv(x, 64, 1, activation="hard_swish")))


def efficientnet_lite() -> Model:
    given = keras.Input((32, 32, 3), 1, name="image")
    x = conv(L.Rescaling(1 / 127.5, -1)(given), 8, stride=2)
    for outputs, stride, kernel in ((8, 1, 3), (12, 2, 3), (20, 2, 5), (20, 1, 5)):
        x = inverted(x, outputs, stride, kernel)
    return keras.Model(given, head(L.Dropout(0.2)(conv(x, 64, 1))))


def resnet() -> Model:
    given = keras.Input((32, 32, 3), 1, name="image")
    x = L.MaxPool2D(3, 2, "same")(conv(given, 8, 7, 2, "relu"))
    for outputs, stride in ((8, 1), (16, 2), (24, 2)):
        y = conv(conv(x, outputs, 3, stride, "relu"), outputs, activation=None)
        same = stride == 1 and outputs == x.shape[-1]
        x = L.ReLU()(L.Add()([x if same else conv(x, outputs, 1, stride, None), y]))
    return keras.Model(given, head(x))


def mobilebert() -> Model:
    """Bottlenecks, norms without means, attention of several heads."""
    ids = keras.Input((16,), 1, dtype="int32", name="ids")
    x = L.Embedding(64, 16)(ids) + L.Embedding(16, 16)(tf.range(16)[None])
    for _ in range(2):
        inside = L.Dense(8)(x)
        inside = inside + L.MultiHeadAttention(2, 4)(inside, inside)
        inside = L.LayerNormalization()(inside)
        for _ in range(2):
            inside = L.LayerNormalization()(inside + L.Dense(8)(L.Dense(16, activation="relu")(inside)))
        x = L.LayerNormalization()(x + L.Dense(16)(inside))
    start = L.Dense(2)(L.Dense(16, activation="gelu")(x))
    return keras.Model(ids, start)


def ds_cnn() -> Model:
    """Keyword spotting on 49 frames of 10 coefficients."""
    given = keras.Input((49, 10, 1), 1, name="mfcc")
    x = L.BatchNormalization()(L.Conv2D(16, (10, 4), (2, 2), "same", use_bias=False)(given))
    x = L.ReLU()(x)
    for _ in range(3):
        x = conv(depthwise(x, activation="relu"), 16, 1, activation="relu")
    x = L.AveragePooling2D(x.shape[1:3])(x)
    return keras.Model(given, L.Dense(12, activation="softmax")(L.Flatten()(x)))


def autoencoder() -> Model:
    given = keras.Input((64,), 1, name="frames")
    x = given
    for units in (32, 32, 8, 32, 32):
        x = L.ReLU()(L.BatchNormalization()(L.Dense(units)(x)))
    return keras.Model(given, L.Dense(64)(x))


def lstm() -> Model:
    given = keras.Input((12, 8), 1, name="steps")
    return keras.Model(given, L.Dense(4)(L.LSTM(16)(L.LSTM(16, return_sequences=True)(given))))


def bidirectional() -> Model:
    given = keras.Input((12, 8), 1, name="steps")
    return keras.Model(given, L.Dense(4)(L.Bidirectional(L.LSTM(8, return_sequences=True))(given)))


def gru() -> Model:
    given = keras.Input((6, 8), 1, name="steps")
    return keras.Model(given, L.Dense(4)(L.GRU(16, unroll=True)(given)))


def gru_loop() -> Model:
    """Its steps are a WHILE."""
    given = keras.Input((6, 8), 1, name="steps")
    return keras.Model(given, L.Dense(4)(L.GRU(16)(given)))


def stateful() -> Model:
    """Keeps its state from call to call in variables."""
    given = keras.Input((4, 8), batch_size=1, name="steps")
    return keras.Model(given, L.Dense(4)(L.LSTM(8, stateful=True)(given)))


def fused_lstm() -> Model:
    """Its layers are UNIDIRECTIONAL_SEQUENCE_LSTM, which the converter makes of those of Keras 2 only (tf_keras)."""
    import tf_keras

    layers: Any = tf_keras.layers
    tf_keras.utils.set_random_seed(0)
    given = tf_keras.Input((6, 8), batch_size=1, name="steps")
    model = tf_keras.Model(given, layers.Dense(4)(layers.LSTM(16)(layers.LSTM(12, return_sequences=True)(given))))
    rng = np.random.default_rng(0)
    for layer in model.layers:
        if isinstance(layer, layers.LSTM):
            *weights, bias = layer.get_weights()
            layer.set_weights([*weights, bias + rng.normal(0, 0.2, bias.shape).astype("f4")])
    return model


def unet() -> Model:
    given = keras.Input((32, 32, 3), 1, name="image")
    kept, x = [], given
    for outputs in (8, 16):
        x = conv(x, outputs, activation="relu")
        kept.append(x)
        x = L.MaxPool2D()(x)
    x = conv(x, 24, activation="relu")
    for outputs, beside in ((16, kept[1]), (8, kept[0])):
        up = (
            L.Conv2DTranspose(outputs, 2, 2, "same")(x)
            if outputs == 16
            else L.UpSampling2D(interpolation="bilinear")(x)
        )
        x = conv(L.Concatenate()([up, beside]), outputs, activation="relu")
    return keras.Model(given, L.Conv2D(2, 1, activation="sigmoid")(x))


NETWORKS: dict[str, Callable[[], Model]] = {
    one.__name__: one
    for one in (
        *(mobilenet_v1, mobilenet_v2, mobilenet_v3, efficientnet_lite, resnet, mobilebert, ds_cnn, autoencoder),
        *(lstm, bidirectional, gru, gru_loop, stateful, fused_lstm, unet),
    )
}


def alive(model: Model) -> None:
    """Results that depend on inputs: batch norms that know what they meet, biases that are not 0."""
    rng = np.random.default_rng(0)
    for layer in model.layers:
        if isinstance(layer, L.BatchNormalization):
            width = layer.gamma.shape[0]
            layer.set_weights(
                [rng.uniform(low, high, width) for low, high in ((0.5, 2), (-0.5, 0.5), (-0.3, 0.3), (0.1, 1))]
            )
        elif getattr(layer, "use_bias", False) and hasattr(layer, "bias") and layer.bias is not None:
            layer.bias.assign(rng.normal(0, 0.1, layer.bias.shape))


def examples(model: Model) -> Callable[[], Iterator[list[np.ndarray]]]:
    """Inputs for the calibration of integers."""

    def made() -> Iterator[list[np.ndarray]]:
        rng = np.random.default_rng(1)
        for _ in range(20):
            shapes = [(tuple(given.shape), given.dtype) for given in model.inputs]
            yield [
                rng.integers(0, 64, shape).astype(np.int32)
                if dtype == "int32"
                else rng.normal(0, 1, shape).astype("f4")
                for shape, dtype in shapes
            ]

    return made


def converted(model: Model, form: str) -> bytes:
    return finished(tf.lite.TFLiteConverter.from_keras_model(model), examples(model), form)


def finished(converter: Any, calibration: Callable[[], Iterator[list[np.ndarray]]], form: str) -> bytes:
    kinds = tf.lite.OpsSet
    if form != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if form == "half":
        converter.target_spec.supported_types = [tf.float16]
    elif form in ("int8", "int16"):
        wide = "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8"
        converter.representative_dataset = calibration
        integers = getattr(kinds, wide) if form == "int16" else kinds.TFLITE_BUILTINS_INT8
        converter.target_spec.supported_ops = [integers, kinds.TFLITE_BUILTINS]
        if form == "int8":
            converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


def ssd(form: str) -> bytes:
    """A detector: two maps of features, boxes and classes of each, and the custom operator that chooses among them."""
    given = keras.Input((32, 32, 3), 1, name="image")
    first = conv(conv(conv(given, 8, stride=2), 16, stride=2), 16)
    second = conv(first, 16, stride=2)
    boxes, scores = [], []
    for x in (first, second):
        boxes.append(L.Reshape((-1, 4))(L.Conv2D(2 * 4, 3, padding="same")(x)))
        scores.append(L.Reshape((-1, 4))(L.Conv2D(2 * 4, 3, padding="same")(x)))
    outputs = [L.Concatenate(axis=1)(boxes), L.Activation("sigmoid")(L.Concatenate(axis=1)(scores))]
    model = keras.Model(given, outputs)
    alive(model)
    count = outputs[0].shape[1]
    rng = np.random.default_rng(2)
    anchors = np.concatenate([rng.uniform(0.1, 0.9, (count, 2)), rng.uniform(0.1, 0.4, (count, 2))], 1).astype("f4")
    numbers = {
        **{"max_detections": 10, "max_classes_per_detection": 1, "num_classes": 3, "detections_per_class": 10},
        **{"nms_score_threshold": 0.3, "nms_iou_threshold": 0.6},
        **{"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0, "use_regular_nms": False},
    }
    spelled = []
    for name, value in numbers.items():
        kind = "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f"
        shown = str(value).lower() if kind == "b" else value
        spelled.append(f'attr {{ key: "{name}" value {{ {kind}: {shown} }} }}')
    implements = f'name: "TFLite_Detection_PostProcess" {" ".join(spelled)}'

    @tf.function(experimental_implements=implements, autograph=False)
    def chosen(boxes: Any, scores: Any, anchors: Any) -> Any:
        return (
            tf.constant(0.0, shape=(1, 10, 4)),
            tf.constant(0.0, shape=(1, 10)),
            tf.constant(0.0, shape=(1, 10)),
            tf.constant(0.0, shape=(1,)),
        )

    class Detector(keras.Model):
        def call(self, image: Any) -> Any:
            boxes, scores = model(image)
            return chosen(boxes, scores, tf.constant(anchors))

    detector = Detector()
    detector.model = model
    detector(np.zeros((1, 32, 32, 3), np.float32))
    converter = tf.lite.TFLiteConverter.from_keras_model(detector)
    converter.allow_custom_ops = True
    return finished(converter, examples(model), form)


def made(name: str, form: str) -> bytes:
    keras.utils.set_random_seed(0)
    if name == "ssd":
        return ssd(form)
    model = NETWORKS[name]()
    alive(model)
    return converted(model, form)


COMMITTED = (
    *("mobilenet_v1.float", "mobilenet_v1.int8", "mobilenet_v2.dynamic", "mobilenet_v2.int16", "mobilenet_v3.int8"),
    *("mobilenet_v3.half", "efficientnet_lite.int8", "resnet.float", "resnet.int8", "resnet.int16"),
    *("mobilebert.float", "mobilebert.int8", "mobilebert.dynamic", "ds_cnn.int8", "ds_cnn.int16"),
    *("autoencoder.half", "autoencoder.int8", "autoencoder.dynamic", "lstm.float", "gru.int8", "gru_loop.float"),
    "fused_lstm.int8",
    *("bidirectional.float", "stateful.float", "unet.int8", "unet.int16", "ssd.float", "ssd.half"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    every = [f"{name}.{form}" for name in (*NETWORKS, "ssd") for form in FORMS]
    folder = args.all or HERE
    folder.mkdir(exist_ok=True)
    for whole in args.names or (every if args.all else COMMITTED):
        name, form = whole.split(".")
        try:
            data = made(name, form)
        except Exception as error:
            print(f"{whole}: not converted: {str(error).strip().splitlines()[0][:200]}", flush=True)
            continue
        (folder / f"{whole}.tflite").write_bytes(data)
        note = "" if len(data) <= LIMIT else "  TOO LARGE"
        print(f"{whole}: {len(data)} bytes{note}", flush=True)


if __name__ == "__main__":
    main()
