# pyright: basic
"""Convolutions and transposed ones: strides, dilations, groups, words of padding, ends of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning
from meanings.references import convolution, pads_of, transposed_convolution
from meanings.spelled import LAST, SAME, even_pads, hlo_ints, hlo_pairs, onnx_padding

_RNG = np.random.default_rng(5)


def _random(*shape: int) -> Array:
    return _RNG.uniform(-2, 2, shape).astype(np.float32)


def _conv(label: str, space: Sequence[int], kernel: Sequence[int], *, channels: int = 4, filters: int = 6,
          strides: int | Sequence[int] = 1, padding: Any = "VALID", dilations: int = 1,
          groups: int = 1) -> Case:  # fmt: skip
    rank = len(space)
    options = {
        "strides": [strides] * rank if isinstance(strides, int) else list(strides),
        "padding": padding,
        "dilations": [dilations] * rank,
        "groups": groups,
    }
    weight = _random(filters, channels // groups, *kernel)
    return Case(f"{rank}d {label}", [_random(2, channels, *space)], options, [weight, _random(filters)])


_CONVS = [
    _conv("valid", [9], [3]),
    _conv("same", [9], [4], padding="SAME_UPPER", strides=2),
    _conv("dilated", [11], [3], dilations=2),
    _conv("valid", [7, 8], [3, 2]),
    _conv("same", [7, 8], [3, 4], padding="SAME_UPPER"),
    _conv("same of strides", [8, 9], [3, 4], padding="SAME_UPPER", strides=[2, 3]),
    _conv("same, lower", [8, 9], [4, 4], padding="SAME_LOWER", strides=2),
    _conv("same, dilated", [9, 10], [3, 2], padding="SAME_UPPER", dilations=2),
    _conv("same, stride over kernel", [9, 7], [2, 2], padding="SAME_UPPER", strides=3),
    _conv("even pads", [6, 7], [3, 3], padding=[(1, 1), (2, 2)], strides=2),
    _conv("uneven pads", [6, 7], [3, 3], padding=[(0, 1), (2, 1)], strides=[1, 2]),
    _conv("groups", [6, 7], [3, 3], groups=2),
    _conv("depthwise", [6, 7], [3, 3], groups=4, filters=4, padding="SAME_UPPER", strides=2),
    _conv("depthwise, twice", [6, 7], [3, 2], groups=4, filters=8),
    _conv("valid", [4, 5, 6], [2, 3, 2]),
    _conv("same", [4, 5, 6], [2, 3, 2], padding="SAME_UPPER", strides=2),
    _conv("dilated", [5, 5, 6], [2, 2, 2], dilations=2),
]


def _conv_onnx(
    net: Any, x: Any, weight: Array, bias: Array, strides: Any, padding: Any, dilations: Any, groups: int
) -> Any:
    return net("Conv", x, net.const(weight), net.const(bias), strides=strides, dilations=dilations, group=groups,
               **onnx_padding(padding))  # fmt: skip


def _conv_torch(
    net: Any, x: Any, weight: Array, bias: Array, strides: Any, padding: Any, dilations: Any, groups: int
) -> Any:
    rank, pads = len(strides), even_pads(padding)
    rest = {"stride": strides, "dilation": dilations, "groups": groups}
    values = {"input": x, "weight": net.const(weight), "bias": net.const(bias)}
    if padding == "SAME_UPPER" and set(strides) == {1}:
        return net(f"aten.conv{rank}d.padding", **values, **rest, padding="same")
    return None if pads is None else net(f"aten.conv{rank}d.default", **values, **rest, padding=pads or [0] * rank)


def _conv_core(
    net: Any, x: Any, weight: Array, bias: Array, strides: Any, padding: Any, dilations: Any, groups: int
) -> Any:
    if (pads := even_pads(padding)) is None:
        return None
    return net("aten.convolution.default", input=x, weight=net.const(weight), bias=net.const(bias), stride=strides,
               padding=pads or [0] * len(strides), dilation=dilations, transposed=False,
               output_padding=[0] * len(strides), groups=groups)  # fmt: skip


def _conv_tflite(
    net: Any, x: Any, weight: Array, bias: Array, strides: Any, padding: Any, dilations: Any, groups: int
) -> Any:
    rank = len(strides)
    if str(padding) not in SAME or rank == 1:
        return None
    names = ("DH" + "W")[3 - rank :] if rank == 2 else "DHW"
    fields: dict[str, Any] = {"padding": SAME[padding]}
    fields |= {f"stride{name}": stride for name, stride in zip(names, strides, strict=True)}
    fields |= {f"dilation{name}Factor": dilation for name, dilation in zip(names, dilations, strict=True)}
    channels = weight.shape[1] * groups
    if rank == 3:
        return net("CONV_3D", x, net.const(weight.transpose(2, 3, 4, 1, 0)), net.const(bias), options="Conv3DOptions",
                   **fields)  # fmt: skip
    if groups == channels:
        filters = net.const(weight.transpose(1, 2, 3, 0))
        return net("DEPTHWISE_CONV_2D", x, filters, net.const(bias), options="DepthwiseConv2DOptions",
                   depthMultiplier=weight.shape[0] // channels, **fields)  # fmt: skip
    return net(
        "CONV_2D", x, net.const(weight.transpose(0, 2, 3, 1)), net.const(bias), options="Conv2DOptions", **fields
    )


def _last(weight: Array) -> Array:
    """Return a weight with its kernel first: (kernel.., channels, results)."""
    return weight.transpose(*range(2, weight.ndim), 1, 0)


def _conv_keras(
    net: Any, x: Any, weight: Array, bias: Array, strides: Any, padding: Any, dilations: Any, groups: int
) -> Any:
    rank, channels = len(strides), weight.shape[1] * groups
    if str(padding) not in SAME:
        return None
    config = {"kernel_size": list(weight.shape[2:]), "strides": strides, "padding": padding[:5].lower().rstrip("_"),
              "dilation_rate": dilations, "data_format": "channels_last", "activation": "linear",
              "use_bias": True}  # fmt: skip
    if groups == channels and rank < 3:
        multiplier = weight.shape[0] // channels
        kernel = weight.reshape(channels, multiplier, *weight.shape[2:])
        kernel = kernel.transpose(*range(2, 2 + rank), 0, 1)
        return net.layer(
            f"DepthwiseConv{rank}D", x, weights={"": [kernel, bias]}, depth_multiplier=multiplier, **config
        )
    return net.layer(
        f"Conv{rank}D", x, weights={"": [_last(weight), bias]}, filters=weight.shape[0], groups=groups, **config
    )


def _conv_tensorflow(
    net: Any, x: Any, weight: Array, bias: Array, strides: Any, padding: Any, dilations: Any, groups: int
) -> Any:
    rank, channels = len(strides), weight.shape[1] * groups
    if rank == 1 or padding == "SAME_LOWER":
        return None
    steps, apart = [1, *strides, 1], [1, *dilations, 1]
    fields: dict[str, Any] = {
        "strides": steps,
        "dilations": apart,
        "padding": "SAME" if padding == "SAME_UPPER" else "VALID",
    }
    if not isinstance(padding, str):
        fields |= {"padding": "EXPLICIT", "explicit_paddings": [0, 0, *(n for pair in padding for n in pair), 0, 0]}
    if rank == 3:
        result = net("Conv3D", x, net.const(_last(weight)), data_format="NDHWC", **fields)
    elif groups == channels:
        kernel = weight.reshape(channels, -1, *weight.shape[2:]).transpose(2, 3, 0, 1)
        if strides[0] != strides[1]:
            return None
        result = net("DepthwiseConv2dNative", x, net.const(kernel), data_format="NHWC", **fields)
    else:
        result = net("Conv2D", x, net.const(_last(weight)), data_format="NHWC", **fields)
    return net("BiasAdd", result, net.const(bias), data_format="NHWC")


def _conv_stablehlo(
    net: Any, x: Any, weight: Array, bias: Array, strides: Any, padding: Any, dilations: Any, groups: int
) -> Any:
    rank = len(strides)
    pads = pads_of(padding, x.shape[2:], weight.shape[2:], strides, dilations)
    return _hlo_convolution(net, x, weight, bias, strides, pads, dilations, [1] * rank, groups)


def _hlo_convolution(net: Any, x: Any, weight: Array, bias: Array, strides: Any, pads: Any, dilations: Any, apart: Any,
                     groups: int) -> Any:  # fmt: skip
    space = ", ".join(map(str, range(len(strides))))
    result = net(
        "convolution", x, net.const(weight), window_strides=hlo_ints(strides), padding=hlo_pairs(pads),
        lhs_dilation=hlo_ints(apart), rhs_dilation=hlo_ints(dilations),
        window_reversal=f"array<i1: {', '.join(['false'] * len(strides))}>",
        dimension_numbers=f"#stablehlo.conv<[b, f, {space}]x[o, i, {space}]->[b, f, {space}]>",
        feature_group_count=f"{groups} : i64", batch_group_count="1 : i64",
    )  # fmt: skip
    return net("add", result, net("broadcast_in_dim", net.const(bias), broadcast_dimensions="array<i64: 1>"))


# Transposed convolutions.


def _deconv(label: str, space: Sequence[int], kernel: Sequence[int], *, channels: int = 4, filters: int = 6,
            strides: int | Sequence[int] = 1, pads: Any = None, more: int = 0, dilations: int = 1,
            groups: int = 1) -> Case:  # fmt: skip
    rank = len(space)
    options = {
        "strides": [strides] * rank if isinstance(strides, int) else list(strides),
        "pads": pads or [(0, 0)] * rank, "output_padding": [more] * rank, "dilations": [dilations] * rank,
        "groups": groups,
    }  # fmt: skip
    weight = _random(channels, filters // groups, *kernel)
    return Case(f"{rank}d {label}", [_random(2, channels, *space)], options, [weight, _random(filters)])


_DECONVS = [
    _deconv("valid", [5], [3], strides=2),
    _deconv("valid", [4, 5], [3, 2]),
    _deconv("strides", [4, 5], [3, 4], strides=[2, 3]),
    _deconv("pads", [4, 5], [3, 4], strides=2, pads=[(1, 1), (2, 2)]),
    _deconv("uneven pads", [4, 5], [3, 4], strides=2, pads=[(0, 1), (1, 1)]),
    _deconv("output padding", [4, 5], [3, 3], strides=2, pads=[(1, 1), (1, 1)], more=1),
    _deconv("dilated", [4, 5], [3, 2], dilations=2),
    _deconv("groups", [4, 5], [3, 3], strides=2, groups=2),
    _deconv("valid", [3, 4, 3], [2, 3, 2], strides=2),
]


def _plain(case_pads: Any, output_padding: Sequence[int], dilations: Sequence[int], groups: int) -> bool:
    return not any(map(sum, case_pads)) and not any(output_padding) and set(dilations) == {1} and groups == 1


def _deconv_onnx(net: Any, x: Any, weight: Array, bias: Array, strides: Any, pads: Any, output_padding: Any,
                 dilations: Any, groups: int) -> Any:  # fmt: skip
    return net("ConvTranspose", x, net.const(weight), net.const(bias), strides=strides, output_padding=output_padding,
               dilations=dilations, group=groups, **onnx_padding(pads))  # fmt: skip


def _deconv_torch(net: Any, x: Any, weight: Array, bias: Array, strides: Any, pads: Any, output_padding: Any,
                  dilations: Any, groups: int) -> Any:  # fmt: skip
    if (padding := even_pads(pads)) is None:
        return None
    target = f"aten.conv_transpose{len(strides)}d.{'default' if len(strides) == 1 else 'input'}"
    return net(target, input=x, weight=net.const(weight), bias=net.const(bias), stride=strides, padding=padding,
               output_padding=output_padding, groups=groups, dilation=dilations)  # fmt: skip


def _deconv_core(net: Any, x: Any, weight: Array, bias: Array, strides: Any, pads: Any, output_padding: Any,
                 dilations: Any, groups: int) -> Any:  # fmt: skip
    if (padding := even_pads(pads)) is None:
        return None
    return net("aten.convolution.default", input=x, weight=net.const(weight), bias=net.const(bias), stride=strides,
               padding=padding, dilation=dilations, transposed=True, output_padding=output_padding,
               groups=groups)  # fmt: skip


def _deconv_keras(net: Any, x: Any, weight: Array, bias: Array, strides: Any, pads: Any, output_padding: Any,
                  dilations: Any, groups: int) -> Any:  # fmt: skip
    if any(map(sum, pads)) or any(output_padding) or groups > 1:
        return None
    return net.layer(
        f"Conv{len(strides)}DTranspose", x, weights={"": [_last(weight), bias]}, filters=weight.shape[1],
        kernel_size=list(weight.shape[2:]), strides=strides, padding="valid", output_padding=None,
        data_format="channels_last", dilation_rate=dilations, activation="linear", use_bias=True,
    )  # fmt: skip


def _deconv_tensorflow(net: Any, x: Any, weight: Array, bias: Array, strides: Any, pads: Any, output_padding: Any,
                       dilations: Any, groups: int) -> Any:  # fmt: skip
    rank = len(strides)
    if not _plain(pads, output_padding, dilations, groups) or rank == 1:
        return None
    op, layout = ("Conv2DBackpropInput", "NHWC") if rank == 2 else ("Conv3DBackpropInputV2", "NDHWC")
    sizes = net.const(net.expected[0].shape, "int32")
    result = net(op, sizes, net.const(_last(weight)), x, strides=[1, *strides, 1], padding="VALID", data_format=layout,
                 T="float32")  # fmt: skip
    return net("BiasAdd", result, net.const(bias), data_format="NHWC", T="float32")


def _deconv_tflite(net: Any, x: Any, weight: Array, bias: Array, strides: Any, pads: Any, output_padding: Any,
                   dilations: Any, groups: int) -> Any:  # fmt: skip
    rank = len(strides)
    if not _plain(pads, output_padding, dilations, groups) or rank == 1:
        return None
    shape = net.const(net.expected[0].shape, "int32")
    if rank == 3:
        return net("CONV_3D_TRANSPOSE", shape, net.const(weight.transpose(2, 3, 4, 1, 0)), x, net.const(bias),
                   options="Conv3DOptions", padding=1, strideD=strides[0], strideH=strides[1], strideW=strides[2],
                   dtypes="float32")  # fmt: skip
    return net("TRANSPOSE_CONV", shape, net.const(weight.transpose(1, 2, 3, 0)), x, net.const(bias), padding=1,
               strideH=strides[0], strideW=strides[1], dtypes="float32")  # fmt: skip


def _deconv_stablehlo(net: Any, x: Any, weight: Array, bias: Array, strides: Any, pads: Any, output_padding: Any,
                      dilations: Any, groups: int) -> Any:  # fmt: skip
    if groups > 1:
        return None
    turned = np.ascontiguousarray(np.flip(weight, tuple(range(2, weight.ndim))).swapaxes(0, 1))
    edges = [
        ((extent - 1) * dilation - before, (extent - 1) * dilation - behind + more)
        for extent, dilation, (before, behind), more in zip(
            weight.shape[2:], dilations, pads, output_padding, strict=True
        )
    ]
    return _hlo_convolution(net, x, turned, bias, [1] * len(strides), edges, dilations, strides, 1)


# Transposed convolutions of SAME.


def _same_deconv(x: Array, weight: Array, bias: Array, strides: Sequence[int]) -> Array:
    """Return stride times as many results, of which the padding of the convolution back decides."""
    pads: list[tuple[int, int]] = []
    more: list[int] = []
    for extent, stride in zip(weight.shape[2:], strides, strict=True):
        total = max(extent - stride, 0)
        pads.append((total // 2, total - total // 2))
        more.append(max(stride - extent, 0))
    return transposed_convolution(x, weight, bias, strides, pads, more, [1] * len(strides), 1)


_SAME_DECONVS = [
    Case(label, [_random(2, 4, 4, 5)], {"strides": strides}, [_random(4, 3, *kernel), _random(3)])
    for label, kernel, strides in [
        ("kernel over stride", [3, 4], [2, 2]), ("odd rest", [4, 5], [1, 2]), ("stride over kernel", [2, 2], [3, 3]),
    ]
]  # fmt: skip

TABLE = [
    Meaning("conv", convolution, _CONVS, {
        "torch core": _conv_core, "onnx": _conv_onnx, "tflite": _conv_tflite, "torch": _conv_torch,
            "keras": _conv_keras,
        "tensorflow": _conv_tensorflow, "stablehlo": _conv_stablehlo}, lost=20.0, channels_last=LAST,
        note="of uneven SAME the odd element is behind; before in SAME_LOWER"),
    Meaning("conv_transpose", transposed_convolution, _DECONVS, {
        "torch core": _deconv_core, "onnx": _deconv_onnx, "tflite": _deconv_tflite, "torch": _deconv_torch,
            "keras": _deconv_keras,
        "tensorflow": _deconv_tensorflow, "stablehlo": _deconv_stablehlo}, lost=20.0, channels_last=LAST),
    Meaning("conv_transpose_same", _same_deconv, _SAME_DECONVS, {
        "onnx": lambda net, x, weight, bias, strides: net(
            "ConvTranspose", x, net.const(weight), net.const(bias), strides=strides, auto_pad="SAME_UPPER"),
        "tflite": lambda net, x, weight, bias, strides: net(
            "TRANSPOSE_CONV", net.const(net.expected[0].shape, "int32"), net.const(weight.transpose(1, 2, 3, 0)), x,
            net.const(bias), padding=0, strideH=strides[0], strideW=strides[1], dtypes="float32"),
        "keras": lambda net, x, weight, bias, strides: net.layer(
            "Conv2DTranspose", x, weights={"": [_last(weight), bias]}, filters=weight.shape[1],
            kernel_size=list(weight.shape[2:]), strides=strides, padding="same", output_padding=None,
            data_format="channels_last", dilation_rate=[1, 1], activation="linear", use_bias=True),
        "tensorflow": lambda net, x, weight, bias, strides: net("BiasAdd", net(
            "Conv2DBackpropInput", net.const(net.expected[0].shape, "int32"), net.const(_last(weight)), x,
            strides=[1, *strides, 1], padding="SAME", data_format="NHWC", T="float32"),
            net.const(bias), data_format="NHWC", T="float32")}, lost=20.0, channels_last=LAST),
]  # fmt: skip
