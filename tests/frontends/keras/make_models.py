"""Write the models beside this file and what Keras computes with them: `models/NAME.keras`, `.h5` and `.npz`.

    KERAS_BACKEND=tensorflow python tests/frontends/keras/make_models.py [NAME ...]

An .npz has inputs and outputs for two batches: `in_1_x` is input x of a batch of 1, `out_3_0` output 0 of a batch of 3.
A model of a fixed batch has those of its first, second and third call. Weights and inputs are random, from one seed
for each model. Needs keras and the backend's package; of other backends some have no masks for ConvLSTM.
"""

from __future__ import annotations

import sys
import zipfile
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import operation_models
from model_parts import IMAGE, SEQUENCE, VOLUME, L, inputs, keras, model, ops

FOLDER = Path(__file__).parent / "models"
CustomScaleLayer: Any = import_module("keras.src.applications.inception_resnet_v2").CustomScaleLayer
BATCHES, CALLS = (1, 3), (1, 2, 3)


def cnn() -> Any:
    return keras.Sequential(
        [
            keras.Input((8, 8, 3), name="image"),
            L.Conv2D(4, 3, strides=2, padding="same", use_bias=False, name="conv"),
            L.BatchNormalization(name="norm"),
            L.ReLU(name="relu"),
            L.MaxPooling2D(2, name="pool"),
            L.Dropout(0.5, name="drop"),
            L.Flatten(name="flat"),
            L.Dense(5, activation="softmax", name="classes"),
        ],
        name="cnn",
    )


def functional() -> Any:
    """A residual block, a shared layer, and an inner model that is called twice."""
    x = keras.Input((6, 6, 3), name="image")
    y = L.Conv2D(4, 3, padding="same", activation="relu", name="conv")(x)
    z = L.Add(name="plus")([y, L.Conv2D(4, 1, name="shortcut")(x)])
    entry = keras.Input((6, 6, 4), name="entry")
    deep = keras.Sequential([keras.Input((6, 6, 4)), L.Conv2D(4, 1, name="conv")], name="deep")
    block = keras.Model(entry, L.BatchNormalization(name="norm")(deep(entry)), name="block")
    z = block(block(z))
    shared = L.Dense(4, activation="tanh", name="shared")
    first = shared(L.GlobalAveragePooling2D(name="mean")(z))
    return keras.Model(x, [first, shared(first)], name="functional")


def convolutions() -> Any:
    x, y, z = inputs((9, 4), IMAGE, VOLUME)
    outputs: list[Any] = []
    for rank, data in ((1, x), (2, y), (3, z)):
        conv, back = getattr(L, f"Conv{rank}D"), getattr(L, f"Conv{rank}DTranspose")
        outputs += [
            conv(4, 3, strides=2, padding="same", groups=2, activation="relu")(data),
            conv(2, 2, dilation_rate=2, use_bias=False)(data),
            back(2, 3, strides=2, padding="same")(data),
            back(2, 2, strides=2, activation="sigmoid")(data),
        ]
        if rank < 3:
            outputs += [
                getattr(L, f"DepthwiseConv{rank}D")(3, depth_multiplier=2, padding="same", strides=2)(data),
                getattr(L, f"SeparableConv{rank}D")(3, 3, depth_multiplier=2)(data),
            ]
    return model((x, y, z), [*outputs, L.Conv1D(3, 3, padding="causal", dilation_rate=2)(x)], "convolutions")


def channels_first() -> Any:
    x, y, z = inputs((4, 9), (4, 7, 8), (4, 4, 5, 6))
    first = {"data_format": "channels_first"}
    outputs = [
        L.Conv1D(4, 3, strides=2, padding="same", **first)(x),
        L.Conv2D(4, 3, groups=2, dilation_rate=2, **first)(y),
        L.Conv3D(2, 2, **first)(z),
        L.Conv2DTranspose(2, 3, strides=2, **first)(y),
        L.DepthwiseConv2D(3, depth_multiplier=2, **first)(y),
        L.SeparableConv2D(3, 3, **first)(y),
        L.MaxPooling2D(2, padding="same", **first)(y),
        L.AveragePooling3D(2, **first)(z),
        L.GlobalMaxPooling2D(**first)(y),
        L.GlobalAveragePooling1D(keepdims=True, **first)(x),
        L.BatchNormalization(axis=1)(y),
        L.Flatten(**first)(y),
        L.UpSampling2D(2, **first)(y),
        L.UpSampling3D((1, 2, 2), **first)(z),
        L.ZeroPadding2D(1, **first)(y),
        L.Cropping3D(1, **first)(z),
    ]
    return model((x, y, z), outputs, "channels_first")


