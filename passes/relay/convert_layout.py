"""relay-convert-layout: operators compute in the layouts that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.relay import qnn_products
from ...dialects.relay.convolution_transpose import ConvTranspose
from ...dialects.relay.core import ConstantOp, FuncOp
from ...dialects.relay.layout import parse_layout, strides
from ...dialects.relay.layout_traits import OwnLayouts
from ...dialects.relay.nn import Conv2DOp
from ...dialects.relay.operator import Operator, shape_of
from ...provenance.cse import eliminate_common_subexpressions
from ...provenance.diagnostics import message
from ...provenance.rewrite import rewrite
from ...support.errors import PipelineError
from ...syntax.relay.op_attrs import CONVERT_LAYOUT, operators_with
from .blocking import in_layouts
from .sink_layouts import is_other, sinking

NAME = "relay-convert-layout"


def _fail(expected: str, found: str) -> NoReturn:
    raise PipelineError(message(NAME, expected, found))


def parse_layouts(text: str) -> dict[str, list[str]]:
    """`nn.conv2d:NHWC,HWIO;nn.max_pool2d:NHWC` as a table; raises PipelineError for what is none."""
    layouts_of: dict[str, list[str]] = {}
    for part in filter(None, text.split(";")):
        name, colon, layouts = part.partition(":")
        if not colon or not layouts:
            _fail("desired-layouts as in nn.conv2d:NHWC,HWIO", repr(part))
        layouts_of[name.strip()] = [layout.strip() for layout in layouts.split(",")]
    return layouts_of


def _checked(name: str, layouts: Sequence[str]) -> tuple[str, str]:
    """The data and kernel layout of an operator, kernel "default" where nothing is said."""
    from ...dialects.relay import OPERATORS

    by_name = {op.name.removeprefix("relay."): op for op in OPERATORS}
    cls = by_name.get(name)
    named = None if cls is None else cls.get_trait(OwnLayouts)
    if cls is None or named is None:
        names = sorted(name for name, operator in by_name.items() if operator.has_trait(OwnLayouts))
        _fail(f"an operator that takes layouts, among {', '.join(names)}", repr(name))
    data, kernel = (*layouts, "default", "default")[:2]
    first, *others = named.attributes
    spatial = ", ".join(named.plain(cls, first)[2:])
    if not named.allows(cls, first, data) or len(layouts) > 2:
        _fail(f"a data layout of the axes N, C, {spatial} for {name}", ",".join(layouts))
    if kernel != "default" and not (others and named.allows(cls, others[0], kernel)):
        _fail(f"a kernel layout of the axes O, I, {spatial} for {name}", kernel)
    return data, kernel


def _divides(value: SSAValue, source: str, target: str) -> bool:
    """Return whether the blocks of a layout divide the extents of a value in a plain one."""
    extents = dict(zip(source, shape_of(value), strict=True))
    axes = parse_layout(target)
    wholes = [(axis.letter, stride * (axis.factor or 1)) for axis, stride in zip(axes, strides(axes), strict=True)]
    return all(count == 1 or extents[letter] % count == 0 for letter, count in wholes)


class LayoutConfig:
    """Within its scope ConvertLayout leaves convolutions alone that are counted from 0, `skip_layers`, as in TVM."""

    current: ClassVar[LayoutConfig | None] = None

    def __init__(self, skip_layers: Sequence[int] | None = None):
        self.skip_layers = list(skip_layers or ())
        self._around: LayoutConfig | None = None

    def __enter__(self) -> LayoutConfig:
        self._around, LayoutConfig.current = LayoutConfig.current, self
        return self

    def __exit__(self, *_: object) -> None:
        LayoutConfig.current = self._around

    def skipped(self, module: ModuleOp) -> set[Operation]:
        """Return the convolutions of a module that keep their layout."""
        convolutions = [op for op in module.walk() if isinstance(op, Conv2DOp)]
        return {op for number, op in enumerate(convolutions) if number in self.skip_layers}


@dataclass
class Convert(RewritePattern):
    """An operator in a layout that is not the one asked for, between transforms."""

    desired: Mapping[str, tuple[str, str]]
    made: set[Operation]
    skipped: Collection[Operation] = ()
    """Operators that keep their layout."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        wanted = self.desired.get(op.name.removeprefix("relay."))
        if wanted is None or not isinstance(op, Operator) or op in self.skipped:
            return
        named = op.get_trait(OwnLayouts)
        if named is None or not all(map(str.isalpha, old := named.of(op))):
            return  # blocked already
        data, kernel = wanted
        layouts = [data, *(_kernel(op, data) if kernel == "default" else kernel for _ in named.attributes[1:])]
        moves = zip((*op.operands[: len(layouts)], op.results[0]), old, (*layouts, data), strict=True)
        if old == (*layouts, data) or not all(_divides(*move) for move in moves):
            return
        ops = in_layouts(op, named, *layouts)
        if old[-1] != data:
            self.made.add(ops[-1])
        rewriter.replace(op, ops, [ops[-1].results[0]])


