"""Nodes of the standard's own tests, with an attribute, an input or an element type changed, against onnxruntime.

    PYTHONPATH=src:tests/support python tests/support/mutated_onnx.py --draws 3000 [--seed 0] [--only REGEX]
        [--kind types]

What a node states changes the result as onnxruntime's does, or it is refused; an element type that the standard forbids
is refused. Where onnxruntime has no kernel, the onnx package's reference is the judge; its differences are told apart.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, cast

import ml_dtypes
import numpy as np
import onnx
from dropped_arguments import difference
from litert_worker import Judge
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, NodeProto, defs, helper
from onnxruntime_worker import judge
from standard_cases import Case, cases

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.importing.tensor import Undecided
from whence.frontends.onnx import from_onnx
from whence.support.errors import FrontendError

Array = NDArray[Any]
Attempt = Callable[[ModelProto, dict[str, Array]], list[Array]]
KINDS = ("types", "attributes", "inputs")
_NAMES = (
    "float32",
    "float64",
    "float16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)
DTYPES: tuple[np.dtype[Any], ...] = (*map(np.dtype, _NAMES), np.dtype(ml_dtypes.bfloat16))
_LEFT_OUT = re.compile(
    r"Random|Bernoulli|Multinomial|Dropout|ImageDecoder|Optional|Sequence|If|Loop|Scan|String|Tfidf|Regex|Constant$|Adam|"
    r"Adagrad|Momentum|Gradient|Label|Map"
)
"""Operators of random numbers, of bodies, of sequences and of texts."""


WRONG = ("wrong", "forbidden")
_NEWEST = 24
"""The opset of models whose operators it has: the newest that onnxruntime takes."""


KNOWN = {
    r"MaxUnpool test_maxunpool_export_with_output_shape": "onnxruntime takes indices for those of the larger output",
    r"MeanVarianceNormalization .*axes=": "onnxruntime divides 0 by 0, where the standard adds 1e-9",
    r"NegativeLogLikelihoodLoss .*ignore_index=": "classes below 0 are then no classes, which only a call checks",
    r"Shrink .* as uint": "numbers below 0 of a type without a sign",
    r"RMSNormalization .* as ": "the standard's operator has types that its own body has not",
}
"""Where we differ from onnxruntime, and why."""


@dataclass(frozen=True)
class Outcome:
    operator: str
    change: str
    verdict: str
    """`right`, `refused` by both, `told` (refused by us alone), `alone` (computed by us alone), `undecided`, `known`,
    `wrong`, `forbidden`, or `differs` from the reference, which is no judge of numbers that only it computes."""
    detail: str = ""


@cache
def nodes(modules: tuple[str, ...] = ()) -> dict[str, list[Case]]:
    """The cases of one node, of arrays only, by operator; of all modules, or of some that nothing imported before."""
    found: defaultdict[str, list[Case]] = defaultdict(list)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        every = list(cases(modules or None))
    for case in every:
        graph = case.model.graph
        arrays: list[Any] = [value for inputs, _ in case.sets for value in inputs]
        plain = all(isinstance(array, np.ndarray) and cast(Array, array).dtype != np.object_ for array in arrays)
        if len(graph.node) == 1 and plain and case.sets and not _LEFT_OUT.search(case.operator):
            if sum(array.size for array in arrays) < 1 << 14:
                found[case.operator].append(case)
    return dict(found)


def _stated(alike: Sequence[Case], name: str) -> list[Any]:
    """The values that cases have for an attribute."""
    values: list[Any] = []
    for case in alike:
        for attribute in case.model.graph.node[0].attribute:
            value = helper.get_attribute_value(attribute)
            if attribute.name == name and value not in values:
                values.append(value)
    return values


def _drawn_value(dice: random.Random, stated: Sequence[Any], kind: defs.OpSchema.AttrType) -> Any:
    kinds = defs.OpSchema.AttrType
    if stated and dice.random() < 0.5:
        return dice.choice(stated)
    if kind == kinds.INT:
        return dice.randint(-2, 4)
    if kind == kinds.FLOAT:
        return float(np.float32(dice.uniform(-1, 3)))
    if kind == kinds.INTS:
        length = len(dice.choice(stated)) if stated else dice.randint(1, 4)
        return [dice.randint(0, 3) for _ in range(length)]
    if kind == kinds.FLOATS and stated:
        return [dice.uniform(0, 2) for _ in stated[0]]
    return dice.choice(stated) if stated else None


def _schema(node: NodeProto, model: ModelProto) -> defs.OpSchema:
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    return defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)


def mutated(
    dice: random.Random, case: Case, kind: str, alike: Sequence[Case]
) -> tuple[ModelProto, dict[str, Array], str] | None:
    """A model, its inputs, and what was changed; None where there is nothing to change.

    alike: cases whose attributes may have what is drawn.
    """
    model = ModelProto()
    model.CopyFrom(case.model)
    (node,) = model.graph.node
    schema = _schema(node, model)
    feeds = dict(zip((value.name for value in model.graph.input), case.sets[0][0], strict=True))
    if kind == "attributes":
        if not schema.attributes:
            return None
        name = dice.choice(sorted(schema.attributes))
        value = _drawn_value(dice, _stated(alike, name), schema.attributes[name].type)
        if value is None:
            return None
        kept = [attribute for attribute in node.attribute if attribute.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])
        change = f"{name}={value}"
    elif kind == "inputs":
        optional = [
            at for at, name in enumerate(node.input) if name and at < len(schema.inputs) and _may_go(schema, at)
        ]
        if not optional:
            return None
        at = dice.choice(optional)
        change, gone = f"without {schema.inputs[at].name}", node.input[at]
        node.input[at] = ""
        if gone not in node.input:
            feeds.pop(gone, None)
    else:
        change = _retyped(dice, node, schema, feeds)
    del model.graph.input[:]
    for name, array in feeds.items():
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        model.graph.input.append(helper.make_tensor_value_info(name, dtype, array.shape))
    for output in model.graph.output:
        output.ClearField("type")
    del model.graph.value_info[:]
    for entry in model.opset_import:
        if not entry.domain and schema.since_version <= _NEWEST:
            entry.version = min(entry.version, _NEWEST)
    return model, feeds, change


def _may_go(schema: defs.OpSchema, at: int) -> bool:
    return schema.inputs[at].option == defs.OpSchema.FormalParameterOption.Optional


def _retyped(dice: random.Random, node: NodeProto, schema: defs.OpSchema, feeds: dict[str, Array]) -> str:
    """Give inputs another element type: one of them, or all whose type is the same variable."""
    names = [name for name in node.input if name in feeds]
    if not names:
        return "nothing"
    chosen, dtype = dice.choice(names), dice.choice(DTYPES)
    last = len(schema.inputs) - 1
    variables = {name: schema.inputs[min(at, last)].type_str for at, name in enumerate(node.input)}
    alone = dice.random() < 0.3
    for name in [chosen] if alone else [name for name in names if variables[name] == variables[chosen]]:
        with np.errstate(all="ignore"):
            feeds[name] = feeds[name].astype(dtype)
    return f"{chosen} as {dtype.name}{' alone' if alone else ''}"


def permitted(model: ModelProto) -> bool:
    """Return whether the onnx package's own inference finds the element types right."""
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception as error:
        # Inside the body of a standard function types may be wrong that its operator has.
        found = re.search(r"op_type:(\w+)[^)]*\): [^()]*(unsupported|inconsistent) type", str(error))
        return found is None or found[1] not in {node.op_type for node in model.graph.node}
    return True