def poolings() -> Any:
    x, y, z = inputs(SEQUENCE, IMAGE, VOLUME)
    outputs: list[Any] = []
    for rank, data in ((1, x), (2, y), (3, z)):
        for kind in ("Max", "Average"):
            outputs += [
                getattr(L, f"{kind}Pooling{rank}D")(3, strides=2, padding="same")(data),
                getattr(L, f"{kind}Pooling{rank}D")(2)(data),
                getattr(L, f"Global{kind}Pooling{rank}D")(keepdims=kind == "Max")(data),
            ]
    return model((x, y, z), outputs, "poolings")


def normalizations() -> Any:
    x, y = inputs(SEQUENCE, IMAGE)
    outputs = [
        L.BatchNormalization(scale=False, epsilon=0.01)(x),
        L.BatchNormalization(axis=1, center=False)(y),
        L.LayerNormalization()(x),
        L.LayerNormalization(axis=1, scale=False)(y),
        L.LayerNormalization(axis=[1, 2], center=False)(y),
        L.LayerNormalization(rms_scaling=True)(x),
        L.GroupNormalization(2)(y),
        L.GroupNormalization(-1, axis=1)(y),
        L.RMSNormalization()(x),
        L.UnitNormalization(axis=[1, 2])(y),
        L.Normalization(axis=-1)(x),
        L.Normalization(axis=None, mean=1.5, variance=2.0)(x),
        L.Normalization(axis=-1, invert=True, mean=[1.0, 2.0, 3.0, 4.0], variance=[1.0, 2.0, 1.0, 2.0])(x),
        L.SpectralNormalization(L.Conv2D(2, 2))(y),
    ]
    return model((x, y), outputs, "normalizations")


def recurrent() -> Any:
    x, hidden, cell = inputs(SEQUENCE, (5,), (5,))
    outputs = [
        L.LSTM(5, name="states")(x, initial_state=[hidden, cell]),
        *L.LSTM(16, return_sequences=True, return_state=True, recurrent_activation="hard_sigmoid")(x),
        L.GRU(5, return_sequences=True, go_backwards=True)(x),
        L.GRU(8, reset_after=False, activation="relu")(x),
        L.GRU(3, use_bias=False)(x),
        L.SimpleRNN(5, activation="linear", return_sequences=True)(x),
    ]
    return model((x, hidden, cell), outputs, "recurrent")


def directions() -> Any:
    (x,) = inputs(SEQUENCE)
    outputs = [
        L.Bidirectional(L.GRU(3, return_sequences=True), name="both")(x),
        L.Bidirectional(L.LSTM(3), merge_mode="ave")(x),
        *L.Bidirectional(L.SimpleRNN(3, return_state=True), merge_mode=None)(x),
        L.RNN([L.LSTMCell(3), L.LSTMCell(4), L.GRUCell(2)], return_sequences=True, name="stack")(x),
        L.TimeDistributed(L.Dense(3), name="steps")(x),
    ]
    return model((x,), outputs, "directions")


def attention() -> Any:
    x, y = inputs(SEQUENCE, (None, 4))
    outputs = [
        *L.MultiHeadAttention(2, 3, name="heads")(x, y, return_attention_scores=True),
        L.MultiHeadAttention(2, 4, use_bias=False, output_shape=3)(x, x, use_causal_mask=True),
        L.MultiHeadAttention(2, 2, sliding_window=2)(x, x),
        L.GroupQueryAttention(2, 4, 2)(x, y),
        L.Attention(use_scale=True)([x, y]),
        L.Attention(score_mode="concat")([x, x], use_causal_mask=True),
        L.AdditiveAttention()([x, y]),
    ]
    return model((x, y), outputs, "attention")


