# pyright: basic, reportMissingImports=false
"""Networks of Keras with random weights: saved, compiled, and compared with what Keras computes.

    KERAS_BACKEND=jax PYTHONPATH=src python benchmarks/keras_models.py [NAME ...] [--h5] [--keras2]

Of each network it prints the number of layers, the seconds that whence takes to compile the file, and the greatest
difference of any output as a part of the greatest number in it; more than 2e-5 makes it fail. --h5: `.h5` files, as
Keras 3 writes them, too. --keras2: those of Keras 2 (package tf_keras), too. Needs keras and a backend of it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import whence

TOLERANCE = 2e-5
WORDS, LENGTH = 50, 12
APPLICATIONS = {
    "convnext": ("ConvNeXtTiny", 64), "densenet": ("DenseNet121", 64), "efficientnet": ("EfficientNetB0", 64),
    "efficientnet_v2": ("EfficientNetV2B0", 64), "inception": ("InceptionV3", 80),
    "inception_resnet": ("InceptionResNetV2", 80), "mobilenet": ("MobileNet", 64), "mobilenet_v2": ("MobileNetV2", 64),
    "mobilenet_v3": ("MobileNetV3Small", 64), "nasnet": ("NASNetMobile", 64), "resnet": ("ResNet50", 64),
    "resnet_v2": ("ResNet50V2", 64), "vgg": ("VGG16", 32), "xception": ("Xception", 80),
}  # fmt: skip
"""Name -> the function of keras.applications, and the size of the image."""


def application(k: Any, name: str) -> Any:
    kind, size = APPLICATIONS[name]
    build = getattr(k.applications, kind)
    return build(weights=None, input_shape=(size, size, 3), classes=10, classifier_activation=None)


def tagger(k: Any) -> Any:
    """LSTM over LSTM, a label for each word."""
    words = k.Input((LENGTH,), dtype="int32")
    x = k.layers.Embedding(WORDS, 24)(words)
    x = k.layers.LSTM(40, return_sequences=True)(x)
    x = k.layers.LSTM(24, return_sequences=True, go_backwards=True)(x)
    return k.Model(words, k.layers.TimeDistributed(k.layers.Dense(9))(x))


def forecast(k: Any) -> Any:
    """GRUs of numbers, one after the other."""
    x = k.Input((20, 6))
    y = k.layers.GRU(32, return_sequences=True)(x)
    y = k.layers.GRU(16, reset_after=False)(y)
    return k.Model(x, k.layers.Dense(4)(y))


def both_ways(k: Any) -> Any:
    """Bidirectional layers, with masks."""
    words = k.Input((LENGTH,), dtype="int32")
    x = k.layers.Embedding(WORDS, 24, mask_zero=True)(words)
    x = k.layers.Bidirectional(k.layers.LSTM(20, return_sequences=True))(x)
    x = k.layers.Bidirectional(k.layers.GRU(12), merge_mode="sum")(x)
    return k.Model(words, k.layers.Dense(3)(x))


def translation(k: Any) -> Any:
    """An encoder and a decoder that attends to it."""
    source, target = (k.Input((LENGTH,), dtype="int32", name=name) for name in ("source", "target"))
    table = k.layers.Embedding(WORDS, 32, mask_zero=True)
    memory, *states = k.layers.LSTM(32, return_sequences=True, return_state=True)(table(source))
    x = k.layers.LSTM(32, return_sequences=True)(table(target), initial_state=states)
    seen = k.layers.Attention()([x, memory])
    more = k.layers.AdditiveAttention()([x, memory])
    return k.Model([source, target], k.layers.Dense(WORDS)(k.layers.Concatenate()([x, seen, more])))


def transformer(k: Any) -> Any:
    """Blocks of self attention with masks of the padding, and of what comes later."""
    words = k.Input((LENGTH,), dtype="int32")
    x = k.layers.Embedding(WORDS, 32, mask_zero=True)(words)
    for causal in (False, True):
        seen = k.layers.MultiHeadAttention(4, 8)(x, x, use_causal_mask=causal)
        x = k.layers.LayerNormalization()(k.layers.Add()([x, k.layers.Dropout(0.1)(seen)]))
        wide = k.layers.Dense(64, activation="gelu")(x)
        x = k.layers.LayerNormalization()(k.layers.Add()([x, k.layers.Dense(32)(wide)]))
    return k.Model(words, k.layers.Dense(5)(k.layers.GlobalAveragePooling1D()(x)))


def text(k: Any) -> Any:
    """A text classifier of convolutions of several widths."""
    words = k.Input((LENGTH,), dtype="int32")
    x = k.layers.SpatialDropout1D(0.2)(k.layers.Embedding(WORDS, 24)(words))
    parts = [k.layers.GlobalMaxPooling1D()(k.layers.Conv1D(16, n, activation="relu")(x)) for n in (2, 3, 4)]
    return k.Model(words, k.layers.Dense(2)(k.layers.Concatenate()(parts)))


def nested(k: Any) -> Any:
    """Models inside models, of which one is called twice, and a shared layer."""

    def block(name: str) -> Any:
        x = k.Input((16, 16, 8))
        y = k.layers.BatchNormalization()(k.layers.Conv2D(8, 3, padding="same")(x))
        return k.Model(x, k.layers.ReLU()(k.layers.Add()([x, y])), name=name)

    image, third = k.Input((16, 16, 3)), block("third")
    inner = k.Sequential([k.Input((16, 16, 8)), block("first"), block("second")], name="inner")
    x = third(inner(third(inner(k.layers.Conv2D(8, 1)(image)))))
    shared = k.layers.Dense(8, activation="tanh")
    return k.Model(image, shared(shared(k.layers.GlobalAveragePooling2D()(x))))


def filled(k: Any) -> Any:
    """Sequences of numbers whose empty steps a Masking leaves out."""
    x = k.Input((10, 5))
    y = k.layers.Masking()(k.layers.ReLU(threshold=1.0)(x))
    y = k.layers.SimpleRNN(12, return_sequences=True)(y)
    return k.Model(x, k.layers.LSTM(7)(y))


def frames(k: Any) -> Any:
    """The next image of several."""
    x = k.Input((4, 16, 16, 1))
    y = k.layers.ConvLSTM2D(8, 3, padding="same", return_sequences=True)(x)
    y = k.layers.BatchNormalization()(y)
    y = k.layers.ConvLSTM2D(8, 3, padding="same", recurrent_activation="hard_sigmoid")(y)
    return k.Model(x, k.layers.Conv2D(1, 3, padding="same", activation="sigmoid")(y))


def unet(k: Any) -> Any:
    x = image = k.Input((32, 32, 3))
    kept: list[Any] = []
    for width in (8, 16):
        x = k.layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        kept.append(x)
        x = k.layers.MaxPooling2D()(x)
    x = k.layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    for width in (16, 8):
        x = k.layers.Conv2DTranspose(width, 3, strides=2, padding="same")(x)
        x = k.layers.Conv2D(width, 3, padding="same", activation="relu")(k.layers.Concatenate()([x, kept.pop()]))
    return k.Model(image, k.layers.Conv2D(4, 1)(x))


def autoencoder(k: Any) -> Any:
    encoder = k.Sequential(
        [
            k.Input((28, 28, 1)),
            k.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
            k.layers.Flatten(),
            k.layers.Dense(16),
        ],
        name="encoder",
    )
    decoder = k.Sequential(
        [
            k.Input((16,)),
            k.layers.Dense(14 * 14 * 8, activation="relu"),
            k.layers.Reshape((14, 14, 8)),
            k.layers.UpSampling2D(interpolation="bilinear"),
            k.layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
        ],
        name="decoder",
    )
    image = k.Input((28, 28, 1))
    return k.Model(image, decoder(encoder(image)))


def siamese(k: Any) -> Any:
    """Two images through one network, and how near they are."""
    left, right = k.Input((20, 20, 1), name="left"), k.Input((20, 20, 1), name="right")
    tower = k.Sequential(
        [
            k.Input((20, 20, 1)),
            k.layers.Conv2D(8, 3, activation="relu"),
            k.layers.GlobalAveragePooling2D(),
            k.layers.Dense(12, activation="tanh"),
        ],
        name="tower",
    )
    a, b = tower(left), tower(right)
    near = k.layers.Dot(axes=1, normalize=True)([a, b])
    return k.Model([left, right], [near, k.layers.Dense(1)(k.layers.Subtract()([a, b]))])


def wavenet(k: Any) -> Any:
    """Causal convolutions that reach twice as far at each layer, with gates."""
    x = entry = k.Input((64, 2))
    x = k.layers.Conv1D(16, 2, padding="causal")(x)
    skips: list[Any] = []
    for rate in (1, 2, 4, 8):
        parts = [
            k.layers.Conv1D(16, 2, padding="causal", dilation_rate=rate, activation=kind)(x)
            for kind in ("tanh", "sigmoid")
        ]
        y = k.layers.Multiply()(parts)
        skips.append(k.layers.Conv1D(16, 1)(y))
        x = k.layers.Add()([x, skips[-1]])
    return k.Model(entry, k.layers.Conv1D(5, 1)(k.layers.ReLU()(k.layers.Add()(skips))))


def integers(k: Any) -> Any:
    """A network of dense layers and a table in 8 bits."""
    words, numbers = k.Input((LENGTH,), dtype="int32"), k.Input((30,))
    x = k.layers.Flatten()(k.layers.Embedding(WORDS, 8)(words))
    x = k.layers.Concatenate()([x, k.layers.Dense(64, activation="relu")(numbers)])
    x = k.layers.EinsumDense("ab,bcd->acd", output_shape=(4, 16), bias_axes="d")(x)
    return k.Model([words, numbers], k.layers.Dense(10)(k.layers.Flatten()(x)))


SEQUENCES: dict[str, Callable[[Any], Any]] = {
    "autoencoder": autoencoder, "bidirectional": both_ways, "conv_lstm": frames, "gru": forecast, "int8": integers,
    "lstm": tagger, "masks": filled, "nested": nested, "siamese": siamese, "text": text, "transformer": transformer,
    "translation": translation, "unet": unet, "wavenet": wavenet,
}  # fmt: skip
NAMES = (*APPLICATIONS, *SEQUENCES)


def randomize(net: Any, rng: np.random.Generator) -> None:
    """Give every weight random numbers under which activations keep their size from layer to layer."""
    weights: list[Any] = []
    for variable in net.weights:
        shape, name = tuple(variable.shape), variable.name.rpartition("/")[2].partition(":")[0]
        numbers = rng.standard_normal(shape)
        if len(shape) > 1:
            numbers *= np.sqrt(2 / max(np.prod(shape[:-1]), 1))
        elif name in ("gamma", "moving_variance", "variance", "scale"):
            numbers = 1 + 0.2 * np.abs(numbers)
        else:
            numbers *= 0.1
        weights.append(numbers.astype(np.float32))
    net.set_weights(weights)


def inputs_of(net: Any, rng: np.random.Generator) -> list[Any]:
    """Return two random rows of each input; of words some are 0, which is none."""
    arrays: list[Any] = []
    for tensor in net.inputs:
        shape = (2, *tensor.shape[1:])
        is_words = str(getattr(tensor.dtype, "name", tensor.dtype)) == "int32"
        arrays.append(rng.integers(0, WORDS, shape).astype(np.int32) if is_words else rng.standard_normal(shape))
        if is_words:
            arrays[-1][:, ::3] = 0
    return [array.astype(np.int32 if array.dtype.kind == "i" else np.float32) for array in arrays]


def difference(path: Path, net: Any, arrays: list[Any]) -> tuple[int, float, float]:
    """Return the number of layers of a file, the seconds to compile it, and the greatest difference from Keras."""
    begin = time.perf_counter()
    program = whence.compile(path)
    seconds = time.perf_counter() - begin
    results = program(*arrays)
    wanted = net(arrays if len(arrays) > 1 else arrays[0], training=False)
    pairs = zip(
        results if isinstance(results, tuple) else (results,),
        wanted if isinstance(wanted, list | tuple) else (wanted,),
        strict=True,
    )
    off = 0.0
    for result, reference in pairs:
        reference = np.asarray(reference, np.float64)
        assert result.shape == reference.shape
        assert np.isfinite(reference).all()
        off = max(off, float(np.abs(result - reference).max() / np.abs(reference).max()))
    return len(program.layers), seconds, off


def build(keras: Any, name: str) -> Any:
    net = application(keras, name) if name in APPLICATIONS else SEQUENCES[name](keras)
    randomize(net, np.random.default_rng(zlib.crc32(name.encode())))
    if name == "int8":
        net.quantize("int8")
    return net


def old_keras() -> ModuleType:
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tf_keras

    return tf_keras


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[], metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--h5", action="store_true")
    parser.add_argument("--keras2", action="store_true")
    args = parser.parse_args()
    import keras

    forms: list[tuple[str, Any, str]] = [("keras", keras, "")]
    forms += [("h5", keras, "")] if args.h5 else []
    forms += [("h5", old_keras(), " of Keras 2")] if args.keras2 else []
    print(f"{'network':16} {'file':16} layers  seconds  differs")
    wrong: list[str] = []
    for name in args.names or NAMES:
        for suffix, package, note in forms:
            # The .h5 format has no quantised layers, and neither has Keras 2.
            if name == "int8" and suffix == "h5":
                continue
            package.backend.clear_session()
            net, rng = build(package, name), np.random.default_rng(1)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"{name}.{suffix}"
                net.save(path)
                layers, seconds, off = difference(path, net, inputs_of(net, rng))
            print(f"{name:16} {'.' + suffix + note:16} {layers:6} {seconds:8.1f}  {off:.1e}", flush=True)
            wrong += [name] if not off <= TOLERANCE else []
    if wrong:
        raise SystemExit(f"differ by more than {TOLERANCE}: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
