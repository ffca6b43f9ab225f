"""Quantise a float module after training: `relay.quantize.quantize(mod, params, dataset)`, by TVM's names.

Convolutions, dense layers and products of batches compute on int8 by the operators and kernels of quantised networks
(docs/quantisation.md); all else stays on floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

from whence import transform
from whence.compiler.compile import compile as compile_model
from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.matmul import BatchMatmulOp
from whence.dialects.relay.operator import Operator
from whence.passes.relay.quantized_products import Products
from whence.relay.binding import bind_params_by_name
from whence.relay.calibration import return_values
from whence.relay.module import IRModule
from whence.relay.quantize.scales import Magnitudes, weight_steps
from whence.runtime.values.values import expected_array
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation

_MODES = ("global_scale", "kl_divergence", "percentile")
_WEIGHTS = ("power2", "max")
_FIXED = {
    "nbit_input": 8,
    "nbit_activation": 32,
    "dtype_input": "int8",
    "dtype_weight": "int8",
    "dtype_activation": "int32",
    "partition_conversions": "disabled",
    "do_simulation": False,
}
"""Options of TVM's that have one value here: data are int8, sums int32, and `@main` keeps its types."""


@dataclass(frozen=True)
class QConfig:
    """The choices of a quantisation, a context within which `quantize` makes them.

    Raises PipelineError for another value than those listed.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    """2 to 8: fewer bits use a smaller range of int8."""
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    calibrate_mode: str = "global_scale"
    """"global_scale", "kl_divergence" or "percentile"; the last two need a data set."""
    global_scale: float = 8.0
    """The magnitude that 128 stands for, in every tensor."""
    weight_scale: str = "power2"
    """"power2" or "max". Each output channel has its own scale, if it is axis 0 of the weight."""
    skip_dense_layer: bool = True
    skip_conv_layers: Sequence[int] | None = field(default_factory=lambda: [0])
    """The numbers of convolutions that stay on floats, in order."""
    do_simulation: bool = False
    round_for_shift: bool = True
    """Without effect: results are rounded when they are requantised."""
    calibrate_chunk_by: int = -1
    """Without effect: the memory of a calibration does not grow with the samples."""
    rounding: str = "UPWARD"
    """Without effect: halves are rounded to even."""
    partition_conversions: str = "disabled"
    _tokens: list[Token[QConfig | None]] = field(default_factory=lambda: [], repr=False, compare=False)

    def __post_init__(self) -> None:
        allowed: dict[str, Sequence[object]] = {name: (value,) for name, value in _FIXED.items()}
        allowed |= {"calibrate_mode": _MODES, "weight_scale": _WEIGHTS, "nbit_weight": range(2, 9)}
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                expected = f"{name} among {', '.join(map(str, values))}"
                raise PipelineError(expectation("qconfig", expected, repr(getattr(self, name))))
        if not self.global_scale > 0:
            raise PipelineError(expectation("qconfig", "a global_scale above 0", str(self.global_scale)))

    def __enter__(self) -> QConfig:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _current.reset(self._tokens.pop())


_LEAST = 1e-30
"""The magnitude of a tensor of zeros."""
_current: ContextVar[QConfig | None] = ContextVar("qconfig", default=None)


def current_qconfig() -> QConfig:
    """Return the configuration of the innermost `with qconfig(..)`, else the default."""
    return _current.get() or QConfig()


@door()
def qconfig(**kwargs: Any) -> QConfig:
    """Return a configuration; see `QConfig`. Raises PipelineError for an unknown option."""
    names = [entry.name for entry in fields(QConfig) if not entry.name.startswith("_")]
    if unknown := [name for name in kwargs if name not in names]:
        raise PipelineError(expectation("qconfig", f"options among {', '.join(names)}", unknown[0]))
    return QConfig(**kwargs)


def prerequisite_optimize(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """Return the module with values for params, without operators of training, constants and scales folded."""
    if params:
        mod = mod.shallow_copy()
        mod["main"] = bind_params_by_name(mod["main"], params)
    steps = ("SimplifyInference", "FoldConstant", "FoldScaleAxis", "CanonicalizeOps", "FoldConstant")
    return transform.Sequential([getattr(transform, name)() for name in steps])(mod)


@door()
def quantize(mod: IRModule, params: Mapping[str, Any] | None = None, dataset: Any = None) -> IRModule:
    """Return a module whose products compute on int8, by the configuration of `with qconfig(..)`.

    params: values (float32) of inputs of `@main` by name, which become constants. dataset: samples for "kl_divergence"
    and "percentile", each input name -> array. Inputs and outputs of `@main` keep their types.

    Raises PipelineError for a mode that needs a data set without one, and for a sample without an input.
    """
    config = current_qconfig()
    result = prerequisite_optimize(mod, params)
    result = result.holding(result.module.clone())
    products = Products(_main(result.module), config.skip_conv_layers or (), config.skip_dense_layer)
    sources = products.sources()
    names = [param.name_hint for param in result["main"].params]
    if config.calibrate_mode == "global_scale":
        scales = dict.fromkeys(sources, config.global_scale / 128)
    else:
        scales = _calibrated(result.module, names, sources, config.calibrate_mode, dataset)
    weights: dict[Operator, tuple[Array, Array]] = {}
    for op in products.ops:
        if (weight := products.weight(op)) is not None:
            layout = cast("StringAttr", op.properties.get("kernel_layout", _ROWS))
            rows = not isinstance(op, BatchMatmulOp) and layout.data.startswith("O")
            weights[op] = weight_steps(weight, config.weight_scale, config.nbit_weight, rows)
    products.quantize(scales, weights)
    return transform.FakeQuantizationToInteger()(result)


_ROWS = StringAttr("OI")
"""The layout of the weight of a dense layer, which states none."""


def _calibrated(
    module: ModuleOp, names: Sequence[str], sources: Sequence[SSAValue], mode: str, dataset: Any
) -> dict[SSAValue, float]:
    """The scale of each source by its magnitudes in all samples. They are computed twice rather than kept."""
    samples = list(cast("Iterable[Mapping[str, Any]]", dataset)) if dataset is not None else []
    if not samples:
        raise PipelineError(expectation("quantize", f"a dataset of samples for calibrate_mode {mode}", "none"))
    if not sources:
        return {}
    copies: dict[SSAValue, SSAValue] = {}
    copy = module.clone(copies)
    main = _main(copy)
    return_values(main, [copies[source] for source in sources])
    run = compile_model(copy)
    seen = [Magnitudes() for _ in sources]
    for see in (Magnitudes.widen, Magnitudes.count):
        for number, sample in enumerate(samples):
            if missing := [name for name in names if name not in sample]:
                raise PipelineError(expectation("quantize", f"input {missing[0]} in sample {number}", "none"))
            found = run(*(expected_array(f"input '{name}'", sample[name]) for name in names))
            for each, values in zip(seen, found if isinstance(found, list | tuple) else [found], strict=True):
                see(each, np.asarray(values))
    limit = Magnitudes.percentile if mode == "percentile" else partial(Magnitudes.least_divergence, levels=128)
    return {source: max(limit(each), _LEAST) / 127 for source, each in zip(sources, seen, strict=True)}


def _main(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
