"""Mathematics beside onnxruntime, both on one thread: activations, logic, reductions, sums along axes, normalisations.

    python benchmarks/mathematics.py [WORD ...]

Prints rows as `operators.py` does, for operators and dtypes that it has none for: median microseconds of a call of
Whence and of onnxruntime, called in turn in one process, and theirs / ours. More than 1 is faster than onnxruntime.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from operators import medians, onnxruntime_call

import whence

Array = NDArray[Any]


class Case(NamedTuple):
    """One node; its inputs from `known` on are initializers."""

    name: str
    op: str
    inputs: Sequence[Array]
    known: int = 99
    opset: int = 20
    domain: str = ""
    attributes: dict[str, Any] = {}

    def model(self) -> onnx.ModelProto:
        names = [f"x{i}" for i in range(len(self.inputs))]
        values = dict(zip(names, self.inputs, strict=True))
        free, fixed = names[: self.known], names[self.known :]
        graph = helper.make_graph(
            [helper.make_node(self.op, names, ["y"], domain=self.domain, **self.attributes)],
            "operator",
            [
                helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(values[n].dtype), values[n].shape)
                for n in free
            ],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
            [numpy_helper.from_array(values[n], n) for n in fixed],
        )
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def _random(*shape: int, dtype: str = "float32") -> Array:
    return (np.random.default_rng(0).standard_normal(shape) * 8).astype(dtype)


BIG = (128, 3072)
LARGE = (64, 128, 64)


def _elementwise() -> Iterator[Case]:
    for op in ("Gelu", "Mish", "Softplus", "Elu", "Selu", "HardSwish", "HardSigmoid", "Softsign", "Reciprocal"):
        yield Case(f"{op.lower()} 128x3072", op, [_random(*BIG)])
    yield Case("gelu tanh 128x3072", "Gelu", [_random(*BIG)], attributes={"approximate": "tanh"})
    for op in ("FastGelu", "QuickGelu"):
        yield Case(f"{op.lower()} 128x3072", op, [_random(*BIG)], domain="com.microsoft")
    yield Case("prelu 1x64x56x56", "PRelu", [_random(1, 64, 56, 56), _random(64, 1, 1)], known=1)
    yield Case("where 128x3072", "Where", [_random(*BIG) > 0, _random(*BIG), _random(*BIG)])
    yield Case("where 12x128x128 by 1x128x128", "Where",
               [_random(1, 128, 128) > 0, _random(12, 128, 128), np.array(-1e9, np.float32)])  # fmt: skip
    for dtype in ("int32", "int64", "uint8"):
        numbers, divisors = _random(*BIG, dtype=dtype), np.full(BIG, 7, dtype)
        yield Case(f"mod {dtype} 128x3072", "Mod", [numbers, divisors])
        yield Case(f"div {dtype} 128x3072", "Div", [numbers, divisors])
    yield Case("fmod float32 128x3072", "Mod", [_random(*BIG), _random(*BIG)], attributes={"fmod": 1})
    yield Case("and 128x3072", "And", [_random(*BIG) > 0, _random(*BIG) < 0])
    yield Case("less_equal 128x3072", "LessOrEqual", [_random(*BIG), _random(*BIG)])
    for source, target in (("float32", 3), ("float32", 7), ("int64", 1), ("uint8", 1), ("float32", 10), ("bool", 1)):
        yield Case(f"cast {source} to {target} 128x3072", "Cast", [_random(*BIG, dtype=source)],
                   attributes={"to": target})  # fmt: skip


def _reductions() -> Iterator[Case]:
    for axis in (0, 1, 2):
        axes = [np.array([axis])]
        for op in ("ReduceSum", "ReduceMax", "ReduceProd", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"):
            yield Case(f"{op.lower()} 64x128x64 axis {axis}", op, [_random(*LARGE) / 8, *axes], known=1)
        for op in ("ArgMax", "ArgMin"):
            yield Case(f"{op.lower()} 64x128x64 axis {axis}", op, [_random(*LARGE)], attributes={"axis": axis})
        for dtype in ("float32", "int64"):
            yield Case(f"cumsum {dtype} 64x128x64 axis {axis}", "CumSum",
                       [_random(*LARGE, dtype=dtype), np.array(axis)], known=1)  # fmt: skip
    yield Case("argmax 1x30522", "ArgMax", [_random(1, 30522)], attributes={"axis": 1})
    yield Case("argmax 32x1000", "ArgMax", [_random(32, 1000)], attributes={"axis": 1})
    yield Case("reducesum int64 64x128x64 axis 1", "ReduceSum", [_random(*LARGE, dtype="int64"), np.array([1])], 1)
    yield Case("reducemean 1x64x56x56 axes 2, 3", "ReduceMean", [_random(1, 64, 56, 56), np.array([2, 3])], 1)
    yield Case("reducemean 64x128x64 all", "ReduceMean", [_random(*LARGE)])
    yield Case("hardmax 64x1000", "Hardmax", [_random(64, 1000)])


def _normalisations() -> Iterator[Case]:
    row = [_random(768), _random(768)]
    yield Case("layer_norm 128x768", "LayerNormalization", [_random(128, 768), *row], 1)
    yield Case("rms_norm 128x768", "SimplifiedLayerNormalization", [_random(128, 768), row[0]], 1)
    yield Case("skip_layer_norm 128x768", "SkipLayerNormalization",
               [_random(1, 128, 768), _random(1, 128, 768), *row], 2, domain="com.microsoft")  # fmt: skip
    image, channels = _random(1, 64, 56, 56), [_random(64), _random(64)]
    yield Case("instance_norm 1x64x56x56", "InstanceNormalization", [image, *channels], 1)
    yield Case("instance_norm 1x32x256x256", "InstanceNormalization", [_random(1, 32, 256, 256), *(c[:32] for c in channels)], 1)  # fmt: skip  # noqa: E501
    yield Case("group_norm 1x64x56x56 of 32", "GroupNormalization", [image, *channels], 1, 21, attributes={"num_groups": 32})  # fmt: skip  # noqa: E501
    yield Case("lp_norm 128x768", "LpNormalization", [_random(128, 768)], opset=22)
    yield Case("lrn 1x64x56x56", "LRN", [image], attributes={"size": 5})
    yield Case("mean_variance_norm 1x64x56x56", "MeanVarianceNormalization", [image])


def _others() -> Iterator[Case]:
    query = _random(1, 128, 12, 64)
    yield Case("einsum bqhd,bkhd->bhqk", "Einsum", [query, query], attributes={"equation": "bqhd,bkhd->bhqk"})
    yield Case("einsum bsd,df->bsf", "Einsum", [_random(1, 128, 768), _random(768, 768)], 1,
               attributes={"equation": "bsd,df->bsf"})  # fmt: skip
    yield Case("trilu 12x128x128", "Trilu", [_random(12, 128, 128)])
    yield Case("det 256x4x4", "Det", [_random(256, 4, 4)])
    yield Case("random_normal 128x3072", "RandomNormalLike", [_random(*BIG)])
    yield Case("random_uniform 128x3072", "RandomUniformLike", [_random(*BIG)])
    labels = np.zeros((64,), np.int64)
    yield Case("softmax cross entropy 64x1000", "SoftmaxCrossEntropyLoss", [_random(64, 1000), labels])


CASES = [case for family in (_elementwise, _reductions, _normalisations, _others) for case in family()]


def measured(case: Case) -> tuple[float, float]:
    """Median seconds of ours and of theirs."""
    model = case.model()
    ours = whence.compile(model, threads=1)
    for output in model.graph.output:
        output.ClearField("type")
    arrays = list(case.inputs[: case.known])
    theirs = onnxruntime_call(model, {f"x{i}": array for i, array in enumerate(arrays)})
    mine, them = medians([lambda: ours(*arrays), theirs])
    return mine, them


def main() -> None:
    words = sys.argv[1:]
    print(f"{'':44} {'whence us':>10} {'ort us':>10} {'ort/whence':>10}")
    for case in CASES:
        if words and not any(word in case.name for word in words):
            continue
        mine, theirs = measured(case)
        print(f"{case.name:44} {mine * 1e6:10.1f} {theirs * 1e6:10.1f} {theirs / mine:10.2f}", flush=True)


if __name__ == "__main__":
    main()