def conv_lstm() -> Any:
    x, y, z, tokens = inputs((3, 5, 2), (3, 4, 5, 2), (2, 2, 3, 4, 2), (3,), x3="int32")
    first = {"data_format": "channels_first"}
    steps = L.Masking()(y * ops.reshape(ops.cast(tokens > 2, "float32"), (-1, 3, 1, 1, 1)))
    outputs = [
        L.ConvLSTM1D(3, 3, padding="same", return_sequences=True)(x),
        *L.ConvLSTM1D(2, 2, strides=2, recurrent_activation="hard_sigmoid", return_state=True)(x),
        L.ConvLSTM2D(3, (2, 3), return_sequences=True, go_backwards=True)(y),
        L.ConvLSTM2D(2, 3, padding="same", dilation_rate=2, use_bias=False)(y),
        L.ConvLSTM2D(2, 2, **first)(L.Permute((1, 4, 2, 3))(y)),
        L.ConvLSTM3D(2, 2, activation="relu")(z),
        L.ConvLSTM2D(2, 2, return_sequences=True)(y, mask=tokens > 2),
        L.Bidirectional(L.ConvLSTM1D(2, 2, return_sequences=True))(x),
        L.GlobalAveragePooling3D()(steps),
    ]
    return model((x, y, z, tokens), outputs, "conv_lstm")


def masks() -> Any:
    tokens, x = inputs((6,), SEQUENCE, x0="int32")
    y = L.Embedding(6, 4, mask_zero=True, name="words")(tokens)
    some = x * ops.expand_dims(ops.cast(tokens > 1, "float32"), -1)
    z = L.Masking(name="steps")(some)
    both = {"return_sequences": True}
    outputs = [
        z,
        L.LSTM(5, **both)(y),
        L.LSTM(5, zero_output_for_mask=True, **both)(y),
        L.LSTM(5, zero_output_for_mask=True)(z),
        *L.LSTM(5, return_state=True)(z),
        L.GRU(5, go_backwards=True, **both)(y),
        L.GRU(8, go_backwards=True)(L.Dense(3, activation="relu")(z)),
        L.SimpleRNN(3, unroll=True, **both)(y),
        L.GRU(3)(L.LSTM(4, **both)(L.Dropout(0.1)(y))),
        L.RNN([L.LSTMCell(3), L.GRUCell(4)], **both)(y),
        L.Bidirectional(L.LSTM(3, **both))(y),
        L.Bidirectional(L.GRU(3), merge_mode="ave")(z),
        *L.Bidirectional(L.SimpleRNN(3, **both), merge_mode=None)(y),
        L.SimpleRNN(2)(L.Bidirectional(L.GRU(3, **both))(y)),
        L.GRU(2)(L.TimeDistributed(L.Dense(3))(y)),
        L.GRU(2)(L.Reshape((3, 8))(y)),
        L.LSTM(3, **both)(x, mask=tokens > 2),
        L.GRU(4, **both)(y, initial_state=L.Dense(4)(L.Flatten()(x))),
        L.GlobalAveragePooling1D(keepdims=True)(z),
        L.GlobalAveragePooling1D()(L.LayerNormalization()(y)),
    ]
    return model((tokens, x), outputs, "masks")