def _kernel(op: Operator, data: str) -> str:
    """The kernel layout that TVM takes with a data layout; blocks as wide as the data's of inputs and outputs."""
    sides = "IO" if isinstance(op, ConvTranspose) else "OI"
    spatial = "".join(letter for letter in data if letter.isupper() and letter not in "NC")
    sig = op.signature
    letters = sig.str("data_layout")
    depthwise = sig.int("groups") > 1 and sig.int("groups") == shape_of(op.operands[0])[letters.index("C")]
    blocks = [axis.factor for axis in parse_layout(data) if axis.factor]
    inner = "".join(f"{1 if depthwise and sides == 'OI' else block}i{block}o" for block in blocks)
    if data.index("C") == 1:
        return f"{sides}{spatial}{inner}"
    if isinstance(op, qnn_products.Conv2DOp) and shape_of(op.kernel_zero_point) not in ((), (1,)):
        return f"O{spatial}I"  # zero points go along the first axis
    return f"{spatial}{'OI' if depthwise and sides == 'OI' else 'IO'}{inner}"


@dataclass(frozen=True)
class ConvertLayoutPass(ModulePass):
    """Brings operators to the requested layouts, and keeps regions of the graph in them, as TVM's ConvertLayout.

    Before: any relay module.
    After: the named operators have those layouts, unless they have blocks of channels. What can compute in any layout,
    element by element, along an axis or in a layout of its own, does so where a transform would stand before it;
    transforms stand where a region begins and ends. Those of constants are left for `relay-fold-constant`.
    Locations: an operator keeps its own; a transform has that of the layer that asked for it, however far it moved.

    desired_layouts: per operator its data layout and its kernel layout, `nn.conv2d:NHWC,HWIO;nn.max_pool2d:NHWC`.
    "default", or none, is the kernel layout that TVM takes with the data's: OIHW with NCHW, HWIO with NHWC, HWOI for
    depthwise convolutions; IOHW and HWIO for transposed ones. Layouts of convolutions and poolings may have blocks of
    channels, `nn.conv2d:NCHW4c,OIHW4i4o`; those whose channels the blocks do not divide stay. An operator that has a
    function (`FTVMConvertOpLayout`, `syntax/relay/op_attrs.py`) becomes what that gives, between transforms.

    ```mlir
    // with desired_layouts=nn.conv2d:NHWC
    %0 = relay.nn.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x6x6xf32> loc("conv")
    %1 = relay.nn.relu %0 : (tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32> loc("act")
    // becomes
    %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NHWC"}
          : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32> loc("conv")
    %1 = relay.layout_transform %w {src_layout = "OIHW", dst_layout = "HWIO"}
          : (tensor<2x4x3x3xf32>) -> tensor<3x3x4x2xf32> loc("conv")
    %2 = relay.nn.conv2d %0, %1 {data_layout = "NHWC", kernel_layout = "HWIO"}
          : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x6x6x2xf32> loc("conv")
    %3 = relay.nn.relu %2 : (tensor<1x6x6x2xf32>) -> tensor<1x6x6x2xf32> loc("act")
    %4 = relay.layout_transform %3 {src_layout = "NHWC", dst_layout = "NCHW"}
          : (tensor<1x6x6x2xf32>) -> tensor<1x2x6x6xf32> loc("conv")
    ```
    """

    name = NAME
    desired_layouts: str = ""

    @staticmethod
    def of(desired: Mapping[str, Sequence[str]]) -> ConvertLayoutPass:
        """The pass for a table as TVM's: `{"nn.conv2d": ["NHWC", "default"]}`."""
        return ConvertLayoutPass(";".join(f"{name}:{','.join(layouts)}" for name, layouts in desired.items()))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asked = parse_layouts(self.desired_layouts)
        hooks = {name: hook for name, hook in operators_with(CONVERT_LAYOUT).items() if name in asked}
        desired = {name: _checked(name, layouts) for name, layouts in asked.items() if name not in hooks}
        converted: set[Operation] = set()
        config = LayoutConfig.current
        skipped = config.skipped(op) if config is not None else ()
        if hooks:
            self._hooks(op, hooks, asked, converted)
        patterns = [Convert(desired, converted, skipped), *sinking(converted)]
        for func in op.ops:
            if isinstance(func, FuncOp) and func.primitive is None and rewrite(func.body, patterns):
                # Two readers of one value may have asked for the same transform.
                eliminate_common_subexpressions(func.body, skip=[ConstantOp], unless=is_other)

    def _hooks(
        self, module: ModuleOp, hooks: Mapping[str, Any], asked: Mapping[str, Sequence[str]], converted: set[Operation]
    ) -> None:
        """Operators become what users' functions give for them; `converted` gets the transforms behind them."""
        from .op_hooks import ApplyHooks, Written, attributes, flat_types

        def hooked(name: str) -> Callable[[Written], object]:
            layouts = [*asked[name], "default"][:2] if len(asked[name]) < 2 else list(asked[name])
            return lambda source: hooks[name](attributes(source), source.call.args, flat_types(source), layouts)

        rewrite(module, [ApplyHooks({name: hooked(name) for name in hooks}, module, True, converted)], recursive=False)
