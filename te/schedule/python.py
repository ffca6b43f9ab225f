"""Schedules of tensor expressions as Python: a function that makes the same schedule of the same stages."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import schedule as ops
from ...provenance.diagnostics import message
from ...support.errors import ScheduleError
from .python_text import PythonText, attribute_text, expression, index_names, literal

INTRINSICS = "intrinsics"
"""The parameter that has the intrinsics by name."""


def python_of(sequence: ops.SequenceOp) -> str:
    """The function `apply_schedule(s, intrinsics)`, for a schedule `s` to which nothing was done.

    Sizes are `te.schedule.size("n + 1")`, and attributes that Python has no form of `te.schedule.attribute("unit")`.
    """
    writer = _Writer()
    for op in sequence.block.ops:
        writer.add(op)
    return writer.text.function("apply_schedule", f"s, {INTRINSICS}=None")


class _Writer:
    def __init__(self):
        self.text = PythonText("s", ("te", INTRINSICS))
        self.hosts: dict[SSAValue, str] = {}
        """The stage of each axis, by its name in the text."""
        self.chains: dict[SSAValue, list[str]] = {}
        """The loops that pairs of a fuse under way have made one."""

    def add(self, op: Operation) -> None:
        """Append the lines of one op."""
        text = self.text
        match op:
            case ops.StageOp():
                text.assign([op.stage], f"s[{op.label.data!r}]")
            case ops.ArgumentOp():
                text.assign([op.stage], f"s.func.block.args[{op.index.value.data}]")
            case ops.ThreadOp():
                extent = op.extent.value.data if op.extent is not None else None
                name = op.thread.name_hint or ""
                text.assign([op.thread], f"te.thread_axis({extent}, {op.tag.data!r}, {name!r})")
            case ops.KnobOp():
                text.knob(op)
            case ops.ArithOp():
                text.arith(op)
            case ops.AxesOp():
                stage = text.of(op.stage)
                self._give(op.axes, stage, f"[*{stage}.axes, *{stage}.reduce_axes]", unpack=True)
            case ops.SplitOp() | ops.SplitByNPartsOp():
                word = "factor" if isinstance(op, ops.SplitOp) else "nparts"
                tail = op.attributes.get("tail")
                more = [] if not isinstance(tail, StringAttr) else [f"tail={tail.data!r}"]
                self._on(op.axis, "split", [text.of(op.axis), f"{word}={_count(text, op)}", *more], op.results)
            case ops.FuseOp():
                self._pair(op)
            case ops.FusedOp():
                self._on(op.axis, "fuse", self.chains.pop(op.axis, None) or [text.of(op.axis)], [op.axis])
            case ops.SingletonOp():
                self._give([op.axis], text.of(op.stage), f"{text.of(op.stage)}.fuse()")
            case ops.ReorderOp():
                self._on(op.axes[0], "reorder", list(map(text.of, op.axes)))
            case ops.VectorizeOp() | ops.UnrollOp() | ops.ParallelOp():
                self._on(op.axis, op.name.removeprefix("schedule."), [text.of(op.axis)])
            case ops.BindOp():
                self._on(op.axis, "bind", [text.of(op.axis), text.of(op.thread)])
            case ops.TensorizeOp():
                self._on(op.axis, "tensorize", [text.of(op.axis), f"{INTRINSICS}[{op.intrin.data!r}]"])
            case ops.TensorComputeOp():
                intrinsic = f"{INTRINSICS}[{op.intrin.data!r}]"
                text.assign([], f"{text.of(op.stage)}.tensor_compute({intrinsic}, {op.outer.value.data})")
            case ops.PragmaOp():
                value = op.number if op.number is not None else op.value
                match value:
                    case None:
                        more: list[str] = []
                    case SSAValue() | IntegerAttr() | StringAttr():
                        more = [text.of(value)]
                    case _:
                        more = [attribute_text(value)]
                self._on(op.axis, "pragma", [text.of(op.axis), repr(op.key.data), *more])
            case ops.PrefetchOp():
                arguments = [self._tensor(op.tensor), text.of(op.axis), str(op.offset.value.data)]
                self._on(op.axis, "prefetch", arguments)
            case _:
                self._place(op)

    def _place(self, op: Operation) -> None:
        """The primitives that place stages and make new ones."""
        text = self.text
        match op:
            case ops.ComputeAtOp():
                text.assign([], f"{text.of(op.stage)}.compute_at({text.of(op.consumer)}, {text.of(op.axis)})")
            case ops.ComputeInlineOp() | ops.ComputeRootOp() | ops.DoubleBufferOp() | ops.RollingBufferOp():
                text.assign([], f"{text.of(op.stage)}.{op.name.removeprefix('schedule.')}()")
            case ops.SetScopeOp():
                text.assign([], f"{text.of(op.stage)}.set_scope({op.scope.data!r})")
            case ops.CacheWriteOp():
                text.assign([op.cache], f"s.cache_write({text.of(op.stage)}, {op.scope.data!r})")
            case ops.CacheReadOp():
                readers = ", ".join(map(text.of, op.readers))
                text.assign([op.cache], f"s.cache_read({self._tensor(op.stage)}, {op.scope.data!r}, [{readers}])")
            case ops.RfactorOp():
                arguments = [self.hosts[op.axis], text.of(op.axis), str(op.factor_axis.value.data)]
                text.assign([op.factored], f"s.rfactor({', '.join(arguments)})")
            case ops.CreateGroupOp():
                ends, starts = (", ".join(map(self._tensor, side)) for side in (op.outputs, op.inputs))
                included = op.include_inputs is not None
                text.assign([op.group], f"s.create_group([{ends}], [{starts}], include_inputs={included})")
            case ops.EnvThreadsOp():
                stage = text.of(op.stage)
                text.assign([], f"{stage}.env_threads([{', '.join(map(text.of, op.threads))}])")
                self._give(op.axes, stage, f"{stage}.threads", unpack=True)
            case ops.StorageAlignOp():
                factor, offset = op.factor.value.data, op.offset.value.data
                self._on(op.axis, "storage_align", [text.of(op.axis), str(factor), str(offset)])
            case ops.SetStorePredicateOp():
                text.assign([], f"{text.of(op.stage)}.set_store_predicate({_condition(op)})")
            case ops.TransformLayoutOp():
                stage = self._stage(op.stage)
                self._give(op.axes, stage, f"{stage}.transform_layout({literal(op.layout)})", unpack=True)
            case ops.SetAxisSeparatorsOp():
                text.assign([], f"{self._stage(op.stage)}.set_axis_separators({list(op.values)})")
            case _:
                raise ScheduleError(message("as_python", "schedule primitives", op.name, op.location))

    def _give(self, axes: Sequence[SSAValue], host: str, call: str, *, unpack: bool = False) -> None:
        """Append a line that names axes of a stage."""
        self.text.assign(axes, call, unpack=unpack)
        self.hosts.update(dict.fromkeys(axes, host))

    def _on(self, axis: SSAValue, primitive: str, arguments: Sequence[str], results: Sequence[SSAValue] = ()) -> None:
        """Append the call of a primitive of an axis's stage."""
        host = self.hosts[axis]
        self._give(results, host, f"{host}.{primitive}({', '.join(arguments)})")

    def _pair(self, op: ops.FuseOp) -> None:
        """Note that two loops become one; `fused` ends it with the line of all of them."""
        first, second = self.chains.pop(op.outer, None), self.chains.pop(op.inner, None)
        if first is None and second is not None:
            chain = [*second, self.text.of(op.outer)]
        else:
            chain = [*(first or [self.text.of(op.outer)]), self.text.of(op.inner)]
        self.chains[op.fused] = chain
        self.hosts[op.fused] = self.hosts[op.outer]

    def _stage(self, handle: SSAValue) -> str:
        """The stage of a handle, also of an argument."""
        name = self.text.of(handle)
        return f"s[{name}]" if isinstance(handle.owner, ops.ArgumentOp) else name

    def _tensor(self, handle: SSAValue) -> str:
        name = self.text.of(handle)
        return name if isinstance(handle.owner, ops.ArgumentOp) else f"{name}.outputs[0]"


def _count(text: PythonText, op: ops.SplitOp | ops.SplitByNPartsOp) -> str:
    """The number or size of a split."""
    count = op.count
    return text.of(count) if isinstance(count, int | SSAValue) else f"te.schedule.size({str(count)!r})"


def _condition(op: ops.SetStorePredicateOp) -> str:
    """The condition of a store as a function of the axes."""
    condition = op.condition.data
    names = index_names(condition.num_dims)
    parts = [
        f"{expression(each.lhs, names)} {each.kind.value} {expression(each.rhs, names)}"
        for each in condition.constraints
    ]
    return f"lambda {', '.join(names)}: te.all({', '.join(parts)})"
