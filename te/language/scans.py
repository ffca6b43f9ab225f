"""`scan`: tensors over time, each row computed from earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...support.dtypes import fail
from .expr import Axis
from .tensor import ComputeOp, Operation, PlaceholderOp, Tensor, current_tag


class ScanOp(Operation):
    """States over time, the first dimension: rows of `init`, then rows of `update`."""

    def __init__(
        self,
        name: str,
        init: Sequence[Tensor],
        update: Sequence[Tensor],
        state: Sequence[Tensor],
        inputs: Sequence[Tensor],
        tag: str,
        attrs: dict[str, Any],
    ):
        super().__init__(name, [tensor.shape for tensor in state], [tensor.dtype for tensor in state])
        self.init = list(init)
        self.update = list(update)
        self.state_placeholder = list(state)
        self.inputs = list(inputs)
        self.tag = tag
        self.attrs = attrs
        first, steps = init[0].shape[0], state[0].shape[0]
        self.scan_axis = Axis(f"{name}.idx", steps - first, start=first)
        """The steps that are computed."""
        self.spatial_axis = [
            Axis(f"{name}.out{i}.i{k}", extent)
            for i, tensor in enumerate(state)
            for k, extent in enumerate(tensor.shape[1:], 2)
        ]
        self.axis = [self.scan_axis, *self.spatial_axis]

    @property
    def input_tensors(self) -> list[Tensor]:
        return [*self.init, *self.update]


def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: dict[str, Any] | None = None,
) -> Any:
    """The states after all steps: a tensor, or a list of them for several states.

    init: the first rows of each state. state_placeholder: `te.placeholder`s of the states' shapes, time first, that
    `update` reads at earlier times. update: the state at time t, as computes of that shape. inputs: other tensors that
    the updates read, as documentation. Raises ScheduleError when lengths, shapes or dtypes do not match.

        state = te.placeholder((m, n))
        first = te.compute((1, n), lambda _, i: X[0, i])
        total = te.scan(first, te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i]), state, inputs=[X])
    """
    inits, updates, states = ([t] if isinstance(t, Tensor) else list(t) for t in (init, update, state_placeholder))
    if not inits or len(inits) != len(updates) or len(inits) != len(states):
        fail(
            "te.scan: init, update, state_placeholder must have same length, "
            f"got {len(inits)}, {len(updates)} and {len(states)} (stage '{name}')"
        )
    for first, following, state in zip(inits, updates, states, strict=True):
        if not isinstance(state.op, PlaceholderOp):
            fail(f"te.scan: expected placeholders as states, got '{state.name}' (stage '{name}')")
        if not isinstance(following.op, ComputeOp):
            fail(f"te.scan: expected computes as updates, got '{following.name}' (stage '{name}')")
        _match(name, "the update", following, state, 0)
        _match(name, "the init", first, state, 1)
    if len(set(states)) != len(states):
        fail(f"te.scan: expected each state once (stage '{name}')")
    if current_tag() and tag:
        fail("te.scan: nested tag is not allowed for now")
    op = ScanOp(
        name=name,
        init=inits,
        update=updates,
        state=states,
        inputs=inputs or (),
        tag=tag or current_tag(),
        attrs=dict(attrs or {}),
    )
    return op.outputs[0] if isinstance(state_placeholder, Tensor) else op.outputs


def _match(name: str, what: str, tensor: Tensor, state: Tensor, begin: int) -> None:
    """Fail unless `tensor` has the state's dtype and, from dimension `begin` on, its shape."""
    same = tensor.ndim == state.ndim and tensor.ndim > 0 and tensor.dtype == state.dtype
    pairs = zip(tensor.shape[begin:], state.shape[begin:], strict=False)
    # Sizes that are expressions are compared when the schedule is made.
    if not same or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs):
        fail(
            f"te.scan: expected {what} of {state.dtype}{list(state.shape)}{', fewer rows,' if begin else ''} "
            f"as state '{state.name}' has, got {tensor.dtype}{list(tensor.shape)} (stage '{name}')"
        )
