"""`gradient`: the derivative of a tensor by others, as computes of the te language; reverse mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...support.dtypes import fail, is_float
from ...support.errors import ScheduleError
from ..language.affine_forms import affine_expr
from ..language.emit import sorted_operations
from ..language.expr import Axis, Const, Expr, Read, Select, compare
from ..language.locations import located
from ..language.math import all as all_of
from ..language.math import any as any_of
from ..language.reducers import prod as product_of
from ..language.reducers import reduce_axis
from ..language.reducers import sum as sum_of
from ..language.reductions import Reduce
from ..language.tensor import ComputeOp, Operation, Tensor, compute, tensor_of
from ..language.walks import rebuilt, substitution, walk
from .derivatives import derivatives, times
from .gradient_sites import Site, conditions, expression, number, solve


def gradient(output: Tensor, inputs: Tensor | Sequence[Tensor], head: Tensor | None = None) -> list[Tensor]:
    """Return the derivatives of `output` by each of `inputs`, which may be computes, too.

    head: the left factor of the result, of shape `(*prefix, *output.shape)`; the adjoints have shape
    `(*prefix, *input.shape)`. Without it, the Jacobians: `(*output.shape, *input.shape)`. Each step back is a compute
    at the location of the compute that it differentiates. If several terms are the maximum or minimum of a reduction,
    all have the same share. An input that `output` does not depend on has zeros. If indices are computed, as in
    `A[I[i]]`, each element gets the sum over all its reads.

    Raises ScheduleError for tensors of integers, for other operations on the way (scans, externs, hybrid scripts),
    and reductions other than sum, prod, max and min.

        dA, dB = te.gradient(loss, [A, B])
    """
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for tensor in (output, *wanted):
        if not is_float(tensor.dtype):
            fail(f"te.gradient: expected tensors of floats, got {tensor.dtype} ('{tensor.name}')")
    shape = tuple(map(number, output.shape))
    if head is None:
        prefix = shape
    else:
        head_shape = tuple(map(number, head.shape))
        prefix = head_shape[: len(head_shape) - len(shape)]
        if (*prefix, *shape) != head_shape or head.dtype != output.dtype:
            fail(
                f"te.gradient: expected a head of (*prefix, {', '.join(map(str, shape))}) {output.dtype}, "
                f"got {head_shape} {head.dtype} ('{output.name}')"
            )
    return _Gradient(output, wanted, prefix, head).run()


class _Gradient:
    def __init__(self, output: Tensor, wanted: Sequence[Tensor], prefix: Sequence[int], head: Tensor | None):
        self.output = output
        self.wanted = wanted
        self.prefix = tuple(prefix)
        self.operations = sorted_operations([output])
        self.live: set[Tensor] = set(wanted)
        """The tensors that depend on what is wanted."""
        for op in self.operations:
            if any(tensor in self.live for tensor in op.input_tensors):
                self.live.update(op.outputs)
        self.parts: dict[Tensor, list[Tensor]] = {output: [self._identity() if head is None else head]}

    def _identity(self) -> Tensor:
        rank = len(self.prefix)

        def element(*index: Expr) -> Expr:
            same = [compare("eq", a, b) for a, b in zip(index[:rank], index[rank:], strict=True)]
            one, zero = (Const(value, self.output.dtype) for value in (1.0, 0.0))
            return Select(all_of(*same), one, zero, False) if same else one

        return self._tensor(self.output, element, self.output.op)

    def _tensor(self, tensor: Tensor, element: Callable[..., Expr], op: Operation, prefix: bool = True) -> Tensor:
        """A part of the adjoint of `tensor`, located where `op` is."""
        axes = tensor.op.axis if isinstance(tensor.op, ComputeOp) else []
        names = [axis.name for axis in axes] or [f"i{i}" for i in range(tensor.ndim)]
        before = self.prefix if prefix else ()
        outer = [f"p{i}" for i in range(len(before))]
        with located(op.location):
            name = f"{tensor.name}.grad" if prefix else f"{tensor.name}.hits"
            return compute((*before, *tensor.shape), element, name=name, varargs_names=[*outer, *names])

    def run(self) -> list[Tensor]:
        adjoints: dict[Tensor, Tensor] = {}
        for op in reversed(self.operations):
            totals = {tensor: self._total(tensor) for tensor in op.outputs if tensor in self.parts}
            adjoints |= totals
            if not any(tensor in self.live for tensor in op.input_tensors):
                continue
            for tensor, adjoint in totals.items():
                if not isinstance(op, ComputeOp):
                    fail(f"te.gradient: expected computes from '{self.output.name}' to the inputs, got {op}")
                self._back(op, tensor, adjoint)
        return [
            adjoints[tensor] if tensor in adjoints else self._tensor(tensor, _zero_of(tensor), tensor.op)
            for tensor in self.wanted
        ]

    def _total(self, tensor: Tensor) -> Tensor:
        first, *others = self.parts[tensor]
        if not others:
            return first

        def element(*index: Expr) -> Expr:
            value = first(*index)
            for part in others:
                value = value + part(*index)
            return value

        return self._tensor(tensor, element, tensor.op)

    def _back(self, op: ComputeOp, tensor: Tensor, adjoint: Tensor) -> None:
        """Add what the adjoint of an output of `op` gives to those of the tensors that it reads."""
        body = op.body[tensor.value_index]
        if not isinstance(body, Reduce):
            return self._through(op, adjoint, body, op.axis, None, None)
        if body.combiner is not None or body.reducer not in ("sum", "prod", "max", "min"):
            fail(f"te.gradient: expected reductions by sum, prod, max and min, got {body.reducer} ('{op.name}')")
        if body.reducer == "prod":
            return self._back_product(op, body, adjoint)
        share = None if body.reducer == "sum" else self._share(op, body, tensor)
        axes = [*op.axis, *op.reduce_axis]
        self._through(op, adjoint, body.values[0], axes, body.condition, share)
        for start in body.init:
            self._through(op, adjoint, start, op.axis, None, share)

    def _back_product(self, op: ComputeOp, body: Reduce, adjoint: Tensor) -> None:
        """For each factor, the product of the others, which is right where some are 0."""
        rank = len(op.axis)

        def product(name: str, axes: Sequence[Axis], but: bool) -> Tensor:
            def element(*index: Expr) -> Expr:
                new = {axis: _again(axis) for axis in op.reduce_axis}
                change = substitution({**dict(zip(op.axis, index, strict=False)), **new})
                tests = [] if body.condition is None else [rebuilt(body.condition, change)]
                if but:
                    pairs = zip(new.items(), index[rank:], strict=True)
                    others = [compare("ne", mine, at + number(axis.start)) for (axis, mine), at in pairs]
                    tests.insert(0, any_of(*others))
                where = all_of(*tests) if tests else None
                return product_of(rebuilt(body.values[0], change), axis=[*new.values()], where=where)

            extents = [axis.extent for axis in axes]
            with located(op.location):
                return compute(extents, element, name=f"{op.name}.{name}", varargs_names=[axis.name for axis in axes])

        axes = op.root_iter_vars
        others = product("others", axes, True)
        point = [*op.axis, *(axis - number(axis.start) for axis in op.reduce_axis)]
        rest = times(others(*point), body.init[0]) if body.init else others(*point)
        self._through(op, adjoint, body.values[0], axes, body.condition, lambda _: rest)
        for start in body.init:
            factors = product("factors", op.axis, False)
            self._through(op, adjoint, start, op.axis, None, lambda _, all=factors: all(*op.axis))

    def _share(self, op: ComputeOp, body: Reduce, tensor: Tensor) -> Callable[[Expr], Expr]:
        """For a term of a maximum or minimum: 1 over how many of them are it, 0 for those that are not."""
        one, zero = Const(1.0, tensor.dtype), Const(0.0, tensor.dtype)

        def hit(term: Expr, index: Sequence[Expr]) -> Expr:
            return Select(compare("eq", term, tensor(*index)), one, zero, False)

        def count(*index: Expr) -> Expr:
            new = {axis: _again(axis) for axis in op.reduce_axis}
            change = substitution({**dict(zip(op.axis, index, strict=True)), **new})
            where = None if body.condition is None else rebuilt(body.condition, change)
            return sum_of(rebuilt(hit(body.values[0], op.axis), change), axis=[*new.values()], where=where)

        def with_start(*index: Expr) -> Expr:
            change = substitution(dict(zip(op.axis, index, strict=True)))
            return terms(*index) + rebuilt(hit(body.init[0], op.axis), change)

        terms = self._tensor(tensor, count, op, prefix=False)
        hits = self._tensor(tensor, with_start, op, prefix=False) if body.init else terms
        return lambda term: Select(compare("eq", term, tensor(*op.axis)), one / hits(*op.axis), zero, False)

    def _through(
        self,
        op: ComputeOp,
        adjoint: Tensor,
        root: Expr,
        axes: Sequence[Axis],
        condition: Expr | None,
        share: Callable[[Expr], Expr] | None,
    ) -> None:
        """Add what `root`, computed at each point of `axes` where the condition holds, gives."""
        sums: dict[tuple[Tensor, tuple[AffineExpr | Expr, ...]], Expr] = {}
        for read, derivative in derivatives(root, lambda read: read.tensor in self.live):
            key = tensor_of(read), _indices(read, axes)
            sums[key] = sums[key] + derivative if key in sums else derivative
        for (tensor, indices), derivative in sums.items():
            # A computed index says nothing of where it is read: it is compared at each point.
            known_at = [AffineDimExpr(i) if isinstance(index, Expr) else index for i, index in enumerate(indices)]
            computed = {i: index for i, index in enumerate(indices) if isinstance(index, Expr)}
            site = solve(known_at, [number(extent) for extent in tensor.shape], axes)
            factor = derivative if share is None else times(share(root), derivative)
            part = self._part(op, adjoint, tensor, site, computed, factor=factor, axes=axes, condition=condition)
            self.parts.setdefault(tensor, []).append(part)

    def _part(
        self,
        op: ComputeOp,
        adjoint: Tensor,
        tensor: Tensor,
        site: Site,
        computed: Mapping[int, Expr],
        factor: Expr,
        axes: Sequence[Axis],
        condition: Expr | None,
    ) -> Tensor:
        """For each element of `tensor`, the sum of the adjoints of what reads it at a site, times a factor."""
        rank = len(self.prefix)

        def element(*index: Expr) -> Expr:
            new = {axis: _again(axis) for axis in site.free}
            dims: list[Expr] = [*index[rank:], *(new.get(axis, axis) for axis in axes)]
            values: dict[Axis, Expr] = {axis: expression(expr, dims) for axis, expr in site.values.items()}
            values |= new
            change = substitution(values)
            here = adjoint(*index[:rank], *(values[axis] for axis in op.axis))
            value = times(rebuilt(factor, change), here)
            tests = conditions(site, dims)
            at = [compare("eq", rebuilt(index, change), dims[i]) for i, index in computed.items()]
            if condition is not None or at:
                test = all_of(*at, *(() if condition is None else (rebuilt(condition, change),)))
                # It may read outside where the element has no such point.
                reads = tests and any(isinstance(node, Read) for node in walk([test]))
                tests.append(Select(all_of(*tests), test, Const(False, "bool"), True) if reads else test)
            where = all_of(*tests) if tests else None
            if new:
                return sum_of(value, axis=[*new.values()], where=where)
            return value if where is None else Select(where, value, Const(0.0, tensor.dtype), True)

        return self._tensor(tensor, element, op)


def _indices(read: Read, axes: Sequence[Axis]) -> tuple[AffineExpr | Expr, ...]:
    """Return the indices of a read by the dims of `Site`; computed indices stay unchanged."""
    dims: dict[Axis, AffineExpr] = {axis: AffineDimExpr(read.tensor.ndim + i) for i, axis in enumerate(axes)}
    indices: list[AffineExpr | Expr] = []
    for index in read.indices:
        try:
            indices.append(affine_expr(index, dims))
        except ScheduleError:
            indices.append(index)
    return tuple(indices)


def _again(axis: Axis) -> Axis:
    start = number(axis.start)
    return reduce_axis((start, start + number(axis.extent)), axis.name)


def _zero_of(tensor: Tensor) -> Callable[..., Expr]:
    return lambda *_: Const(0.0, tensor.dtype)
