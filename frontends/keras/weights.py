"""Finds the weights of layers in a model's file, by attributes and names of layers, never by counting them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...support.errors import FrontendError
from .hdf5 import Dataset, Group, Hdf5


@dataclass(frozen=True)
class Variables:
    """The variables that a layer has at one of its attributes, in the order in which Keras creates them."""

    names: tuple[str, ...]
    """Names in the layer; the name in older files stands behind a `|`."""
    path: str = ""
    """The path of attributes, `forward_layer/cell`; empty for the layer's own variables."""
    others: tuple[str, ...] = ()
    """Paths of the same attributes in files of other versions."""
    inner: str = ""
    """The name of the layer at the path, where older files need it to tell it from its neighbours."""
    older: tuple[str, ...] | None = None
    """The names of the variables that older files have, too; by default all."""

    def named(self, name: str) -> str:
        """Return what a weight is called in the layer: `forward_layer.cell.kernel`."""
        return ".".join([*filter(None, self.path.split("/")), name.partition("|")[0]])

    def __post_init__(self) -> None:
        if self.older is None:
            object.__setattr__(self, "older", self.names)

    def under(self, path: str, inner: str = "") -> Variables:
        """Return these variables of a layer that another has at an attribute."""

        def below(own: str) -> str:
            return f"{path}/{own}" if own else path

        return Variables(self.names, below(self.path), tuple(map(below, self.others)), inner or self.inner, self.older)


@dataclass(frozen=True)
class Place:
    """The model that a layer is in."""

    scopes: tuple[str, ...] = ()
    """The names of the models around it, from the outermost that is itself a layer inwards."""
    siblings: tuple[tuple[str, str], ...] = ()
    """The names and classes of the model's layers, in order."""
    outer: Place | None = None

    def inside(self, name: str, siblings: Sequence[tuple[str, str]]) -> Place:
        return Place((*self.scopes, name), tuple(siblings), self)


class Store(ABC):
    """The weights of a file."""

    def __init__(self, file: Hdf5):
        self.file = file

    @abstractmethod
    def find(self, scope: Place, layer: str, variables: Sequence[Variables]) -> dict[str, Dataset]:
        """Return the datasets of a layer's variables, by their names in the layer.

        Raises FrontendError where datasets are missing or left over.
        """

    def fail(self, scope: Place, layer: str, expected: str, actual: str) -> FrontendError:
        name = "/".join((*scope.scopes, layer))
        return FrontendError(f"{self.file.file}: expected {expected} of layer '{name}', got {actual}")


class Attributed(Store):
    """Weights by attributes, as `.keras` files have them: `layers/<class>_<n>/<attribute>/../vars/<n>`."""

    def __init__(self, file: Hdf5):
        super().__init__(file)
        self._models: dict[tuple[str, ...], dict[str, Group]] = {}

    def find(self, scope: Place, layer: str, variables: Sequence[Variables]) -> dict[str, Dataset]:
        if not any(part.names for part in variables):
            return {}
        group = self._layers(scope).get(layer)
        if group is None:
            raise self.fail(scope, layer, "weights", "none of it in the file")
        datasets: dict[str, Dataset] = {}
        for part in variables:
            datasets |= self._part(scope, layer, group, part)
        return datasets

    def _part(self, scope: Place, layer: str, group: Group, part: Variables) -> dict[str, Dataset]:
        groups = [self.file.at(group, f"{path}/vars") for path in (part.path, *part.others)]
        variables_group = next((group for group in groups if group is not None), None)
        members = [] if variables_group is None else self.file.members(variables_group)
        where = f" at '{part.path}'" if part.path else ""
        if variables_group is None or sorted(members) != sorted(map(str, range(len(part.names)))):
            expected = f"{len(part.names)} weights{where} ({', '.join(part.names)})"
            raise self.fail(scope, layer, expected, f"{len(members)}" if variables_group is not None else "none")
        datasets: dict[str, Dataset] = {}
        for at, name in enumerate(part.names):
            dataset = self.file.dataset(variables_group, str(at))
            if dataset is None:
                raise self.fail(scope, layer, f"numbers as {name}{where}", "a group")
            datasets[part.named(name)] = dataset
        return datasets

    def _layers(self, scope: Place) -> dict[str, Group]:
        """Return the groups of the layers of a model, by the names of the layers that they hold."""
        if (candidates := self._models.get(scope.scopes)) is not None:
            return candidates
        model = self.file.root if scope.outer is None else self._layers(scope.outer).get(scope.scopes[-1])
        groups: dict[str, Group] = {}
        layers = None
        if model is not None:
            layers = self.file.group(model, "layers") or self.file.group(model, "_layer_checkpoint_dependencies")
        if layers is not None:
            by_key = {key: group for key in self.file.members(layers) if (group := self.file.group(layers, key))}
            for group in by_key.values():
                variables_group = self.file.group(group, "vars")
                name = None if variables_group is None else self.file.text(variables_group, "name")
                if name is not None:
                    if name in groups:
                        raise self.fail(scope, name, "weights", "those of two layers of that name")
                    groups[name] = group
            if not groups:
                # The first versions of Keras 3 wrote no names: a class is counted in the order of the layers.
                groups = {name: by_key[key] for name, key in _keys(scope.siblings) if key in by_key}
        self._models[scope.scopes] = groups
        return groups


