"""Values of a program and what they contain: writes make new ones, and views of what was written to are made again.

A value that is written to gets a new name at each write. What it is a view of gets the changed part put back, by a
step that belongs to the write; other views of that are made again where they are read, by the view's own step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Generator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from ...provenance.diagnostics import message
from ...runtime.interpreting.flow import Region, Step
from ...support.errors import FrontendError
from ...support.names import shortened, shown
from ..importing.constants import Constants, held
from .archive import SHOWN
from .calls import At, Call, Operand, placed, values_in
from .places import Outer
from .schema import Argument, Graph, Name, Node, TensorMeta
from .views import VIEWS, functional, operator_of


@dataclass(eq=False)
class Made:
    """The origin of a value that is a view."""

    whole: str
    node: Node
    call: Call
    names: Mapping[str, str]
    """The values that the node's arguments stand for."""
    output: tuple[int, int]
    """Which of the node's outputs it is: its number, and that among a list."""


@dataclass(frozen=True, eq=False)
class Joined:
    """A result of a branch or loop that may be, at a call, the same tensor as others."""

    versions: Mapping[str, int]
    """These others, which are no views, each with the number of writes to it so far."""


class Contents(ABC):
    """The steps of the region that is being made, and what each value contains there."""

    def __init__(self, file: str):
        self.file, self.constants = file, Constants()
        self.steps: list[Step] = []
        self.region = Region((), (), self.steps, self.constants)
        """The main region."""
        self.metas: dict[str, TensorMeta] = {}
        self.made: dict[str, Made] = {}
        self.same: dict[str, str] = {}
        """A result of a write -> what was written to."""
        self.version: dict[str, int] = {}
        """The number of writes to a value that is no view."""
        self.current: dict[str, tuple[str, int]] = {}
        """The name of a value's contents, and the write that they come from."""
        self.joined: dict[str, Joined] = {}
        self.entered: dict[str, str] = {}
        """What a loop carries or scans, as its body has it -> the value that it is the same tensor as at first."""
        self.lost: dict[str, str] = {}
        """Values that loops write to under other names -> the layer that does: what they contain is not known."""
        self._used: dict[str, int] = {}
        """Names of values, and of each the number of others that begin with it."""

    def fail(self, where: str, expected: str, actual: str) -> FrontendError:
        parts = (shortened(shown(part), SHOWN) for part in (where, expected, actual))
        return FrontendError("{}: {}: expected {}, got {}".format(self.file, *parts))

    # Names.

    def fresh(self, name: str) -> str:
        """Return a name that no value of the program has, nor any other answer."""
        wanted = name
        while wanted in self.current or wanted in self.same or wanted in self._used:
            self._used[name] = count = self._used.get(name, 0) + 1
            wanted = f"{name}:{count}"
        self._used.setdefault(wanted, 0)
        return wanted

    def define(self, name: str) -> None:
        """Note a value that is no view."""
        self.current[name] = (name, 0)

    def resolved(self, name: str, names: Mapping[str, str], where: str) -> str:
        """Return the value that a name of a graph stands for; raises FrontendError, about `where`, for none."""
        if name not in names:
            raise self.fail(where, "a value that an input is or a node before gives", f"'{name}'")
        result = names[name]
        while result in self.same:
            result = self.same[result]
        return result

    def unused(self, name: str, names: Mapping[str, str], where: str) -> str:
        """A name of the whole program for a value of a graph, where it must be new."""
        if name in (names.maps[0] if isinstance(names, ChainMap) else names):
            raise self.fail(where, "names of values that differ", f"two called '{name}'")
        return self.fresh(name)

    def constant(self, value: float, wanted: str) -> str:
        """The name of a constant that is a number."""
        name = self.fresh(wanted)
        self.constants.sources[name] = held(np.asarray(value))
        self.define(name)
        return name

    # Regions.

    @abstractmethod
    def nodes(self, graph: Graph, names: MutableMapping[str, str], outer: Outer) -> None:
        """Add the steps of a graph, whose values have the names in `names`; it gets those of results."""

    @contextmanager
    def inside(self, region: Region) -> Generator[None]:
        """Make the steps of a body; what it leaves of values around it is forgotten behind it."""
        saved = self.steps, self.current, self.version
        self.steps, self.current, self.version = region.steps, dict(self.current), dict(self.version)
        yield
        self.steps, self.current, self.version = saved

    # Reading.

    def root(self, name: str) -> str:
        """Return what a value is a view of, or of which it is another name."""
        while name in self.made or name in self.same:
            name = self.made[name].whole if name in self.made else self.same[name]
        return name

    def read(self, name: str, reader: str = "") -> str:
        """The name of a value's contents now; a view of what was written to since is made again."""
        chain: list[str] = []
        root = self.root(name)
        self._check_known(root, name, reader)
        version = self.version.get(root, 0)
        while name in self.made and self.current[name][1] != version:
            chain.append(name)
            name = self.made[name].whole
        for view in reversed(chain):
            view_of = self.made[view]
            group = [
                self.fresh(f"{view}@{version}") if (at, inner) == view_of.output else ""
                for at, inner in _places(view_of.node)
            ]
            new = next(filter(None, group))
            self.current[new] = (new, version)
            metas = [self.metas.get(view) if item else None for item in group]
            call = replace(view_of.call, metas=metas)
            # Its sizes are those it had; only the whole has new contents.
            values = values_in(view_of.node.arguments)
            whole = viewed(view_of.node, VIEWS[operator_of(view_of.node)].of)
            inputs = tuple(
                self.current[view_of.whole][0]
                if isinstance(whole, Name) and item == whole.name
                else self.read(view_of.names[item])
                for item in values
            )
            self.steps.append(Step(inputs, tuple(group), call.layer, "", source=call))
            self.current[view] = (new, version)
        return self.current[name][0] if not chain else self.current[chain[0]][0]

    def _check_known(self, root: str, name: str, reader: str) -> None:
        """Complain of a value that a write under another name may have changed."""
        if (layer := self.lost.get(root)) is not None:
            expected = f"a value of its own where '{layer}' writes to what it carries"
            raise self.fail(reader or f"'{name}'", expected, f"'{root}', which is read elsewhere, too")
        joined = self.joined.get(root)
        if joined is not None and any(self.version.get(other, 0) != at for other, at in joined.versions.items()):
            others = ", ".join(f"'{other}'" for other in joined.versions)
            expected = f"no write to {others}, which '{root}' may be the same tensor as"
            raise self.fail(reader or f"'{name}'", expected, "one")

    # Writing.

    def step(self, call: Call, own: Mapping[str, str], node: Node, outputs: tuple[str, ...]) -> None:
        """Add the step of a node, whose values have the names in `own`."""
        inputs = tuple(self.read(own[name], call.layer) for name in values_in(node.arguments))
        self.steps.append(Step(inputs, outputs, call.layer, "", source=call))

    def write(self, node: Node, call: Call, own: Mapping[str, str], target: str) -> None:
        """The step that computes new contents, and those that put them into what the target is a view of."""
        chain = [target]
        while chain[-1] in self.made:
            chain.append(self.made[chain[-1]].whole)
        root = chain[-1]
        if root in self.joined:
            self._refuse(call, f"one to '{root}', which is another tensor from call to call")
        if root in self.entered:
            self.lost[self.root(self.entered[root])] = call.layer
        before = [self.read(name, call.layer) for name in reversed(chain)][::-1]
        version = self.version.get(root, 0) + 1
        new = self.fresh(f"{target}@{version}")
        meta = self.metas.get(target)
        self.step(replace(call, op_type=functional(call.op_type), in_place=True, metas=[meta]), own, node, (new,))
        self.current[new] = (new, version)
        contents = [new]
        for part, whole, old in zip(chain, chain[1:], before[1:], strict=False):
            view_of = self.made[part]
            view = VIEWS[operator_of(view_of.node)]
            if view.scattered is None:
                self._refuse(call, f"one to what {view_of.node.target} gives")
            scattered = view.scattered(view_of.node, view_of.output[1])
            contents.append(self._put_back(call, scattered, view_of, old, contents[-1], whole, version))
        self.version[root] = version
        for name, value in zip(chain, contents, strict=True):
            self.current[name] = (value, version)

    def _refuse(self, call: Call, actual: str) -> NoReturn:
        raise FrontendError(message(call.op_type, "a write to a tensor, or to a part of one", actual, call.leaf))

    def _put_back(
        self,
        call: Call,
        scattered: tuple[str, dict[str, Argument]],
        view_of: Made,
        old: str,
        part: str,
        whole: str,
        version: int,
    ) -> str:
        """The whole with a new part."""
        op_type, extra = scattered
        operand = values_in(extra)
        order = {name: at + 2 for at, name in enumerate(operand)}
        arguments: dict[str, Operand] = {"self": At(0), "src": At(1)}
        arguments |= {key: placed(value, order) for key, value in extra.items()}
        inputs = [old, part, *(self.read(view_of.names[name]) for name in operand)]
        new = self.fresh(f"{whole}@{version}")
        step = replace(call, op_type=op_type, arguments=arguments, metas=[self.metas.get(whole)], in_place=False)
        self.steps.append(Step(tuple(inputs), (new,), call.layer, "", source=step))
        self.current[new] = (new, version)
        return new


def viewed(node: Node, of: str) -> Argument:
    """The argument that a result is a view of."""
    return node.arguments.get(of) or next(iter(node.arguments.values()), None)


def _places(node: Node) -> list[tuple[int, int]]:
    return [(at, inner) for at, group in enumerate(node.outputs) for inner, _ in enumerate(group)]
