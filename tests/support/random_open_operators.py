"""Models of one operator, the standard's node tests with open dimensions, called at sizes that they need not take.

    python tests/support/random_open_operators.py [REGEX] [--cases 1000] [--seed 0] [--jobs 2] [--limit 60] [--refused]

Case k is a test of module k of the standard's, of those whose name REGEX finds, with some dimensions open, each with a
name of its own or equal ones sharing one; integers of few elements are initializers or inputs. It is compiled once and
called at the test's sizes and at others: 0, 1, less, more, not divisible, inputs that do not fit each other. Each call
ends with one WhenceError, or with what onnxruntime gives, which runs in a process of its own; where that has no answer,
or another one, with what the standard's reference gives. Results without elements are right. All buffers lie at the end
of pages before one that nobody may touch, so that a read of foreign memory is a crash. The exit code is 1 when there is
anything else. `--refused` prints errors where onnxruntime has an answer.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast

import numpy as np
import onnx
import onnx.printer
import seed_workers
from fenced_pages import Array, Pages
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime_worker import judge
from random_open_models import difference
from seed_workers import Difference
from standard_cases import Case, cases, modules, reason

import whence
from whence.support.errors import WhenceError

Sizes = Mapping[str, int]
_IR_VERSION, _OPSET = 10, 26
_CALLS = 8
_FEW = 8
_LEFT_OUT = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}


@cache
def _tried(module: str) -> tuple[Case, ...]:
    """The tests of a module that are one node of tensors."""
    return tuple(case for case in cases([module]) if _is_tried(case))


def _is_tried(case: Case) -> bool:
    graph = case.model.graph
    inputs: list[Any] = case.sets[0][0] if case.sets else []
    return (
        len(graph.node) == 1
        and not any(attribute.HasField("g") for attribute in graph.node[0].attribute)
        and graph.node[0].op_type not in _LEFT_OUT
        and not reason(case.name)
        and not any(node.domain for node in graph.node)
        and bool(inputs)
        and all(isinstance(x, np.ndarray) and cast(Array, x).dtype.kind in "fiub" for x in inputs)
        and all(value.type.HasField("tensor_type") for value in (*graph.input, *graph.output))
    )


@dataclass
class Open:
    """A test with open dimensions."""

    model: onnx.ModelProto
    arrays: dict[str, Array]
    """What the test gives, of inputs that are left."""
    named: dict[str, tuple[str | int, ...]]
    """Their dimensions, open ones by name."""

    def at(self, sizes: Sizes, dice: random.Random) -> dict[str, Array]:
        """Arrays of other sizes: the test's own elements in another order, again and again."""
        made: dict[str, Array] = {}
        for name, array in self.arrays.items():
            shape = tuple(n if isinstance(n, int) else sizes[n] for n in self.named[name])
            if shape == array.shape:
                made[name] = array
                continue
            values = array.reshape(-1).tolist()
            count = int(np.prod(shape, dtype=np.int64))
            flat = [dice.choice(values) for _ in range(count)] if values else [0] * count
            made[name] = np.array(flat, array.dtype).reshape(shape)
        return made