def undecided() -> Any:
    """What no other model decides: three masks, none that counts, norms near 0, scales of attention and of sums."""
    tokens, x = inputs((6,), SEQUENCE, x0="int32")
    words = L.Embedding(6, 4, mask_zero=True, name="words")
    y, z, nothing = words(tokens), words(tokens // 2), words(tokens // 6)
    outputs = [
        L.Maximum()([y, z, nothing]),
        L.Minimum()([nothing, z, y]),
        L.Multiply()([y, nothing, z]),
        L.Multiply()([nothing, nothing]),
        L.UnitNormalization()(x * 1e-8),
        L.Attention(score_mode="concat", use_scale=True)([x, x]),
        CustomScaleLayer(0.25)([y, z]),
    ]
    return model((tokens, x), outputs, "undecided")


def merged_masks() -> Any:
    tokens, x = inputs((6,), SEQUENCE, x0="int32")
    words = L.Embedding(6, 4, mask_zero=True, name="words")
    y, z = words(tokens), words(tokens // 2)
    layers = [L.Add(), L.Subtract(), L.Multiply(), L.Average(), L.Maximum(), L.Minimum()]
    layers += [L.Concatenate(), L.Concatenate(axis=1)]
    outputs: list[Any] = []
    for layer in layers:
        both = layer([y, z])
        outputs += [both, L.GlobalAveragePooling1D()(both)]
    for layer in (L.Multiply(), L.Maximum(), L.Minimum(), L.Concatenate(), L.Concatenate(axis=1)):
        both = layer([y, x])
        outputs += [both, L.GlobalAveragePooling1D()(both)]
    entry = keras.Input((6,), dtype="int32")
    block = keras.Model(entry, L.Dense(3)(L.Embedding(6, 3, mask_zero=True)(entry)), name="block")
    outputs += [
        L.GlobalAveragePooling1D()(block(tokens)),
        L.Dot(axes=2)([y, z]),
        L.Attention()([y, z]),
        L.Attention(use_scale=True)([y, z, x], use_causal_mask=True),
        L.AdditiveAttention()([x, y]),
        L.GlobalAveragePooling1D()(L.Attention()([y, x])),
        L.MultiHeadAttention(2, 3)(y, z),
        L.MultiHeadAttention(2, 3, dropout=0.1)(y, z),
        *L.MultiHeadAttention(2, 3)(y, z, x, use_causal_mask=True, return_attention_scores=True),
        L.GlobalAveragePooling1D()(L.MultiHeadAttention(2, 3)(y, x)),
        L.GroupQueryAttention(2, 4, 2)(y, y),
        L.MultiHeadAttention(2, 3)(x, x, attention_mask=ops.expand_dims(tokens > 1, 1)),
        L.Softmax(axis=1)(ops.cast(tokens, "float32"), mask=tokens > 1),
    ]
    return model((tokens, x), outputs, "merged_masks")


def stateful() -> Any:
    x = keras.Input(batch_shape=(2, 4, 3), name="x0")
    keep = {"stateful": True}
    y = L.LSTM(5, return_sequences=True, name="lstm", **keep)(x)
    y = L.Bidirectional(L.GRU(3, return_sequences=True, **keep), name="both")(y)
    inner = keras.Sequential([keras.Input(batch_shape=(2, 4, 6)), L.SimpleRNN(4, name="rnn", **keep)], name="inner")
    stack = L.RNN([L.LSTMCell(3), L.GRUCell(2)], name="stack", return_state=True, **keep)
    return keras.Model(x, [inner(y), inner(y), *stack(y)], name="stateful")


def quantized() -> Any:
    """Weights of 8 and 4 bits, in models inside."""
    x, tokens = inputs(SEQUENCE, (5,), x1="int32")
    outputs: list[Any] = []
    for mode in ("int8", "int4", "int4_rows"):
        a, b = keras.Input(SEQUENCE), keras.Input((5,), dtype="int32")
        results = [
            L.Dense(5, activation="relu")(a),
            L.Dense(3, use_bias=False)(L.Flatten()(a)),
            L.EinsumDense("abc,cde->abde", output_shape=(6, 3, 2), bias_axes="e")(a),
            L.EinsumDense("abc,bcd->ad", output_shape=7)(a),
            L.Embedding(6, 5)(b),
        ]
        net = keras.Model([a, b], results, name=mode)
        randomize(net, np.random.default_rng(len(mode)))
        config = keras.quantizers.Int4QuantizationConfig(block_size=-1 if mode == "int4_rows" else 3)
        net.quantize(config=config if mode != "int8" else keras.quantizers.Int8QuantizationConfig())
        outputs += net([x, tokens])
    return model((x, tokens), outputs, "quantized")


def activations() -> Any:
    (x,) = inputs(SEQUENCE)
    names = """relu leaky_relu relu6 softmax celu elu selu softplus softsign squareplus soft_shrink sparse_plus silu
        gelu glu tanh tanh_shrink sigmoid sparse_sigmoid exponential hard_sigmoid hard_silu hard_tanh hard_shrink linear
        mish log_softmax log_sigmoid""".split()
    return model((x,), [L.Activation(name, name=f"of_{name}")(x) for name in names], "activations")


def activation_layers() -> Any:
    (x,) = inputs(SEQUENCE)
    outputs = [
        L.ELU(0.7)(x),
        L.LeakyReLU(0.1)(x),
        L.ReLU(max_value=1.0, negative_slope=0.1, threshold=0.2)(x),
        L.PReLU()(x),
        L.PReLU(shared_axes=[1])(x),
        L.Softmax(axis=1)(x),
        L.Softmax(axis=[1, 2])(x),
        L.Dense(3, activation=L.LeakyReLU(0.3))(x),
    ]
    return model((x,), outputs, "activation_layers")


def shapes() -> Any:
    x, y, z = inputs(SEQUENCE, IMAGE, (3, 4, 4, 2))
    outputs = [
        L.Reshape((3, -1))(x),
        L.Permute((3, 1, 2))(y),
        L.RepeatVector(3)(L.Flatten()(x)),
        L.ZeroPadding1D((1, 2))(x),
        L.ZeroPadding2D(((1, 2), (0, 3)))(y),
        L.ZeroPadding3D(1)(z),
        L.Cropping1D(2)(x),
        L.Cropping2D(((1, 2), (0, 3)))(y),
        L.UpSampling1D(2)(x),
        L.UpSampling2D((2, 3))(y),
        L.UpSampling2D(2, interpolation="bilinear")(y),
        L.UpSampling2D(2, interpolation="bicubic")(y),
        L.UpSampling3D((2, 1, 3))(z),
        L.AdaptiveAveragePooling1D(4)(x),
        L.AdaptiveMaxPooling2D((3, 5))(y),
        L.AdaptiveAveragePooling2D((2, 8))(y),
        L.AdaptiveMaxPooling3D(2)(z),
        L.Resizing(5, 13)(y),
        L.Resizing(3, 5, interpolation="nearest")(y),
        L.Resizing(4, 4, antialias=True)(y),
        L.Resizing(4, 6, crop_to_aspect_ratio=True)(y),
        L.CenterCrop(3, 5)(y),
        L.Rescaling(1 / 255, offset=[1.0, 2.0, 3.0, 4.0])(y),
    ]
    return model((x, y, z), outputs, "shapes")


def merging() -> Any:
    x, tokens = inputs(SEQUENCE, (5,), x1="int32")
    dense = L.Dense(4)(x)
    outputs = [
        L.Embedding(6, 3)(tokens),
        L.Add()([x, dense]),
        L.Subtract()([x, dense]),
        L.Multiply()([x, dense]),
        L.Average()([x, dense, x]),
        L.Maximum()([x, dense]),
        L.Minimum()([x, dense]),
        L.Concatenate(axis=1)([x, dense]),
        L.Dot(axes=1, normalize=True)([x, dense]),
        L.EinsumDense("abc,cd->abd", output_shape=(None, 3), bias_axes="d", activation="relu")(x),
        L.EinsumDense("...bc,bcd->...bd", output_shape=(6, 2))(x),
    ]
    return model((x, tokens), outputs, "merging")


def embeddings() -> Any:
    """Tables that are read both ways."""
    x, tokens = inputs(SEQUENCE, (5,), x1="int32")
    table, untied = L.ReversibleEmbedding(6, 3), L.ReversibleEmbedding(6, 3, tie_weights=False, logit_soft_cap=2.0)
    words = L.ReversibleEmbedding(6, 4, mask_zero=True)(tokens)
    outputs = [table(table(tokens), reverse=True), untied(L.Dense(3)(x), reverse=True), L.GRU(3)(words)]
    return model((x, tokens), outputs, "embeddings")


def halves() -> Any:
    """Layers that compute in float16 with weights of float32."""
    x = keras.Input((8, 8, 3), name="image")
    y = L.Conv2D(4, 3, activation="relu", dtype="mixed_float16", name="conv")(x)
    y = L.BatchNormalization(dtype="mixed_float16", name="norm")(y)
    y = L.GlobalAveragePooling2D(dtype="mixed_float16")(y)
    y = L.LayerNormalization(dtype="mixed_float16")(y)
    return keras.Model(x, L.Dense(3, activation="softmax", name="classes")(y), name="halves")


def preparation() -> Any:
    numbers, tokens, token = inputs((6,), (5,), (1,), x1="int32", x2="int32")
    edges = [-1.0, 0.0, 0.5]
    outputs = [
        L.Discretization(bin_boundaries=edges)(numbers),
        L.Discretization(bin_boundaries=edges, output_mode="multi_hot")(numbers),
        L.CategoryEncoding(6)(tokens),
        L.CategoryEncoding(6, output_mode="count")(tokens),
        L.CategoryEncoding(6, output_mode="one_hot")(token),
    ]
    return model((numbers, tokens, token), outputs, "preparation")


MODELS: dict[str, Callable[[], Any]] = {
    **operation_models.MODELS,
    "activation_layers": activation_layers,
    "activations": activations,
    "attention": attention,
    "channels_first": channels_first,
    "cnn": cnn,
    "conv_lstm": conv_lstm,
    "convolutions": convolutions,
    "directions": directions,
    "embeddings": embeddings,
    "functional": functional,
    "halves": halves,
    "masks": masks,
    "merged_masks": merged_masks,
    "undecided": undecided,
    "merging": merging,
    "normalizations": normalizations,
    "poolings": poolings,
    "preparation": preparation,
    "quantized": quantized,
    "recurrent": recurrent,
    "shapes": shapes,
    "stateful": stateful,
}
LEGACY = ("attention", "cnn", "directions", "elementwise", "functional", "normalizations", "recurrent")
"""Models that are written as `.h5`, too."""


def randomize(net: Any, rng: np.random.Generator) -> None:
    """Give every weight random numbers, of about one size for any width of a layer."""
    for variable in net.weights:
        shape = tuple(variable.shape)
        if not variable.dtype.startswith("float") or variable.name.endswith(("_scale", "g_idx")):
            continue
        numbers = rng.standard_normal(shape) * (0.3 if len(shape) < 2 else 1 / np.sqrt(np.prod(shape[:-1])))
        if "variance" in variable.name or variable.name in ("gamma", "scale"):
            numbers = np.abs(numbers) + 0.5
        variable.assign(numbers.astype(np.float32))
    for layer in net._flatten_layers():
        if type(layer).__name__ == "Normalization":
            layer.finalize_state()


def arrays(net: Any, batch: int, rng: np.random.Generator) -> list[Any]:
    """Random inputs of a model."""
    outputs: list[Any] = []
    for tensor in net.inputs:
        shape = [batch, *(5 if extent is None else extent for extent in tensor.shape[1:])]
        numbers = rng.integers(0, 6, shape) if tensor.dtype == "int32" else rng.standard_normal(shape)
        outputs.append(numbers.astype(tensor.dtype))
    return outputs


def compress(path: Path) -> None:
    """Have the parts of an archive compressed, which Keras stores as they are."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def write(name: str) -> None:
    keras.backend.clear_session()
    rng, net = np.random.default_rng(zlib.crc32(name.encode())), MODELS[name]()
    randomize(net, rng)
    net.save(FOLDER / f"{name}.keras")
    compress(FOLDER / f"{name}.keras")
    if name in LEGACY:
        net.save(FOLDER / f"{name}.h5")
    kept: dict[str, Any] = {}
    own = net.inputs[0].shape[0]
    for batch in BATCHES if own is None else CALLS:
        tensors = arrays(net, own or batch, rng)
        results = net(tensors if len(tensors) > 1 else tensors[0], training=False)
        kept |= {f"in_{batch}_{tensor.name}": array for tensor, array in zip(net.inputs, tensors, strict=True)}
        flat = keras.tree.flatten(results)
        kept |= {f"out_{batch}_{at}": np.asarray(array) for at, array in enumerate(flat)}
    np.savez_compressed(FOLDER / f"{name}.npz", allow_pickle=False, **kept)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or MODELS:
        write(name)