def _keys(layers: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the names of layers with the names of their groups, in files that have no other names."""
    counts: dict[str, int] = {}
    for name, kind in layers:
        snake = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", kind))
        snake = re.sub("([a-z])([A-Z])", r"\1_\2", snake).lower()
        count = counts.get(snake, 0)
        counts[snake] = count + 1
        yield name, f"{snake}_{count}" if count else snake


class Named(Store):
    """Weights by name, as `.h5` files have them: `model_weights/<layer>` with a list of the names in it."""

    def __init__(self, file: Hdf5):
        super().__init__(file)
        self._weights = file.group(file.root, "model_weights")
        self._known: dict[str, list[tuple[tuple[str, ...], Dataset]]] = {}

    def find(self, scope: Place, layer: str, variables: Sequence[Variables]) -> dict[str, Dataset]:
        if not any(part.names for part in variables):
            return {}
        scopes = (*scope.scopes, layer)
        listed = self._of(scopes[0], scope, layer)
        rows = [row for row in listed if layer in row[0][:-1] or not scope.scopes]
        if scope.scopes:
            # Where several models have layers of one name, take the weights whose names hold most models around it.
            closest = max((_shared(row[0], scopes) for row in rows), default=0)
            rows = [row for row in rows if _shared(row[0], scopes) == closest]
        datasets: dict[str, Dataset] = {}
        for part in variables:
            for name in part.older or ():
                candidates = [
                    row for row in rows if row[0][-1] in name.split("|") and (part.inner in row[0] or not part.inner)
                ]
                if not candidates:
                    missing = "/".join(filter(None, (part.path, name)))
                    actual = ", ".join("/".join(path) for path, _ in rows) or "none"
                    raise self.fail(scope, layer, f"a weight {missing}", actual)
                rows.remove(candidates[0])
                datasets[part.named(name)] = candidates[0][1]
        if rows:
            raise self.fail(scope, layer, f"{len(datasets)} weights", f"also {'/'.join(rows[0][0])}")
        return datasets

    def _of(self, outermost: str, scope: Place, layer: str) -> list[tuple[tuple[str, ...], Dataset]]:
        """Return the weights of a layer of the whole model, with the parts of their names, in order."""
        if outermost not in self._known:
            group = None if self._weights is None else self.file.group(self._weights, outermost)
            names = None if group is None else self.file.texts(group, "weight_names")
            if group is None or names is None:
                raise self.fail(scope, layer, "weights", "none of it in the file")
            rows: list[tuple[tuple[str, ...], Dataset]] = []
            for name in names:
                *path, last = name.split("/")
                parent = self.file.at(group, "/".join(path))
                dataset = None if parent is None else self.file.dataset(parent, last)
                if dataset is None:
                    raise self.fail(scope, layer, f"weight '{name}'", "none of that name")
                rows.append(((*path, re.sub(r":\d+$", "", last)), dataset))
            self._known[outermost] = rows
        return self._known[outermost]


def _shared(path: tuple[str, ...], scopes: tuple[str, ...]) -> int:
    return sum(scope in path for scope in scopes)
