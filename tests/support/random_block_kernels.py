"""Texts of random kernels of blocks: stages that each read what those before wrote."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple, TypeAlias

Extent: TypeAlias = int | str
"""A number, or `s0`, the size that a call decides."""
Shape: TypeAlias = tuple[Extent, ...]


class Element(NamedTuple):
    """An element type: how arithmetic on it is spelled, and the range of inputs for which results are exact."""

    name: str
    suffix: str
    largest: int
    reductions: int
    """Sums and the like that a kernel may have."""

    def number(self, value: int) -> str:
        """Return a constant as text."""
        return f"{value}.0" if self.suffix == "f" else str(value)

    def op(self, what: str) -> str:
        """Return the op of `add`, `sub`, `mul` or `most`."""
        if what == "most":
            return "arith.maximumf" if self.suffix == "f" else "arith.maxsi"
        return f"arith.{what}{self.suffix}"


F32 = Element("f32", "f", 4, 9)
ELEMENTS = (
    F32,
    F32,
    F32,
    Element("f64", "f", 4, 9),
    Element("f16", "f", 1, 1),
    Element("bf16", "f", 1, 1),
    Element("i32", "i", 9, 9),
    Element("i8", "i", 9, 9),
)


class Read(NamedTuple):
    """A load of a buffer of a shape at some indices, and its condition with what is read where that does not hold."""

    buffer: str
    shape: Shape
    indices: Sequence[str]
    guard: str = ""


class Axis(NamedTuple):
    """A variable of a block: its kind and extent."""

    kind: str
    extent: Extent


class Maker:
    """The text of a random kernel: a few blocks, each of which reads what those before it wrote."""

    element = F32

    def __init__(self, random: Random):
        self.random = random
        self.buffers: list[tuple[str, Shape]] = []
        self.lines: list[str] = []
        self.count = 0

    def text(self) -> str:
        """Return the text of the kernel `@main` of one or two inputs and one output."""
        inputs = [(f"in{n}", self._shape()) for n in range(self.random.choice((1, 2)))]
        self.buffers = list(inputs)
        stages = self.random.choice((1, 2, 2, 3, 3))
        for number in range(stages):
            self._stage(f"b{number}")
        return self._kernel(inputs, [self.buffers.pop()])

    def _kernel(self, inputs: list[tuple[str, Shape]], outputs: list[tuple[str, Shape]]) -> str:
        own = [buffer for buffer in self.buffers if buffer not in (*inputs, *outputs)]
        head = ", ".join(f"%{each}: {self._buffer(its)}" for each, its in [*inputs, *outputs])
        allocs = [f"%{each} = tir.alloc : {self._buffer(its)}" for each, its in own]
        name, number = self.element.name, self.element.number
        constants = [f"%zero = arith.constant {number(0)} : {name}", f"%two = arith.constant {number(2)} : {name}"]
        body = "\n".join([*allocs, *constants, *self.lines])
        sizes = ' sizes ["n"]' if "s0" in head else ""
        return f"tir.prim_func @main({head}) outputs {len(outputs)}{sizes} {{\n{body}\n}}\n"

    def _buffer(self, shape: Shape, name: str = "") -> str:
        return buffer_type(shape, self.element.name, ", local" if name.endswith("_local") else "")

    def _shape(self) -> Shape:
        return tuple(self.random.choice((1, 2, 3, 4, 6, 8)) for _ in range(self.random.choice((1, 2, 2))))

    def _value(self) -> str:
        self.count += 1
        return f"%x{self.count}"

    def _stage(self, name: str) -> None:
        """Add a block: of a point each, of neighbours, transposed, or a sum."""
        sources = [self.buffers[-1], self.random.choice(self.buffers)]
        source, shape = sources[0]
        kind = self.random.choice(("point", "point", "neighbours", "turned", "sum", "sum", "twice", "padded"))
        axes: list[Axis]
        reads: list[Read]
        variables = [f"%{name}v{n}" for n in range(len(shape))]
        inner = shape[-1]
        if kind == "neighbours" and isinstance(inner, int) and inner > 2:
            reach = self.random.choice((1, 2))
            out: Shape = (*shape[:-1], inner - reach)
            reads = [Read(source, shape, [*variables[:-1], f"{variables[-1]} + {step}"]) for step in range(reach + 1)]
            axes = [Axis("spatial", extent) for extent in out]
            point = variables
        elif kind == "padded" and isinstance(inner, int):
            out = (*shape[:-1], inner + 2)
            last = variables[-1]
            one = self.element.number(1)
            guard = f" if [{last} - 1, {last} * -1 + {inner}] >= 0 else {one} : {self.element.name}"
            reads = [Read(source, shape, [*variables[:-1], f"{last} - 1"], guard)]
            axes = [Axis("spatial", extent) for extent in out]
            point = variables
        elif kind == "turned" and len(shape) == 2:
            out = shape[::-1]
            reads = [Read(source, shape, variables[::-1])]
            axes = [Axis("spatial", extent) for extent in out]
            point = variables
        elif kind == "sum" and len(shape) < 3:
            rows = shape[0] if len(shape) == 2 else self.random.choice((2, 3))
            out = (rows,)
            if len(shape) == 2:
                axes = [Axis("spatial", rows), Axis("reduce", shape[1])]
                reads, point = [Read(source, shape, variables)], variables[:1]
            else:
                axes = [Axis("spatial", rows), Axis("reduce", inner)]
                variables = [f"%{name}v0", f"%{name}v1"]
                reads, point = [Read(source, shape, variables[1:])], variables[:1]
        else:
            out = shape
            axes = [Axis("spatial", extent) for extent in shape]
            reads, point = [Read(source, shape, variables)], variables
        other, its = sources[1]
        if (
            kind in ("point", "sum")
            and other != source
            and len(its) <= len(axes)
            and all(its[n] == axes[n].extent for n in range(len(its)))
        ):
            reads = [*reads, Read(other, its, variables[: len(its)])]
        self._emit(name, axes, variables, reads, (name + "_out", out, point), reduce=kind == "sum" and len(shape) < 3)
        self.buffers.append((name + "_out", out))

    def _emit(
        self,
        name: str,
        axes: list[Axis],
        variables: list[str],
        reads: list[Read],
        target: tuple[str, Shape, list[str]],
        *,
        reduce: bool,
    ) -> None:
        buffer, shape, point = target
        body: list[str] = []
        init: list[str] = []
        values: list[str] = []
        own = Read(buffer, shape, point)
        if reduce:
            init = [self._stored("%zero", own)]
            values.append(self._loaded(own, body))
        terms = [self._loaded(read, body) for read in reads]
        total = terms[0]
        for term in terms[1:]:
            total = self._computed(self.random.choice(("add", "sub")), total, term, body)
        if not reduce and self.random.random() < 0.5:
            total = self._computed(self.random.choice(("add", "most")), total, "%two", body)
        if reduce:
            total = self._computed("add", values[0], total, body)
        body.append(self._stored(total, own))
        self._block(name, axes, variables, body, init)

    def _loaded(self, read: Read, body: list[str]) -> str:
        """Add a load; returns its value."""
        value = self._value()
        place = f"%{read.buffer}[{', '.join(read.indices)}]{read.guard}"
        body.append(f"{value} = tir.load {place} : {self._buffer(read.shape, read.buffer)} -> {self.element.name}")
        return value

    def _stored(self, value: str, at: Read) -> str:
        place = f"%{at.buffer}[{', '.join(at.indices)}]"
        return f"tir.store {value}, {place} : {self.element.name}, {self._buffer(at.shape, at.buffer)}"

    def _computed(self, what: str, left: str, right: str, body: list[str]) -> str:
        """Add an op; returns its value."""
        value = self._value()
        body.append(f"{value} = {self.element.op(what)} {left}, {right} : {self.element.name}")
        return value

    def _block(
        self, name: str, axes: Sequence[Axis], variables: Sequence[str], body: Sequence[str], init: Sequence[str] = ()
    ) -> None:
        """Add a block and the loops around it."""
        heads, points, where = self._around(name, axes)
        self.lines += heads
        self._alone(name, axes, variables, [*(["tir.init {", *init, "}"] if init else []), *body], points, where)
        self.lines += ["}"] * len(heads)

    def _alone(
        self,
        name: str,
        axes: Sequence[Axis],
        variables: Sequence[str],
        body: Sequence[str],
        points: Sequence[str],
        where: str = "",
    ) -> None:
        """Add a block without loops."""
        heads = ", ".join(f"{v} : {axis.kind} {axis.extent}" for v, axis in zip(variables, axes, strict=True))
        self.lines.append(f'tir.block "{name}" ({heads}) at [{", ".join(points)}]{where} {{')
        self.lines += [*body, "}"]

    def _around(self, name: str, axes: Sequence[Axis]) -> tuple[list[str], list[str], str]:
        """The loops around a block, the values of its variables by these, and its condition."""
        loops = [f"%{name}l{n}" for n in range(len(axes))]
        return [loop_of(loop, axis.extent) for loop, axis in zip(loops, axes, strict=True)], loops, ""


def buffer_type(shape: Shape, element: str = "f32", scope: str = "") -> str:
    """Return the type of a buffer. scope: `, local`."""
    extents = "".join("?x" if extent == "s0" else f"{extent}x" for extent in shape)
    sizes = ", ".join(extent for extent in shape if isinstance(extent, str))
    return f"!tir.buffer<{extents}{element}{f', [{sizes}]' if sizes else ''}{scope}>"


def loop_of(variable: str, extent: Extent) -> str:
    """Return the head of a loop."""
    return f"tir.for {variable} in {extent} {{"