def opened(case: Case, dice: random.Random) -> Open:
    """A test, some of whose dimensions are open and some of whose inputs are initializers."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    # What newer ones may have besides, none of these has.
    model.ir_version = min(model.ir_version, _IR_VERSION)
    version = min(model.opset_import[0].version, _OPSET)
    if not onnx.defs.has(case.operator, version):
        version = onnx.defs.get_schema(case.operator, model.opset_import[0].version).since_version
    model.opset_import[0].version = version
    graph, shared = model.graph, dice.random() < 0.4
    arrays = {value.name: array for value, array in zip(graph.input, case.sets[0][0], strict=False)}
    kept: list[onnx.ValueInfoProto] = []
    named: dict[str, tuple[str | int, ...]] = {}
    for at, value in enumerate(graph.input):
        array = arrays[value.name]
        if at and array.size <= _FEW and array.ndim < 2 and (array.dtype.kind in "iub" or dice.random() < 0.3):
            if dice.random() < 0.8:
                graph.initializer.append(numpy_helper.from_array(array, value.name))
                del arrays[value.name]
                continue
        dims: list[str | int] = []
        for axis, extent in enumerate(array.shape):
            label = f"n{extent}" if shared else f"d{at}_{axis}"
            dims.append(label if dice.random() < 0.85 else extent)
        named[value.name] = tuple(dims)
        kept.append(helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, dims))
    del graph.input[:]
    graph.input.extend(kept)
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    return Open(model, arrays, named)


def sizes_tried(case: Open, dice: random.Random) -> Iterator[dict[str, int]]:
    """The test's own sizes, then others."""
    own = {
        name: extent
        for key, names in case.named.items()
        for name, extent in zip(names, case.arrays[key].shape, strict=True)
        if isinstance(name, str)
    }
    yield own
    for _ in range(_CALLS if own else 0):
        sizes = dict(own)
        for name in dice.sample(sorted(own), min(len(own), dice.choice((1, 1, 1, 2, 3)))):
            n = own[name]
            sizes[name] = dice.choice((0, 0, 1, 2, max(n - 1, 0), n + 1, n + 2, 2 * n, 3 * n, n // 2, 5, 7))
        yield sizes


@cache
def _judge() -> Any:
    return judge()


def _by_reference(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> list[Array] | None:
    """What the standard's own evaluator gives; None where it gives nothing."""
    try:
        with np.errstate(all="ignore"):
            evaluator: Any = ReferenceEvaluator(model)
            found: list[Any] = evaluator.run(None, dict(inputs))
    except Exception:  # whatever it raises is no answer
        return None
    return [np.asarray(array) for array in found]


def check(pattern: str, seed: int, refused: bool = False) -> set[str]:
    """Run one case; its operator. Raises Difference."""
    names, dice = [name for name in modules() if re.search(pattern, name)], random.Random(seed)
    if not (known := _tried(names[seed % len(names)])):
        return {"left out"}
    case = dice.choice(known)
    model = opened(case, dice)
    words = {case.operator}
    where = f"seed {seed} {case.name}"
    data, pages = model.model.SerializeToString(), Pages("end")
    trouble: list[str] = []
    with pages.everywhere():
        try:
            executable = whence.compile(model.model, threads=1, audit=True)
        except WhenceError as error:
            return words | {"not compiled", *([f"{where}: not compiled: {error}"] if refused else [])}
        first = True
        for sizes in sizes_tried(model, dice):
            given = model.at(sizes, dice)
            wanted = _judge()(data, given)
            if not isinstance(wanted, list) and first and _by_reference(model.model, given) is None:
                return words | {"without reference"}
            first = False
            text = _call(executable, model, given, wanted, words)
            if text:
                trouble.append(f"{sizes}: {text}")
            elif refused and "refused" in words:
                words.discard("refused")
                words.add(f"{where}: {sizes}: refused: {_LAST[0]}")
        pages.check()
    if trouble:
        lines = "\n  ".join(trouble)
        raise Difference(f"{where}\n  {lines}\n{onnx.printer.to_text(model.model)}")
    return words


_LAST = [""]


def _call(executable: Any, model: Open, given: dict[str, Array], wanted: Any, words: set[str]) -> str:
    """What is wrong with a call, or nothing."""
    try:
        found = executable.run({name: Pages("end").copy(array) for name, array in given.items()})
    except WhenceError as error:
        _LAST[0] = str(error)
        if isinstance(wanted, list):
            words.add("refused")
        return "" if "\n" not in str(error) else f"error of several lines: {error}"
    except Exception:
        return f"escapes: {traceback.format_exc(limit=-9)}"
    words.add("answered")
    text = _differs(found, wanted)
    if not text or not any(array.size for array in found.values()):
        return ""
    other = _differs(found, _by_reference(model.model, given))
    shown = {name: f"{a.dtype}{list(a.shape)}" for name, a in found.items()}
    return f"gives {shown}, onnxruntime: {text}, reference: {other}" if other else ""


def _differs(found: Mapping[str, Array], wanted: Any) -> str:
    """What is wrong with results for a reference's, or its error."""
    if not isinstance(wanted, list):
        return str(wanted)[-160:]
    pairs = zip(found.items(), map(_wide, cast("list[Array]", wanted)), strict=True)
    return "; ".join(f"{name}: {what}" for (name, mine), theirs in pairs if (what := difference(_wide(mine), theirs)))


def _wide(array: Array) -> Array:
    """Numbers that numpy compares."""
    return array if array.dtype.kind in "fiub" else array.astype(np.float32)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--refused", action="store_true")
    parser.set_defaults(limit=60.0)
    return seed_workers.main(
        parser, arguments, lambda options: partial(check, options.pattern, refused=options.refused)
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
