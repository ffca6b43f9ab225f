"""Statistics of the values of layers in one run, beside a reference where there is one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from hashlib import sha256

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr

from ...dialects.relay.canonicalization.constant_operands import constant_value
from ...dialects.relay.qnn import DequantizeOp, QuantizeOp
from ...planning.artifact import Artifact
from ...runtime.program.executor import Runner
from ...runtime.program.threads import ThreadPool
from ...runtime.values.moves import moved
from ...support.dtypes import Array
from ..difference import RTOL, difference, is_quantised, tolerance
from ..layers import functions
from ..references import References
from ..results import last_values
from ..value_walk import Walked, walk_values
from .builder import Builder
from .document import BINS, SAMPLE, Tensors


def add_tensors(
    builder: Builder,
    artifact: Artifact,
    program: int,
    runner: Runner,
    pool: ThreadPool,
    inputs: Mapping[str, Array],
    references: References | None = None,
) -> None:
    """Run a program once more, call by call, and append what its layers give, in the order in which they give it.

    Of a layer whose value is in no memory, as the kernel goes on with it, there is none. Errors as `Runner.walk`.
    """
    steps = _steps(artifact)
    tensors = Tensors(program, _digest(inputs), references.source if references is not None else "")

    def visit(value: Walked) -> None:
        if value.array.dtype.kind not in "biuf" and value.array.dtype.names is None and value.array.dtype.hasobject:
            return
        expected = _expected(value, references)
        array = np.array(moved(value.array, value.move))
        tensors.layer.append(builder.layer(value.layer.leaf))
        tensors.name.append(_name(value, references))
        tensors.dtype.append(array.dtype.name)
        tensors.shape.append(list(array.shape))
        _describe(tensors, array)
        step = 1.0 if is_quantised(array) else steps.get(value.layer.leaf, 0.0) if not value.output else 0.0
        error = allowed = -1.0
        if expected is not None and expected.shape == array.shape:
            gap = difference(array, expected, step=True)
            error, allowed = min(gap.error, sys.float_info.max), tolerance(expected, gap.scale, step=True)
            # A step of floats is not exactly the scale.
            allowed = max(allowed, step * (1 + RTOL)) if not is_quantised(array) else allowed
        tensors.error.append(error)
        tensors.tolerance.append(allowed)
        tensors.step.append(step)

    walk_values(artifact, runner, pool, inputs, visit)
    builder.session.tensors.append(tensors)


def _steps(artifact: Artifact) -> dict[LocationAttr, float]:
    """Leaf of a layer -> the scale of the quantised numbers that its floats were made of, or are made to next."""
    steps: dict[LocationAttr, float] = {}
    if not artifact.snapshots:
        return steps
    module = artifact.snapshots[0].module
    for leaf, op in last_values(functions(module)["main"]).items():
        readers = [use.operation for use in op.results[0].uses]
        scales = [reader.output_scale for reader in readers if isinstance(reader, QuantizeOp)]
        scales = [op.input_scale] if isinstance(op, DequantizeOp) else scales
        arrays = [constant_value(scale, module) for scale in scales]
        if known := [float(array.item()) for array in arrays if array is not None and array.size == 1]:
            steps[leaf] = max(known)
    return steps


def first_departure(tensors: Tensors) -> int:
    """Return the first row whose error is more than is allowed; -1 for none."""
    rows = enumerate(zip(tensors.error, tensors.tolerance, strict=True))
    return next((row for row, (error, tolerance) in rows if error > tolerance >= 0), -1)


def _digest(inputs: Mapping[str, Array]) -> str:
    """The hash of a run's inputs: sessions of other inputs have other values."""
    digest = sha256()
    for name, array in sorted(inputs.items()):
        digest.update(f"{name} {array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _name(value: Walked, references: References | None) -> str:
    """The reference's name of a value, else the layer's."""
    names = references.layers.get(value.layer.name, ()) if references is not None else ()
    return names[value.output] if value.output < len(names) else value.layer.name


def _expected(value: Walked, references: References | None) -> Array | None:
    array = references.tensors.get(_name(value, references)) if references is not None else None
    return array if array is not None and array.size == value.array.size else None


def _describe(tensors: Tensors, array: Array) -> None:
    """Append the statistics of an array: of its finite numbers, and how many others there are."""
    values: npt.NDArray[np.float64] = array.astype(np.float64).ravel()
    nan, finite = np.isnan(values), values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    tensors.minimum.append(low)
    tensors.maximum.append(high)
    # Halves, as a sum of large numbers may be none.
    mean = 2.0 * float(np.mean(finite * 0.5)) if finite.size else 0.0
    tensors.mean.append(mean if np.isfinite(mean) else 0.0)
    tensors.nan.append(int(nan.sum()))
    tensors.infinite.append(values.size - finite.size - int(nan.sum()))
    width = high * 0.5 - low * 0.5
    bins = np.minimum(((finite * 0.5 - low * 0.5) / (width or 1.0) * BINS).astype(np.int64), BINS - 1)
    tensors.histogram.append(np.bincount(bins, minlength=BINS).tolist())
    at = np.unique(np.linspace(0, values.size - 1, SAMPLE).astype(np.int64)) if values.size else slice(0)
    tensors.sample.append(np.nan_to_num(values[at], nan=0.0, posinf=0.0, neginf=0.0).tolist())
