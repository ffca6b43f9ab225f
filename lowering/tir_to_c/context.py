"""The state of the printing of one kernel as C, which the tables of handlers share."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.sizes import Size
from ...dialects.sizes.kernel import number_of, whole_of
from ...dialects.sizes.terms import Atom, Polynomial
from ...dialects.tir import BufferType
from ...provenance.diagnostics import fail
from ...provenance.span import is_known
from .conversions import conversion_name
from .prelude import Vectors, halved
from .types import CType, c_type, vector_name

_WORDS: frozenset[str] = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm bool true "
    "false l pool workspace context begin end main NAN INFINITY".split()
)
"""Names that no value gets."""


class Name(NamedTuple):
    """A value of tir in C: its text, and that of lane `l` of a vector."""

    text: str
    lane: str


@dataclass
class Function:
    """A function of C under construction."""

    lines: list[str] = field(default_factory=list[str])
    depth: int = 1
    taken: list[str] = field(default_factory=list[str])
    """The buffers of open sizes that it frees at its end."""
    tiles: Operation | None = None
    """The configuration of tiles that was printed last; the end of the function releases them."""


class Printing:
    """Walks tir, op by op: each goes to its handler in the table, which adds lines and names the results.

    vectors: GNU's vectors hold vectors; else arrays do, which loops over lanes fill.
    """

    def __init__(
        self,
        symbol: str,
        handlers: Mapping[type[Operation], Handler],
        comment: Callable[[LocationAttr], Sequence[str]],
        *,
        vectors: bool,
        flush: bool,
    ):
        """comment: the lines that say where what follows comes from. flush: denormal results are 0."""
        self.symbol, self.vectors, self.flush = symbol, vectors, flush
        self.names: dict[SSAValue, Name] = {}
        self.readonly: set[SSAValue] = set()
        self.prefixes: dict[SSAValue, str] = {}
        """Masks of leading lanes -> how many lanes are set."""
        self.used = Vectors()
        self.functions: list[str] = []
        """The functions made so far, of parallel loops."""
        self.externs: dict[str, str] = {}
        """Prototypes of functions that it calls."""
        self.sizes: tuple[str, ...] = ()
        self.workspace = 0
        """Bytes of workspace that global buffers take so far."""
        self.parallel = 0
        self.in_parallel = False
        self.function = Function()
        self._used: set[str] = set(_WORDS)
        self._handlers = handlers
        self._comment = comment
        self._noted: Sequence[str] = ()

    # Lines

    def emit(self, text: str) -> None:
        """Add a line."""
        self.function.lines.append("  " * self.function.depth + text if text[:1] != "#" else text)

    @contextmanager
    def braces(self, head: str) -> Generator[None]:
        """Within this context lines go between braces behind `head`."""
        self.emit(f"{head} {{")
        self.function.depth += 1
        yield
        self.function.depth -= 1
        self.emit("}")

    @contextmanager
    def inside(self, function: Function) -> Generator[None]:
        """Within this context `function` is built."""
        outer, noted = self.function, self._noted
        self.function, self._noted = function, ()
        yield
        self.function, self._noted = outer, noted

    def lower(self, block: Block) -> None:
        """Print the ops of a block; raises VerifyException for one that has no C."""
        for op in block.ops:
            if (handler := self._handlers.get(type(op))) is None:
                fail(op, "an op that C source has", op.name)
            self._note(op.location)
            handler(self, op)

    def lower_again(self, op: Operation) -> None:
        """Print an op of an enclosing function in this one, too."""
        self._handlers[type(op)](self, op)

    def _note(self, location: LocationAttr) -> None:
        """Say whom the following lines serve, where others served somebody else."""
        if not is_known(location):
            return
        lines = self._comment(location)
        if lines and lines != self._noted:
            for line in lines:
                self.emit(line)
            self._noted = lines

    # Names and types

    def unused(self, hint: str | None) -> str:
        """A name that nothing else in the kernel has."""
        base = "".join(c if c.isascii() and c.isalnum() else "_" for c in hint or "v").strip("_") or "v"
        base = f"v{base}" if base[0].isdigit() else base
        name, number = base, 0
        while name in self._used or name.startswith("whence"):
            number += 1
            name = f"{base.removeprefix('whence')}_{number}"
        self._used.add(name)
        return name

    def reserve(self, names: Iterable[str]) -> None:
        """Keep names from values."""
        self._used.update(names)

    def vector(self, type_: CType) -> str:
        """The name of a vector type, which the file then defines."""
        name = vector_name(type_)
        if name not in self.used.types:
            self.used.types[name] = type_
            if type_.is_float:
                self.vector(type_.integer)
                if (half := halved(type_)) is not None:
                    self.vector(half)
        return name

    def converted(self, text: str, source: CType, target: CType) -> str:
        """A vector as one of other numbers."""
        self.vector(source)
        name = self.vector(target)
        if source.is_float or target.is_float or source.bits == target.bits:
            return f"__builtin_convertvector({text}, {name})"
        macro = conversion_name(source, target)
        self.used.conversions[macro] = source, target
        return f"{macro}({text})"

    def prefixed(self, type_: CType) -> str:
        """The name of a vector type of which leading lanes are read or written."""
        name = self.vector(type_)
        self.vector(type_.integer)
        self.used.prefixes[name] = type_
        return name

    def spelled(self, type_: CType) -> str:
        """C's name of the type of a value."""
        return self.vector(type_) if type_.lanes and self.vectors else type_.scalar

    # Values

    def texts(self, op: Operation) -> list[Name]:
        """The operands of an op."""
        return [self.names[operand] for operand in op.operands]

    def let(self, op: Operation, text: str) -> None:
        """Name the result of an op: a scalar, or a vector where there are some."""
        (result,) = op.results
        self.bind(result, c_type(op, result.type), text)

    def bind(self, value: SSAValue, type_: CType, text: str) -> None:
        """Define a value that something uses."""
        if value.first_use is None:
            return
        name = self.unused(value.name_hint)
        self.emit(f"const {self.spelled(type_)} {name} = {text};")
        self.names[value] = _named(name, type_)

    def by_lane(self, op: Operation, formula: Callable[[Sequence[str]], str], operands: Sequence[SSAValue]) -> None:
        """Define the result of an op by a formula of its scalars, or of the lanes of its vectors."""
        (result,) = op.results
        type_ = c_type(op, result.type)
        names = [self.names[operand] for operand in operands]
        if not type_.lanes:
            self.bind(result, type_, formula([name.text for name in names]))
            return
        name = self.declare(result, type_)
        lanes = [self.lane(operand) for operand in operands]
        self.fill(name, type_, formula(lanes))

    def name_buffer(self, buffer: SSAValue, name: str) -> None:
        self.names[buffer] = Name(name, name)

    def lane(self, value: SSAValue) -> str:
        """Lane `l` of a value, a bool where it is a mask."""
        text = self.names[value].lane
        mask = self.vectors and self.is_mask(value.type)
        return f"({text} != 0)" if mask else text

    @staticmethod
    def is_mask(type_: Attribute) -> bool:
        return str(type_).startswith("vector") and str(type_).endswith("xi1>")

    def declare(self, value: SSAValue, type_: CType, text: str = "") -> str:
        """Declare a vector that is filled afterwards; returns its name. text: of what it is at first."""
        name = self.unused(value.name_hint)
        start = f" = {text}" if text else ""
        whole = f"{self.vector(type_)} {name}" if self.vectors else f"{type_.scalar} {name}[{type_.lanes}]"
        self.emit(f"{whole}{start};")
        self.names[value] = _named(name, type_)
        return name

    def fill(self, name: str, type_: CType, text: str, condition: str = "") -> None:
        """Set each lane `l` of a vector, where a condition holds."""
        value = f"-({text})" if type_.is_bool and self.vectors else text
        test = f"if ({condition}) " if condition else ""
        self.emit(f"for (int l = 0; l < {type_.lanes}; l++) {test}{name}[l] = {value};")

    # Sizes

    def size(self, size: Size) -> str:
        """A size as an expression."""
        if isinstance(size, int):
            return str(size)
        return f"({_sum(size.terms, lambda atom: self._atom(atom))})"

    def _atom(self, atom: Atom) -> str:
        if not atom.kind:
            return self.sizes[number_of(atom.text)]
        return atom_text(atom, [self.size(whole_of(terms)) for terms in atom.args])


