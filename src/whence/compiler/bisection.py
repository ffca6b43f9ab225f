"""Numeric bisect: the module is run after each pass, and the first pass whose result departs from a reference is named.

>>> bisection = whence.bisect(module, inputs, expected)
>>> print(bisection)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from whence.dialects.element_types import numpy_dtype
from whence.dialects.relay.call_tir import hold_kernels
from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.dialects.relay.interpret import evaluate_module
from whence.executables.executable import Executable
from whence.explorer.compare import LayerDifference
from whence.explorer.difference import ATOL, RTOL, Difference, difference
from whence.explorer.reference import numpy_tensors
from whence.explorer.results import imported_values, values_in
from whence.kernels.kernel_calls import run_kernel
from whence.lowering.cache import KernelCache
from whence.lowering.llvm_to_native.target import Target
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.passes.relay.packed_calls import outline_packed_calls
from whence.passes.transform.passes import HoldsModule
from whence.planning.build import Progress, build, names_of
from whence.planning.random_state import give_state
from whence.provenance.ledger import Entry, LayerValue, Ledger
from whence.provenance.numbers import number_of, same_module
from whence.provenance.span import leaf_name
from whence.runtime.values.moves import Move, moved
from whence.runtime.values.tensors import TensorSpec
from whence.support.context import PassContext
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, PipelineError, expectation
from whence.support.names import shown

Engine = Literal["native", "numpy"]


@dataclass(frozen=True)
class PassResult:
    """The result of a run of the module after a pass."""

    name: str
    """The name of the pass; `import` for the module as it came."""
    changed: bool
    """False if the pass changed nothing, so that there was nothing to run."""
    difference: Difference | None
    """The largest difference between its outputs and the reference; None for an unchanged module."""
    seconds: float


@dataclass(frozen=True)
class Bisection:
    """The first departure from the reference: its pass, its layer, and the changes to the layer."""

    passes: tuple[PassResult, ...]
    """The results up to the first that departs."""
    engine: Engine
    """The engine that ran the modules."""
    pass_name: str = ""
    """The first pass after which the result departs; `import` for the module itself; "" for none."""
    layer: str = ""
    """The first layer on the way to the outputs whose value departs in that pass, or in native code from numpy."""
    layer_difference: Difference | None = None
    patterns: tuple[str, ...] = ()
    """The patterns of the pass that touched the layer."""
    events: tuple[Entry, ...] = ()
    """The rewrites of these patterns."""

    @property
    def found(self) -> bool:
        """Return True if some result departs."""
        return bool(self.pass_name)

    def __str__(self) -> str:
        from whence.explorer.report import table

        rows: list[tuple[object, ...]] = []
        for result in self.passes:
            error = f"{result.difference.error:.3g}" if result.difference is not None else ""
            relative = f"{result.difference.relative:.3g}" if result.difference is not None else ""
            verdict = "unchanged" if result.difference is None else "ok" if result.difference.right else "DEPARTS"
            rows.append((result.name, error, relative, verdict))
        lines = [table(rows, ("after pass", "absolute", "relative", ""), indent=""), ""]
        if not self.found:
            lines.append("no pass departs")
        elif self.pass_name == "import":
            lines.append("the module departs before any pass: the import, the inputs or the reference are not right")
        elif self.pass_name == CODE:
            lines.append("no pass departs in numpy, native code does")
            if self.layer:
                lines.append(f"layer {shown(self.layer)}: {self.layer_difference}")
        else:
            lines.append(f"pass {self.pass_name} departs")
            if self.layer:
                lines.append(f"layer {shown(self.layer)}: {self.layer_difference}")
            for pattern in self.patterns:
                lines.append(f"pattern {pattern}")
            lines += [f"  {event}" for event in self.events[:5]]
        return "\n".join(lines)


CODE = "code generation"
"""The name of the culprit when all passes are right."""


@door()
def bisect(
    module: ModuleOp | HoldsModule,
    inputs: Mapping[str, Array],
    expected: Mapping[str, Array],
    *,
    passes: Sequence[ModulePass] | None = None,
    opt_level: int = 3,
    target: Target | None = None,
    rtol: float = RTOL,
    atol: float = ATOL,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Bisection:
    """Run a module before the first pass and after each pass, until an output departs; the module itself is unchanged.

    expected: outputs by name. passes: those of `opt_level` if None. rtol: relative to the largest number of an output.
    engine: "native" compiles each module without optimisation, "numpy" runs its operators in numpy, slowly; None is
    native, and numpy if native code departs before any pass.
    Raises FrontendError if inputs or expected outputs do not fit the module.
    """
    original = (module.module if isinstance(module, HoldsModule) else module).clone()
    hold_kernels(original)
    outline_packed_calls(original)
    machine = target or Target.native()
    chosen = tuple(relay_pipeline(opt_level, machine.hardware) if passes is None else passes)
    run = _Run(inputs, expected, machine, rtol, atol, progress)
    if engine is not None:
        return run.bisected(original, chosen, engine)
    bisection = run.bisected(original, chosen, "native")
    if bisection.pass_name != "import":
        return bisection
    slow = run.bisected(original, chosen, "numpy")
    if slow.found:
        return slow
    layer = run.wrong_code(original)
    if layer is None:
        return Bisection(slow.passes, "numpy", CODE)
    return Bisection(slow.passes, "numpy", CODE, layer.layer.name, layer.difference)


def signature(module: ModuleOp) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Return name, shape and dtype of each input and of each output of `@main` of a static module."""
    main = _main(module)
    specs: list[tuple[TensorSpec, ...]] = []
    for kind, values in (("input", main.block.args), ("output", main.return_op.operands)):
        names = _names(module, f"{kind}_names", len(values), kind)
        types = [cast("TensorType[Attribute]", value.type) for value in values]
        specs.append(
            tuple(
                TensorSpec(name, tuple(type_.get_shape()), numpy_dtype(type_.element_type))
                for name, type_ in zip(names, types, strict=True)
            )
        )
    return specs[0], specs[1]


