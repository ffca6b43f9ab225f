"""Tracks the contents of a program's values: writes make new values, and views of written tensors are recomputed.

A value gets a new name at each write. If it is a view, a step that belongs to the write puts the changed part back into
the whole; the view's own step recomputes other views of the whole where they are read.
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
    """Argument of the node -> its value."""
    output: tuple[int, int]
    """The number of its output of the node, and the number in that output's list."""


@dataclass(frozen=True, eq=False)
class Joined:
    """A result of a branch or loop that may be the same tensor as other values."""

    versions: Mapping[str, int]
    """The other values, which are not views, each with the number of writes to it so far."""


class Contents(ABC):
    """The steps of the region under construction, and the contents of each value in it."""

    def __init__(self, file: str):
        self.file, self.constants = file, Constants()
        self.steps: list[Step] = []
        self.region = Region((), (), self.steps, self.constants)
        """The main region."""
        self.metas: dict[str, TensorMeta] = {}
        self.made: dict[str, Made] = {}
        self.same: dict[str, str] = {}
        """Result of a write -> the value that was written to."""
        self.version: dict[str, int] = {}
        """The number of writes to each value that is not a view."""
        self.current: dict[str, tuple[str, int]] = {}
        """The name of each value's contents, and the number of the write that they come from."""
        self.joined: dict[str, Joined] = {}
        self.entered: dict[str, str] = {}
        """Carried or scanned value in the body of a loop -> the value that it is the same tensor as at first."""
        self.lost: dict[str, str] = {}
        """Value of unknown contents, which a loop writes to under another name -> the layer of the loop."""
        self._used: dict[str, int] = {}
        """Name of a value -> the number of names derived from it."""

    def fail(self, where: str, expected: str, actual: str) -> FrontendError:
        parts = (shortened(shown(part), SHOWN) for part in (where, expected, actual))
        return FrontendError("{}: {}: expected {}, got {}".format(self.file, *parts))

    # Names.

    def fresh(self, name: str) -> str:
        """Return a name that no value of the program has, different at each call."""
        unused_name = name
        while unused_name in self.current or unused_name in self.same or unused_name in self._used:
            self._used[name] = count = self._used.get(name, 0) + 1
            unused_name = f"{name}:{count}"
        self._used.setdefault(unused_name, 0)
        return unused_name

    def define(self, name: str) -> None:
        """Record a value that is not a view."""
        self.current[name] = (name, 0)

    def resolved(self, name: str, names: Mapping[str, str], where: str) -> str:
        """Return the value of a name in a graph; raises FrontendError, about `where`, for an unknown name."""
        if name not in names:
            raise self.fail(where, "a value that an input is or a node before gives", f"'{name}'")
        resolved_name = names[name]
        while resolved_name in self.same:
            resolved_name = self.same[resolved_name]
        return resolved_name

    def unused(self, name: str, names: Mapping[str, str], where: str) -> str:
        """Return a name in the whole program for a new value of a graph; raises FrontendError for a known value."""
        if name in (names.maps[0] if isinstance(names, ChainMap) else names):
            raise self.fail(where, "names of values that differ", f"two called '{name}'")
        return self.fresh(name)

    def constant(self, value: float, stem: str) -> str:
        """Add a constant that is a number; return its name."""
        name = self.fresh(stem)
        self.constants.sources[name] = held(np.asarray(value))
        self.define(name)
        return name

    # Regions.

    @abstractmethod
    def nodes(self, graph: Graph, names: MutableMapping[str, str], outer: Outer) -> None:
        """Add the steps of a graph, whose values have the names in `names`, and add the names of results to it."""

    @contextmanager
    def inside(self, region: Region) -> Generator[None]:
        """Add the next steps to a body; its changes of outer values are forgotten after it."""
        saved = self.steps, self.current, self.version
        self.steps, self.current, self.version = region.steps, dict(self.current), dict(self.version)
        yield
        self.steps, self.current, self.version = saved

    # Reading.

    def root(self, name: str) -> str:
        """Return the value that another value is a view of, or another name for."""
        while name in self.made or name in self.same:
            name = self.made[name].whole if name in self.made else self.same[name]
        return name

    def read(self, name: str, reader: str = "") -> str:
        """Return the name of a value's current contents; a view of a tensor that has been written to is recomputed."""
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
            # The sizes of the view stay the same; only the whole has new contents.
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
        """Raise FrontendError for a value that a write under another name may have changed."""
        if (layer := self.lost.get(root)) is not None:
            expected = f"a value of its own where '{layer}' writes to what it carries"
            raise self.fail(reader or f"'{name}'", expected, f"'{root}', which is read elsewhere, too")
        joined = self.joined.get(root)
        if joined is not None and any(self.version.get(other, 0) != at for other, at in joined.versions.items()):
            others = ", ".join(f"'{other}'" for other in joined.versions)
            expected = f"no write to {others}, which '{root}' may be the same tensor as"
            raise self.fail(reader or f"'{name}'", expected, "one")

    # Writing.

    def step(self, call: Call, names: Mapping[str, str], node: Node, outputs: tuple[str, ...]) -> None:
        """Add the step of a node, whose values have the names in `names`."""
        inputs = tuple(self.read(names[name], call.layer) for name in values_in(node.arguments))
        self.steps.append(Step(inputs, outputs, call.layer, "", source=call))

    def write(self, node: Node, call: Call, names: Mapping[str, str], target: str) -> None:
        """Add the step that computes new contents, and the steps that put them into the tensor that is viewed."""
        chain = [target]
        while chain[-1] in self.made:
            chain.append(self.made[chain[-1]].whole)
        root = chain[-1]
        if root in self.joined:
            self._refuse(call, f"one to '{root}', which is another tensor from call to call")
        if root in self.entered:
            self.lost[self.root(self.entered[root])] = call.layer
        old_contents = [self.read(name, call.layer) for name in reversed(chain)][::-1]
        version = self.version.get(root, 0) + 1
        new = self.fresh(f"{target}@{version}")
        meta = self.metas.get(target)
        self.step(replace(call, op_type=functional(call.op_type), in_place=True, metas=[meta]), names, node, (new,))
        self.current[new] = (new, version)
        contents = [new]
        for part, whole, old in zip(chain, chain[1:], old_contents[1:], strict=False):
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
        """Add the step that puts a new part into the whole; return the name of the new whole."""
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
    """Return the argument that a result is a view of."""
    return node.arguments.get(of) or next(iter(node.arguments.values()), None)


def _places(node: Node) -> list[tuple[int, int]]:
    return [(at, inner) for at, group in enumerate(node.outputs) for inner, _ in enumerate(group)]