def _with_known(model: ModelProto, feeds: dict[str, Array]) -> tuple[ModelProto, dict[str, Array]]:
    """The model with its short inputs of integers as initializers, whose values are known at import."""
    names = {name for name, array in feeds.items() if array.dtype.kind in "iu" and array.ndim < 2}
    known = ModelProto()
    known.CopyFrom(model)
    known.graph.initializer.extend(onnx.numpy_helper.from_array(feeds[name], name) for name in names)
    free = [value for value in known.graph.input if value.name not in names]
    del known.graph.input[:]
    known.graph.input.extend(free)
    return known, {name: array for name, array in feeds.items() if name not in names}


@cache
def _judge() -> Judge:
    return judge()


def _of_onnxruntime(model: ModelProto, feeds: dict[str, Array]) -> list[Array]:
    """What onnxruntime gives, in a process of its own: some changes crash it."""
    outcome = _judge()(model.SerializeToString(), feeds)
    if not isinstance(outcome, list):
        raise ValueError(outcome or "a crash")
    return cast("list[Array]", outcome)


def _of_reference(model: ModelProto, feeds: dict[str, Array]) -> list[Array]:
    evaluator: Any = import_module("onnx.reference").ReferenceEvaluator(model)
    return [np.asarray(value) for value in evaluator.run(None, feeds)]


