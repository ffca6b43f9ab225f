"""The node tests of the installed onnx package: models with inputs and outputs, and the check of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NamedTuple, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Compile = Callable[..., Any]


class Case(NamedTuple):
    """One case of the standard."""

    name: str
    model: onnx.ModelProto
    sets: list[tuple[list[Any], list[Any]]]
    """Inputs and outputs: arrays, lists of them, or None."""
    rtol: float
    atol: float

    @property
    def operator(self) -> str:
        """What it is about: its one node, else the first."""
        return self.model.graph.node[0].op_type


REASONS = {
    r"test_(adam|adagrad|momentum|gradient|nesterov)": "training",
    r"test_(training_dropout|bernoulli)": "random numbers, whose generator the standard leaves open",
    r"test_attention_.*_qk_matmul_(bias|softcap)(_[34]d_mask)?(_causal)?$": "corrected after onnx 1.19: softcap comes"
    " before the bias, modes 1 and 2 of qk_matmul_output are exchanged, and keys of the past are never masked as later",
    r"test_attention_.*_bf16": "bfloat16, where the order of sums decides more than the suite's tolerance",
    r"test_l2normalization_axis_0": "0 / 0, which later versions of the standard and onnxruntime make 0",
    r"test_qlinearmatmul_.*_int8_": "numbers of onnx 1.19 that wrap, corrected since to saturated ones",
    r"test_dft_inverse": "numbers near 0, which the suite has in float32's noise",
}
"""What a test that need not pass is about, by its name."""


_IMAGES = "Pillow, by which the reference evaluator reads files of images, is not installed"


def reason(name: str) -> str:
    if name.startswith("test_image_decoder") and find_spec("PIL") is None:
        return _IMAGES
    return next((text for pattern, text in REASONS.items() if re.search(pattern, name)), "")


def modules() -> list[str]:
    """The names of the modules that make the cases, one for most operators."""
    package = import_module("onnx.backend.test.case.node")
    return [one.name for one in walk_packages(package.__path__, f"{package.__name__}.") if not one.ispkg]


def cases(names: Sequence[str] | None = None) -> Iterator[Case]:
    """The cases of some modules, by default of all; those of the simple and light kinds are not among them."""
    package: Any = import_module("onnx.backend.test.case.node")
    for name in modules() if names is None else names:
        before = len(package._NodeTestCases)
        import_module(name)
        made = package._NodeTestCases[before:]
        yield from map(_case, made)


def stored(folder: Path) -> Iterator[Case]:
    """The cases that older versions of the package keep in a folder as files."""
    for path in sorted(folder.iterdir()):
        model = onnx.ModelProto.FromString((path / "model.onnx").read_bytes())
        sets: list[tuple[list[Any], list[Any]]] = []
        for data in sorted(path.glob("test_data_set_*")):
            kinds = (("input", model.graph.input), ("output", model.graph.output))
            inputs, outputs = (
                [_read(data / f"{what}_{at}.pb", value.type) for at, value in enumerate(values)]
                for what, values in kinds
            )
            sets.append((inputs, outputs))
        yield Case(path.name, model, sets, 1e-3, 1e-7)


def _case(case: Any) -> Case:
    sets = [([_value(x) for x in inputs], [_value(x) for x in outputs]) for inputs, outputs in case.data_sets]
    return Case(case.name, case.model, sets, case.rtol, case.atol)


def _value(given: Any) -> Any:
    match given:
        case onnx.TensorProto():
            return numpy_helper.to_array(given)
        case onnx.SequenceProto():
            return numpy_helper.to_list(given)
        case onnx.OptionalProto():
            return numpy_helper.to_optional(given)
        case _:
            return [_value(one) for one in cast("list[Any]", given)] if isinstance(given, list) else given


def _read(path: Path, type_: onnx.TypeProto) -> Any:
    data = path.read_bytes()
    if type_.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if type_.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def check(case: Case, compile_model: Compile) -> None:
    """Compile the model of a case and compare what it gives; raises what goes wrong.

    Random results are not compared, only their shapes and dtypes: the standard fixes no generator.
    """
    # The one operator of the standard without a row.
    options = {"fallback": "reference"} if case.operator == "ImageDecoder" else {}
    executable = compile_model(case.model, **options)
    for inputs, outputs in case.sets:
        found = executable(*inputs)
        results = cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)
        assert len(results) == len(outputs), f"{len(results)} outputs, wanted {len(outputs)}"
        for result, wanted in zip(results, outputs, strict=True):
            _same(result, wanted, case)


def _same(found: Any, wanted: Any, case: Case) -> None:
    if wanted is None:
        assert found is None
        return
    if isinstance(wanted, list):
        assert isinstance(found, list)
        for one, other in zip(cast("list[Any]", found), cast("list[Any]", wanted), strict=True):
            _same(one, other, case)
        return
    result: NDArray[Any] = found
    wanted = np.asarray(wanted)
    text = f"{result.dtype}{list(result.shape)}, wanted {wanted.dtype}{list(wanted.shape)}"
    assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype), text
    if result.dtype.kind == "O":
        assert result.tolist() == wanted.tolist()
    elif result.dtype.kind in "biu":
        np.testing.assert_array_equal(result, wanted)
    elif not case.name.startswith("test_bernoulli"):
        wide = (result.astype(np.float64), wanted.astype(np.float64))
        np.testing.assert_allclose(*wide, rtol=case.rtol, atol=max(case.atol, _step(wanted)))


def _step(wanted: NDArray[Any]) -> float:
    """The last digit of the largest of float16 numbers: the standard computes these in float16, as numpy does here.

    That rounds after every operator, and with other functions where numpy has some for the processor.
    """
    finite = wanted[np.isfinite(wanted)] if wanted.dtype == np.float16 else wanted.reshape(-1)[:0]
    return float(np.spacing(np.abs(finite).max())) if finite.size else 0.0
