"""Calls that give arrays away: their memory becomes that of outputs, which are longer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from whence.dialects.relay.constants import set_pool
from whence.executables.apart import copied_pool, imported
from whence.passes.relay.append_in_place import Appended, Room, append_in_place, appended
from whence.planning.artifact import Artifact
from whence.planning.build import main_of, names_of
from whence.planning.loading import load as load_artifact
from whence.provenance.ledger import Ledger
from whence.provenance.numbers import same_module
from whence.runtime.program.executor import Runner
from whence.runtime.program.sizes import Number, SizedSpec, number
from whence.runtime.program.threads import ThreadPool
from whence.runtime.values.growing import Growing, growing_of, room_for
from whence.runtime.values.tensors import Tensor, TensorSpec
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, enumerated, expectation

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class Donating:
    """The program of a model that appends to some of its inputs where they are."""

    def __init__(self, artifact: Artifact, build: Callable[[ModuleOp, Ledger], Artifact], names: Sequence[str]):
        """Compile it. Raises FrontendError for an input that no output continues."""
        module = same_module(artifact.snapshots[0].module)
        set_pool(module, copied_pool(artifact.snapshots[0].module))
        main = main_of(module)
        inputs = [spec.name for spec in artifact.inputs]
        possible = {inputs[one.argument]: one for one in appended(main)}
        if unknown := [name for name in names if name not in possible]:
            expected = f"inputs that an output continues: {enumerated(tuple(possible)) or 'there is none'}"
            raise FrontendError(expectation("donate", expected, ", ".join(unknown)))
        self._names = inputs
        chosen = [possible[name] for name in dict.fromkeys(names)]
        self._lengths = {one.result: _extent(artifact.outputs[one.result], one.axis) for one in chosen}
        self._rooms: Sequence[Room] = append_in_place(module, main, chosen)
        self._names += names_of(main, "input_names")[len(inputs) :]
        self.artifact = build(module, imported(artifact.ledger))
        self._runner: Runner = load_artifact(self.artifact)

    def run(self, arrays: Sequence[Array], values: Sequence[int], pool: ThreadPool) -> Sequence[Tensor]:
        """Return the outputs for inputs that the program for all sizes accepts, with these values of it.

        Raises FrontendError for an array that was given away before.
        """
        given = [*arrays, *(np.empty(0) for _ in self._rooms)]
        kept: dict[int, tuple[Growing, int]] = {}
        claimed: list[tuple[Growing, int, int]] = []
        try:
            for room in self._rooms:
                kept |= self._placed(room, given, values, claimed)
            memory = {result: growing.whole for result, (growing, _) in kept.items()}
            results = self._runner.run_into(given, memory, pool)
        except BaseException:
            for growing, before, after in claimed:
                growing.claim(after, before)
            raise
        for result, (growing, rows) in kept.items():
            results[result] = growing.first(rows)
        return results

    def _placed(
        self,
        room: Room,
        given: list[Array],
        values: Sequence[int],
        claimed: list[tuple[Growing, int, int]],
    ) -> dict[int, tuple[Growing, int]]:
        """Put memory with room for more rows in the place of arrays; return it, and its rows then, for each output.

        What it takes from arrays that were given out before is added to `claimed`.
        """
        before, after = given[room.members[0].argument].shape[room.members[0].axis], 0
        kept: list[Growing | None] = []
        for one in room.members:
            growing, after = growing_of(given[one.argument], one.axis), number(self._lengths[one.result], values)
            if growing is not None:
                if not growing.claim(before, after):
                    name, actual = self._names[one.argument], f"one of {before}, whose memory has {growing.rows}"
                    expected = f"an array '{name}' of all its rows, which was not given away before"
                    raise FrontendError(expectation("donate", expected, actual))
                claimed.append((growing, before, after))
            kept.append(growing)
        count = None if kept[0] is None else kept[0].room
        if count is None or count < after or any(growing is None or growing.room != count for growing in kept):
            kept = [_moved(given[one.argument], one, room_for(after), after) for one in room.members]
        placed: dict[int, tuple[Growing, int]] = {}
        for one, growing in zip(room.members, kept, strict=True):
            assert growing is not None
            given[one.argument] = growing.whole
            placed[one.result] = growing, after
        given[room.ruler] = np.empty((before, 0), np.bool_)
        return placed


def _extent(spec: TensorSpec, axis: int) -> Number:
    return spec.numbers[axis] if isinstance(spec, SizedSpec) else spec.shape[axis]


def _moved(array: Array, one: Appended, room: int, rows: int) -> Growing:
    """A copy of an array that has room for more, and will have so many rows."""
    shape = list(array.shape)
    shape[one.axis] = room
    growing = Growing(tuple(shape), array.dtype, one.axis)
    growing.first(array.shape[one.axis])[...] = array
    growing.rows = rows
    return growing