def _ours(model: ModelProto, feeds: dict[str, Array]) -> list[Array]:
    return [np.asarray(value) for value in evaluate_module(from_onnx(model), list(feeds.values()))]


def judged(model: ModelProto, feeds: dict[str, Array]) -> tuple[str, str]:
    """The verdict on what we make of a model, and its detail."""

    def attempt(run: Attempt) -> tuple[list[Array] | None, str]:
        try:
            return run(model, dict(feeds)), ""
        except Exception as error:
            return None, f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"

    try:
        try:
            mine = _ours(model, feeds)
        except Undecided:
            model, feeds = _with_known(model, feeds)
            mine = _ours(model, feeds)
    except Undecided:
        return "undecided", ""
    except FrontendError:
        theirs, _ = attempt(_of_onnxruntime)
        return ("refused" if theirs is None else "told"), ""
    except Exception as error:
        return "wrong", f"raised {type(error).__name__}: {str(error)[:160]}"
    theirs, why = attempt(_of_onnxruntime)
    if theirs is not None:
        wrong = difference(mine, theirs)
        return ("wrong" if wrong else "right"), wrong
    if not permitted(model):
        return "forbidden", why
    theirs, _ = attempt(_of_reference)
    if theirs is None:
        return "alone", why
    wrong = difference(mine, theirs)
    return ("differs" if wrong else "right"), wrong or why


def draw(seed: int, only: str = "", kind: str = "", modules: tuple[str, ...] = ()) -> Outcome | None:
    """One change of one node."""
    dice = random.Random(seed)
    operators = [name for name in sorted(nodes(modules)) if re.search(only, name)]
    operator = dice.choice(operators)
    alike = nodes(modules)[operator]
    case = dice.choice(alike)
    change = mutated(dice, case, kind or dice.choices(KINDS, (40, 45, 15))[0], alike)
    if change is None:
        return None
    model, feeds, what = change
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        verdict, detail = judged(model, feeds)
    if any(attribute.type == AttributeProto.GRAPH for attribute in model.graph.node[0].attribute):
        return None
    if verdict in WRONG and any(re.match(pattern, f"{operator} {case.name} {what}") for pattern in KNOWN):
        verdict = "known"
    return Outcome(operator, f"{case.name} {what}", verdict, detail)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--kind", default="", choices=("", *KINDS))
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    seed = given.seed
    while sum(counts.values()) < given.draws:
        outcome, seed = draw(seed, given.only, given.kind), seed + 1
        if outcome is None:
            continue
        counts[outcome.verdict] += 1
        if outcome.verdict in (*WRONG, "differs", "alone"):
            print(f"{outcome.verdict} {seed - 1} {outcome.operator}: {outcome.change}: {outcome.detail}", flush=True)
        if sum(counts.values()) % 500 == 0:
            print(dict(counts), flush=True)
    print(dict(counts))
    return int(any(counts[verdict] for verdict in WRONG))


if __name__ == "__main__":
    sys.exit(main())
