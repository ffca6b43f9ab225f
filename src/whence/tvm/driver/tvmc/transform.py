"""Changes of a module before it is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whence import relay, transform
from whence.relay.module import IRModule
from whence.support.errors import PipelineError, expectation

_LAYOUT_OPS = ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d")


def convert_graph_layout(
    mod: IRModule, desired_layouts: Sequence[str] | str, ops: Sequence[str] | None = None
) -> IRModule:
    """The module with operators in other layouts, and their constants folded.

    desired_layouts: `NHWC`, or of the weights as well `NHWC:HWIO`; one for all operators, or one for each of `ops`.
    Raises PipelineError where their numbers differ, and the errors of ConvertLayout.
    """
    layouts = [desired_layouts] if isinstance(desired_layouts, str) else list(desired_layouts)
    names = list(ops) if ops else list(_LAYOUT_OPS)
    if len(layouts) not in (1, len(names)) or (len(layouts) > 1 and not ops):
        expected = "one layout, or one for each operator of desired_layout_ops"
        raise PipelineError(expectation("desired_layout", expected, f"{len(layouts)} for {len(names)}"))
    layouts = layouts * len(names) if len(layouts) == 1 else layouts
    wanted = {name: [*layout.split(":"), "default"][:2] for name, layout in zip(names, layouts, strict=True)}
    passes = [
        relay.transform.RemoveUnusedFunctions(),
        relay.transform.ConvertLayout(wanted),
        relay.transform.FoldConstant(),
    ]
    return transform.Sequential(passes)(mod)


def apply_graph_transforms(mod: IRModule, args: Mapping[str, Any] | None) -> IRModule:
    """The module after the changes that options ask for: `desired_layout` and `desired_layout_ops`. Errors as there."""
    if not args or not args.get("desired_layout"):
        return mod
    return convert_graph_layout(mod, args["desired_layout"], args.get("desired_layout_ops"))