def _named(name: str, type_: CType) -> Name:
    return Name(name, f"{name}[l]" if type_.lanes else name)


def atom_text(atom: Atom, parts: Sequence[str]) -> str:
    """A quotient, rest, minimum or maximum of sizes; a divisor of 0, where nothing is computed with it, is 1."""
    if atom.kind in ("min", "max"):
        text = parts[0]
        for part in parts[1:]:
            text = f"whence_{atom.kind}({text}, {part})"
        return text
    name = {"floordiv": "whence_floordiv", "mod": "whence_floormod"}[atom.kind]
    divisor = parts[1] if parts[1].isdecimal() else f"whence_max({parts[1]}, 1)"
    return f"{name}({parts[0]}, {divisor})"


def _sum(terms: Polynomial, spell: Callable[[Atom], str]) -> str:
    parts: list[str] = []
    for factors, coefficient in terms.items():
        words = [spell(atom) for atom in factors]
        if coefficient != 1 or not words:
            words.append(str(coefficient))
        parts.append(" * ".join(words))
    return " + ".join(parts) or "0"


polynomial_text = _sum
Handler: TypeAlias = Callable[[Printing, Operation], None]


def buffer_name(type_: BufferType, op: Operation) -> str:
    """C's name of the elements of a buffer."""
    return c_type(op, type_.element_type).stored