def evaluated(module: ModuleOp, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return the outputs of a module by name, computed by numpy.

    Raises FrontendError when inputs are not the module's.
    """
    outputs = evaluate_module(module, _in_order(module, inputs), run_kernel)
    return dict(zip(_names(module, "output_names", len(outputs), "output"), outputs, strict=True))


def _in_order(module: ModuleOp, inputs: Mapping[str, Array]) -> list[Array]:
    names = _names(module, "input_names", len(_main(module).block.args), "input")
    if missing := [name for name in names if name not in inputs]:
        raise FrontendError(expectation("bisect", f"inputs {', '.join(names)}", f"none of {', '.join(missing)}"))
    return [inputs[name] for name in names]


_Valued: TypeAlias = "tuple[ModuleOp, dict[SSAValue, dict[LayerValue, Move]]]"
"""A module, and the layers' values that results of ops of its `@main` are after a move."""


class _Run:
    def __init__(
        self,
        inputs: Mapping[str, Array],
        expected: Mapping[str, Array],
        target: Target,
        rtol: float,
        atol: float,
        progress: Progress | None,
    ):
        self.inputs, self.expected, self.target = inputs, expected, target
        self.tolerance = rtol, atol
        self.progress = progress

    def bisected(self, original: ModuleOp, passes: Sequence[ModulePass], engine: Engine) -> Bisection:
        module, ledger = original.clone(), Ledger()
        # Compared programs draw the same random numbers.
        give_state(module, _main(module), 0)
        values = imported_values(module, ledger)
        results = [self._result("import", module, engine)]
        if not _right(results[0]):
            return Bisection(tuple(results), engine, "import")
        text = str(module)
        for number, pass_ in enumerate(passes):
            if self.progress is not None:
                self.progress("passes", number + 1, len(passes))
            before, start = same_module(module), len(ledger.entries)
            run_passes(module, (pass_,), ledger=ledger)
            after = str(module)
            if after == text:
                results.append(PassResult(pass_.name, False, None, 0.0))
                continue
            text = after
            results.append(self._result(pass_.name, module, engine))
            if not _right(results[-1]):
                values.follow(ledger, 0, start)
                values_before = values_in(before, values)
                values.follow(ledger, start)
                layer, by, makers = self._layer((before, values_before), (module, values_in(module, values)), engine)
                events = _events(ledger, start, layer, makers)
                patterns = tuple(dict.fromkeys(event.pattern for event in events if event.pattern))
                name = leaf_name(layer[0]) if layer is not None else ""
                return Bisection(
                    passes=tuple(results),
                    engine=engine,
                    pass_name=pass_.name,
                    layer=name,
                    layer_difference=by,
                    patterns=patterns,
                    events=tuple(events),
                )
        return Bisection(tuple(results), engine)

    def _result(self, name: str, module: ModuleOp, engine: Engine) -> PassResult:
        start = perf_counter()
        outputs = self.outputs(module, engine)
        names = _names(module, "output_names", len(outputs), "output")
        compared = {key: array for key, array in zip(names, outputs, strict=True) if key in self.expected}
        if not compared and len(outputs) == len(self.expected) == 1:
            compared = {next(iter(self.expected)): outputs[0]}
        if not compared:
            raise FrontendError(expectation("bisect", f"a reference of {', '.join(names)}", ", ".join(self.expected)))
        differences: list[Difference] = []
        for key, array in compared.items():
            reference = self.expected[key]
            if array.shape != reference.shape:
                raise FrontendError(expectation("bisect", f"'{key}' of shape {array.shape}", str(reference.shape)))
            differences.append(difference(array, reference, *self.tolerance))
        worst = max(differences, key=lambda gap: (not gap.right, gap.relative))
        return PassResult(name, True, worst, perf_counter() - start)

    def wrong_code(self, module: ModuleOp) -> LayerDifference | None:
        """Return the first layer whose native code and operators in numpy differ in their results.

        Each operator is a kernel, so that every layer is compared. Returns None if layers share names.
        """
        arrays = _in_order(module, self.inputs)
        with PassContext(0, config={"relay.FuseOps.max_depth": 1}):
            artifact = build(module.clone(), self.target, 0, ledger=Ledger(), cache=KernelCache())
        inputs = dict(zip(_names(module, "input_names", len(arrays), "input"), arrays, strict=True))
        if not (reference := numpy_tensors(module, arrays, run_kernel)):
            return None
        rtol, atol = self.tolerance
        return Executable(artifact).compare(inputs, reference, rtol=rtol, atol=atol).first

    def outputs(self, module: ModuleOp, engine: Engine) -> list[Array]:
        """Return the outputs of a module, which stays unchanged."""
        arrays = _in_order(module, self.inputs)
        if engine == "numpy":
            return evaluate_module(module, arrays, run_kernel)
        # Options that are about the passes of the model do not reach those that only make it run.
        with PassContext(0):
            artifact = build(module.clone(), self.target, 0, ledger=Ledger(), cache=KernelCache())
        results = Executable(artifact)(*arrays)
        return list(results) if isinstance(results, tuple) else [results]

    def _layer(
        self, before: _Valued, after: _Valued, engine: Engine
    ) -> tuple[LayerValue | None, Difference | None, set[int]]:
        """Return the first departing value behind the departing outputs of a pass, its departure, and its ops.

        The ops are the numbers of those that computed it before and after the pass, back to right values.
        """
        expected = {
            layer: moved(array, move)
            for array, layers in zip(self._arrays(before, engine), before[1].values(), strict=True)
            for layer, move in layers.items()
        }
        module, values = after
        gaps: dict[Operation, list[tuple[LayerValue, Difference]]] = {}
        for array, (value, layers) in zip(self._arrays(after, engine), values.items(), strict=True):
            for layer, move in layers.items():
                reference = expected.get(layer)
                if reference is not None and isinstance(value.owner, Operation):
                    gap = difference(moved(array, move), reference, *self.tolerance)
                    gaps.setdefault(value.owner, []).append((layer, gap))
        main = _main(module)
        reached = _reached(main, {op: all(gap.right for _, gap in each) for op, each in gaps.items()})
        for op in main.block.ops:
            for layer, gap in gaps.get(op, ()) if op in reached else ():
                if not gap.right:
                    earlier = [
                        value.op
                        for value, layers in before[1].items()
                        if layer in layers and isinstance(value, OpResult)
                    ]
                    right = {op for op, each in gaps.items() if all(gap.right for _, gap in each)}
                    return layer, gap, {number_of(maker) for maker in (*earlier, *_makers(op, right))}
        return None, None, set()

    def _arrays(self, valued: _Valued, engine: Engine) -> list[Array]:
        """Return the values of layers that ops of `@main` compute, in order."""
        module, values = valued
        copy = module.clone()
        main = _main(copy)
        copies = dict(zip(_main(module).block.ops, main.block.ops, strict=True))
        wanted = [copies[value.op].results[value.index] for value in values if isinstance(value, OpResult)]
        main.block.erase_op(main.return_op)
        end = ReturnOp(*wanted)
        end.location = main.location
        main.block.add_op(end)
        main.attributes.pop("output_names", None)
        main.update_type()
        return self.outputs(copy, engine) if wanted else []


def _right(result: PassResult) -> bool:
    return result.difference is None or result.difference.right


def _reached(main: FuncOp, right: Mapping[Operation, bool]) -> set[Operation]:
    """Return the ops from which wrong values lead to the outputs; unknown values may be wrong."""
    reached: set[Operation] = set()
    waiting: list[SSAValue] = list(main.return_op.operands)
    while waiting:
        op = waiting.pop().owner
        if not isinstance(op, Operation) or op in reached or right.get(op, False):
            continue
        reached.add(op)
        waiting += op.operands
    return reached


def _makers(op: Operation, right: Set[Operation]) -> set[Operation]:
    """Return the ops that a value is computed by, from right values on."""
    makers: set[Operation] = set()
    waiting = [op]
    while waiting:
        maker = waiting.pop()
        if maker not in makers:
            makers.add(maker)
            owners = [value.owner for value in maker.operands]
            waiting += [owner for owner in owners if isinstance(owner, Operation) and owner not in right]
    return makers


def _events(ledger: Ledger, start: int, layer: LayerValue | None, makers: set[int]) -> list[Entry]:
    """Return the entries from `start` on that created or replaced ops of a layer's value; all if none did."""
    entries = ledger.entries[start:]
    if layer is None:
        return entries
    return [entry for entry in entries if not makers.isdisjoint((*entry.sources, *entry.targets))]


def _main(module: ModuleOp) -> FuncOp:
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            return op
    raise PipelineError(expectation("bisect", "a module with a relay.func @main", "none"))


def _names(module: ModuleOp, attribute: str, count: int, kind: str) -> list[str]:
    main = _main(module)
    names = names_of(main, attribute)
    hints = [argument.name_hint for argument in main.block.args] if kind == "input" else [None] * count
    return [
        (names[number] if number < len(names) else "") or hints[number] or f"{kind}{number}" for number in range(count)
    ]
