"""Texts of random kernels of blocks that share buffers and loops, of other elements and of open size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from random_block_kernels import ELEMENTS, Axis, Extent, Maker, Read, Shape, loop_of


class WideMaker(Maker):
    """Kernels of more kinds: of other elements, of open size, with loops bound in other ways than one for a variable,
    and blocks that share buffers and loops."""

    def __init__(self, random: Random):
        super().__init__(random)
        self.element = random.choice(ELEMENTS)
        self.is_open = random.random() < 0.2
        self.reductions = 0

    def text(self) -> str:
        """Return the text of the kernel `@main` of one or two inputs and one or two outputs."""
        inputs = [(f"in{n}", self._shape()) for n in range(self.random.choice((1, 2)))]
        self.buffers = list(inputs)
        for number in range(self.random.choice((1, 2, 2, 3))):
            name = f"b{number}"
            stages = [stage for stage in _STAGES if self.random.random() < 0.25]
            if not any(stage(self, name) for stage in stages):
                self._stage(name)
        made = self.buffers[len(inputs) :]
        more = [self.random.choice(made[:-1])] if len(made) > 1 and self.random.random() < 0.25 else []
        return self._kernel(inputs, [*more, made[-1]])

    def _shape(self) -> Shape:
        rank = self.random.choice((1, 2, 2, 2, 3))
        shape: list[Extent] = [self.random.choice((1, 2, 3, 4, 5, 6, 7, 8)) for _ in range(rank)]
        if self.is_open:
            shape[self.random.randrange(rank)] = "s0"
        return tuple(shape)

    def _around(self, name: str, axes: Sequence[Axis]) -> tuple[list[str], list[str], str]:
        heads, points, _ = super()._around(name, axes)
        extents = [axis.extent for axis in axes]
        kind = self.random.choice(("plain", "plain", "plain", "turned", "back", "fused", "tiles"))
        number = self.random.randrange(len(axes))
        extent = extents[number]
        if kind == "turned":
            heads.reverse()
        elif kind == "back":
            points[number] = f"{points[number]} * -1 + {extent} - 1"
        elif kind == "fused" and len(axes) > 1 and all(isinstance(each, int) for each in extents[:2]):
            one, two = (int(each) for each in extents[:2])
            heads[:2] = [loop_of(f"%{name}l0", one * two)]
            points[:2] = [f"%{name}l0 floordiv {two}", f"%{name}l0 mod {two}"]
        elif kind == "tiles" and isinstance(extent, int):
            step = self.random.choice((2, 3, 4))
            heads[number : number + 1] = [loop_of(f"%{name}o", -(-extent // step)), loop_of(f"%{name}i", step)]
            points[number] = f"%{name}o * {step} + %{name}i"
            if extent % step:
                return heads, points, f" where [%{name}o * -{step} - %{name}i + {extent - 1}] >= 0"
        return heads, points, ""

    def _source(self, rank: int = 0) -> tuple[str, Shape] | None:
        """A buffer of a rank, the last if possible; None if there is none."""
        found = [buffer for buffer in self.buffers if len(buffer[1]) == rank or not rank]
        return self.random.choice([found[-1], found[-1], *found]) if found else None

    def _is_own(self, buffer: str) -> bool:
        return not buffer.startswith("in")

    def _reduces(self) -> bool:
        self.reductions += 1
        return self.reductions <= self.element.reductions

    def _variables(self, name: str, count: int) -> list[str]:
        return [f"%{name}v{n}" for n in range(count)]

    def _point(self, name: str, source: tuple[str, Shape], target: tuple[str, Shape], shift: int, where: str) -> None:
        """Add a block over a part of a buffer: from an index of the first dim on, or where a condition holds."""
        (buffer, shape), (made, _) = source, target
        variables = self._variables(name, len(shape))
        first = int(shape[0]) - shift
        indices = [f"{variables[0]} + {shift}", *variables[1:]]
        body: list[str] = []
        value = self._loaded(Read(buffer, shape, indices), body)
        value = self._computed("add", value, "%two", body)
        body.append(self._stored(value, Read(made, shape, indices)))
        axes = [Axis("spatial", extent) for extent in (first, *shape[1:])]
        heads, points, _ = Maker._around(self, name, axes)
        condition = where.replace("LOOP", points[0])
        self.lines += heads
        self._alone(name, axes, variables, body, points, condition)
        self.lines += ["}"] * len(heads)

    def halves(self, name: str) -> bool:
        """Two blocks that write a buffer: each a part of it, or the second over the first."""
        source = self._source()
        if source is None or not isinstance(first := source[1][0], int) or first < 2:
            return False
        buffer, shape = source
        made = (f"{name}_out", shape)
        part = self.random.choice((1, first // 2))
        variables = self._variables(f"{name}a", len(shape))
        over = self.random.choice((first, first - part, part))
        axes = [Axis("spatial", extent) for extent in shape]
        body: list[str] = []
        value = self._loaded(Read(buffer, shape, variables), body)
        body.append(self._stored(value, Read(made[0], shape, variables)))
        self._block(f"{name}a", axes, variables, body)
        where = self.random.choice(("", f" where [LOOP * -1 + {over - 1}] >= 0", " where [LOOP - 1] >= 0"))
        self._point(f"{name}b", source, made, self.random.choice((0, part)), where)
        self.buffers.append(made)
        return True

    def in_place(self, name: str) -> bool:
        """A block that changes each element of a buffer."""
        source = self._source()
        if source is None or not self._is_own(source[0]):
            return False
        buffer, shape = source
        variables = self._variables(name, len(shape))
        body: list[str] = []
        value = self._loaded(Read(buffer, shape, variables), body)
        value = self._computed(self.random.choice(("add", "most")), value, "%two", body)
        body.append(self._stored(value, Read(buffer, shape, variables)))
        self._block(name, [Axis("spatial", extent) for extent in shape], variables, body)
        self.buffers.remove(source)
        self.buffers.append(source)
        return True

    def scan(self, name: str) -> bool:
        """A recurrence along the first dim."""
        source = self._source()
        if source is None or not isinstance(first := source[1][0], int) or first < 2 or not self._reduces():
            return False
        buffer, shape = source
        made = f"{name}_out"
        variables = self._variables(f"{name}a", len(shape))
        start = ["0", *variables[1:]]
        body: list[str] = []
        body.append(self._stored(self._loaded(Read(buffer, shape, start), body), Read(made, shape, start)))
        self._block(f"{name}a", [Axis("spatial", extent) for extent in (1, *shape[1:])], variables, body)
        variables = self._variables(f"{name}b", len(shape))
        after = [f"{variables[0]} + 1", *variables[1:]]
        body = []
        one, other = (self._loaded(Read(*read), body) for read in ((made, shape, variables), (buffer, shape, after)))
        body.append(self._stored(self._computed("add", one, other, body), Read(made, shape, after)))
        kinds = ["opaque", *["spatial"] * (len(shape) - 1)]
        extents: Shape = (first - 1, *shape[1:])
        axes = [Axis(kind, extent) for kind, extent in zip(kinds, extents, strict=True)]
        heads, points, _ = Maker._around(self, f"{name}b", axes)
        self.lines += heads
        self._alone(f"{name}b", axes, variables, body, points)
        self.lines += ["}"] * len(heads)
        self.buffers.append((made, shape))
        return True

    def _reduced(self, name: str, reads: list[Read], axes: list[Axis], out: tuple[Shape, list[str]], how: str) -> bool:
        """Add a reduction of the product of what is read. how: the op, and what it starts with."""
        op, start = how.split()
        body: list[str] = []
        own = Read(f"{name}_out", *out)
        value = self._loaded(own, body)
        term, *more = (self._loaded(read, body) for read in reads)
        for other in more:
            term = self._computed("mul", term, other, body)
        turned = (term, value) if self.random.random() < 0.3 else (value, term)
        body.append(self._stored(self._computed(op, *turned, body), own))
        variables = self._variables(name, len(axes))
        self._block(name, axes, variables, body, [self._stored(f"%{start}", own)])
        self.buffers.append((f"{name}_out", out[0]))
        return True

    def product(self, name: str) -> bool:
        """A product of matrices, or of one with itself."""
        left = self._source(2)
        if left is None or self.element.reductions < 9 or self.reductions > 1 or not self._reduces():
            return False
        self.reductions += 1
        rights = [buffer for buffer in self.buffers if len(buffer[1]) == 2 and buffer[1][0] == left[1][1]]
        i, j, k = self._variables(name, 3)
        right = Read(left[0], left[1], [j, k])
        columns = left[1][0]
        if rights and self.random.random() < 0.7:
            buffer, shape = self.random.choice(rights)
            right, columns = Read(buffer, shape, [k, j]), shape[1]
        axes = [Axis("spatial", left[1][0]), Axis("spatial", columns), Axis("reduce", left[1][1])]
        return self._reduced(name, [Read(*left, [i, k]), right], axes, ((left[1][0], columns), [i, j]), "add zero")

    def reduction(self, name: str) -> bool:
        """A reduction of some dims: a sum with another start, or an extreme."""
        source = self._source()
        if source is None or not self._reduces():
            return False
        buffer, shape = source
        variables = self._variables(name, len(shape))
        kept = [n for n in range(len(shape)) if self.random.random() < 0.5]
        axes = [Axis("spatial" if n in kept else "reduce", extent) for n, extent in enumerate(shape)]
        out = (tuple(shape[n] for n in kept), [variables[n] for n in kept]) if kept else ((1,), ["0"])
        how = self.random.choice(("add zero", "add two", "most zero", "most two"))
        return self._reduced(name, [Read(buffer, shape, variables)], axes, out, how)

    def strided(self, name: str) -> bool:
        """Every other element, or each twice, or one of a lower rank."""
        source = self._source()
        if source is None or not isinstance(first := source[1][0], int):
            return False
        buffer, shape = source
        variables = self._variables(name, len(shape))
        ways: list[tuple[int, str]] = [
            (first * 2, f"{variables[0]} floordiv 2"),
            (first, f"{first - 1} - {variables[0]}"),
        ]
        if first > 1:
            ways += [((first + 1) // 2, f"{variables[0]} * 2"), (first * 2, f"{variables[0]} mod {first}")]
        extent, index = self.random.choice(ways)
        out: Shape = (extent, *shape[1:])
        axes = [Axis("spatial", each) for each in out]
        reads = [Read(buffer, shape, [index, *variables[1:]])]
        self._emit(name, axes, variables, reads, (f"{name}_out", out, variables), reduce=False)
        self.buffers.append((f"{name}_out", out))
        return True

    def pair(self, name: str) -> bool:
        """A block that writes two buffers."""
        source = self._source()
        if source is None:
            return False
        buffer, shape = source
        variables = self._variables(name, len(shape))
        body: list[str] = []
        value = self._loaded(Read(buffer, shape, variables), body)
        body.append(self._stored(value, Read(f"{name}_one", shape, variables)))
        value = self._computed("sub", "%two", value, body)
        body.append(self._stored(value, Read(f"{name}_out", shape, variables)))
        self._block(name, [Axis("spatial", extent) for extent in shape], variables, body)
        self.buffers += [(f"{name}_one", shape), (f"{name}_out", shape)]
        return True

    def numbers(self, name: str) -> bool:
        """A block that adds an index to each element."""
        source = self._source()
        if source is None or self.element.name == "i8":
            return False
        buffer, shape = source
        variables = self._variables(name, len(shape))
        index, number = self._value(), self._value()
        terms = " + ".join(f"{variable} * {step}" for step, variable in enumerate(variables, 1))
        body = [f"{index} = tir.index [{terms}] : index", f"{number} = arith.index_cast {index} : index to i32"]
        if self.element.suffix == "f":
            made = self._value()
            body.append(f"{made} = arith.sitofp {number} : i32 to {self.element.name}")
            number = made
        value = self._loaded(Read(buffer, shape, variables), body)
        body.append(self._stored(self._computed("add", value, number, body), Read(f"{name}_out", shape, variables)))
        self._block(name, [Axis("spatial", extent) for extent in shape], variables, body)
        self.buffers.append((f"{name}_out", shape))
        return True

    def rows(self, name: str) -> bool:
        """Two blocks in one loop, the second of which reads what the first makes, of the same row or another."""
        source = self._source(2)
        if source is None:
            return False
        buffer, shape = source
        alone = self.random.random() < 0.3
        between: Shape = shape[1:] if alone else shape
        middle = f"{name}_{'local' if alone else 'row'}"
        row = f"%{name}row"
        self.lines.append(loop_of(row, shape[0]))
        if alone:
            self.lines.append(f"%{middle} = tir.alloc : {self._buffer(between, middle)}")
        axes = [Axis("spatial", extent) for extent in shape]
        ends = (buffer, shape), (middle, between), (f"{name}_out", shape)
        for label, read, made in (("a", *ends[:2]), ("b", *ends[1:])):
            variables = self._variables(name + label, 2)
            body: list[str] = []
            places = [variables[-len(its[1]) :] for its in (read, made)]
            value = self._loaded(Read(*read, places[0]), body)
            if label == "b" and not alone and self.random.random() < 0.3:
                guard = f" if [{variables[0]} - 1] >= 0 else {self.element.number(1)} : {self.element.name}"
                other = self._loaded(Read(*read, [f"{variables[0]} - 1", variables[1]], guard), body)
                value = self._computed("add", value, other, body)
            value = self._computed("add", value, "%two", body)
            body.append(self._stored(value, Read(*made, places[1])))
            self.lines.append(loop_of(f"%{name}{label}l", shape[1]))
            self._alone(name + label, axes, variables, body, [row, f"%{name}{label}l"])
            self.lines.append("}")
        self.lines.append("}")
        self.buffers += [*([] if alone else [(middle, shape)]), (f"{name}_out", shape)]
        return True

    def seen(self, name: str) -> bool:
        """A block that reads a row through a view."""
        source = self._source(2)
        if source is None or "s0" in source[1]:
            return False
        buffer, shape = source
        variables = self._variables(name, 2)
        view = f"{name}_view"
        row = shape[1:]
        types = f"{self._buffer(shape)} -> {self._buffer(row)}"
        body = [f"%{view} = tir.decl_buffer %{buffer}[{variables[0]}, 0] : {types}"]
        value = self._loaded(Read(view, row, variables[1:]), body)
        body.append(self._stored(self._computed("add", value, "%two", body), Read(f"{name}_out", shape, variables)))
        self._block(name, [Axis("spatial", extent) for extent in shape], variables, body)
        self.buffers.append((f"{name}_out", shape))
        return True

    def branches(self, name: str) -> bool:
        """Two blocks, each for the iterations of one branch."""
        source = self._source()
        if source is None:
            return False
        buffer, shape = source
        axes = [Axis("spatial", extent) for extent in shape]
        heads, points, _ = Maker._around(self, name, axes)
        self.lines += [*heads, f"tir.if [{points[-1]} - {self.random.choice((1, 2))}] >= 0 {{"]
        for label in "ab":
            variables = self._variables(name + label, len(shape))
            body: list[str] = []
            value = self._loaded(Read(buffer, shape, variables), body)
            if label == "b":
                value = self._computed("add", value, "%two", body)
            body.append(self._stored(value, Read(f"{name}_out", shape, variables)))
            self._alone(name + label, axes, variables, body, points)
            self.lines.append("} else {" if label == "a" else "}")
        self.lines += ["}"] * len(heads)
        self.buffers.append((f"{name}_out", shape))
        return True


_STAGES: tuple[Callable[[WideMaker, str], bool], ...] = (
    WideMaker.halves,
    WideMaker.in_place,
    WideMaker.scan,
    WideMaker.product,
    WideMaker.reduction,
    WideMaker.strided,
    WideMaker.pair,
    WideMaker.numbers,
    WideMaker.rows,
    WideMaker.seen,
    WideMaker.branches,
)
