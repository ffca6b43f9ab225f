"""The ops of block schedules: one for each primitive on blocks and loops, by one table of names.

```mlir
schedule.sequence @main {
  %C = schedule.block.get_block() {name = "C"} : !schedule.block
  %i, %j, %k = schedule.block.get_loops(%C) : !schedule.loop, !schedule.loop, !schedule.loop
  %i_0, %i_1 = schedule.block.split(%i, none, 4) : !schedule.loop, !schedule.loop
  schedule.block.parallel(%i_0)
}
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Self, cast

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, prop_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...provenance.diagnostics import fail
from .base import NUMBER, Name, Primitive
from .inputs import Input, WithInputs, parse_inputs, split_inputs


@irdl_attr_definition
class BlockType(ParametrizedAttribute, TypeAttribute):
    """A `tir.block` of the scheduled function."""

    name = "schedule.block"


@irdl_attr_definition
class LoopType(ParametrizedAttribute, TypeAttribute):
    """A loop around blocks."""

    name = "schedule.loop"


BLOCK, LOOP = BlockType(), LoopType()
HANDLES: dict[str, Attribute] = {"block": BLOCK, "loop": LOOP, "number": NUMBER}
"""The type of each kind of handle."""


class Kind(NamedTuple):
    """The names of a primitive, and the meaning of what it takes and gives."""

    name: str
    tvm: str
    """Its name in TVM's traces."""
    inputs: tuple[str, ...]
    """Keywords of its inputs; `*loops`, several arguments, or `[factors]`, a list, takes all that are left."""
    attrs: tuple[str, ...]
    """Keywords of its attributes, in the order of TVM's traces."""
    pure: bool = False
    ends: tuple[str, ...] = ()
    """The inputs that are gone afterwards."""
    old: str = ""
    """Its Python name in TVM 0.14, where it was another."""
    newer: tuple[str, ...] = ()
    """Keywords of attributes that TVM's traces have behind the others since 0.15, all of which are False here."""
    many: bool = False
    """It gives a list, of any length."""
    decided: bool = False
    """It draws numbers, which its attribute `decision` has."""
    nested: bool = False
    """The list among its inputs is one in TVM's traces, too."""

    @property
    def spellings(self) -> dict[str, str]:
        """Its name in the traces of TVM's versions."""
        older = "".join(word.capitalize() for word in self.old.split("_"))
        return {"0.27": self.tvm, "0.14": older or self.tvm}


_CACHED = ("block", "[consumer_blocks]")

KINDS: tuple[Kind, ...] = (
    Kind("get_sblock", "GetSBlock", (), ("name", "func_name"), pure=True, old="get_block"),
    Kind("get_loops", "GetLoops", ("block",), (), pure=True, many=True),
    Kind("get_child_blocks", "GetChildBlocks", ("block_or_loop",), (), pure=True, many=True),
    Kind("get_producers", "GetProducers", ("block",), (), pure=True, many=True),
    Kind("get_consumers", "GetConsumers", ("block",), (), pure=True, many=True),
    Kind("get_output_blocks", "GetOutputBlocks", ("scope_block",), (), pure=True, many=True),
    Kind(
        "sample_perfect_tile",
        "SamplePerfectTile",
        ("loop",),
        ("n", "max_innermost_factor"),
        pure=True,
        many=True,
        decided=True,
    ),
    Kind("sample_compute_location", "SampleComputeLocation", ("block",), (), pure=True, decided=True),
    Kind(
        "split",
        "Split",
        ("loop", "[factors]"),
        ("preserve_unit_iters",),
        ends=("loop",),
        many=True,
        newer=("disable_predication",),
    ),
    Kind("fuse", "Fuse", ("*loops",), ("preserve_unit_iters",), ends=("*loops",)),
    Kind("merge", "Merge", ("*loops",), (), ends=("*loops",)),
    Kind("loop_partition", "LoopPartition", ("loop", "[factors]"), ("preserve_unit_iters",), ends=("loop",), many=True),
    Kind("reorder", "Reorder", ("*loops",), ()),
    Kind("reorder_block_iter_var", "ReorderBlockIterVar", ("block", "[new_order]"), (), nested=True),
    Kind("add_unit_loop", "AddUnitLoop", ("block_or_loop",), ()),
    Kind("parallel", "Parallel", ("loop",), ()),
    Kind("vectorize", "Vectorize", ("loop",), ()),
    Kind("unroll", "Unroll", ("loop",), ()),
    Kind("annotate", "Annotate", ("block_or_loop", "ann_val"), ("ann_key",)),
    Kind("unannotate", "Unannotate", ("block_or_loop",), ("ann_key",)),
    Kind("cache_read", "CacheRead", _CACHED, ("read_buffer_index", "storage_scope"), nested=True),
    Kind("cache_write", "CacheWrite", _CACHED, ("write_buffer_index", "storage_scope"), nested=True),
    Kind("reindex", "ReIndex", ("block",), ("buffer",)),
    Kind("reindex_cache_read", "ReindexCacheRead", ("block",), ("index_map", "read_buffer_index", "storage_scope")),
    Kind("reindex_cache_write", "ReindexCacheWrite", ("block",), ("index_map", "write_buffer_index", "storage_scope")),
    Kind("transform_layout", "TransformLayout", ("block",), ("buffer", "index_map", "pad_value")),
    Kind("transform_block_layout", "TransformBlockLayout", ("block",), ("index_map",)),
    Kind("set_scope", "SetScope", ("block",), ("buffer_index", "storage_scope")),
    Kind("compute_at", "ComputeAt", ("block", "loop"), ("preserve_unit_loops", "index")),
    Kind("reverse_compute_at", "ReverseComputeAt", ("block", "loop"), ("preserve_unit_loops", "index")),
    Kind("compute_inline", "ComputeInline", ("block",), (), ends=("block",)),
    Kind("reverse_compute_inline", "ReverseComputeInline", ("block",), (), ends=("block",)),
    Kind("decompose_reduction", "DecomposeReduction", ("block", "loop"), ()),
    Kind("enter_postproc", "EnterPostproc", (), (), pure=True),
    Kind("rfactor", "RFactor", ("loop",), ("factor_axis",)),
    Kind("pad_einsum", "PadEinsum", ("block",), ("padding",)),
    Kind("decompose_padding", "DecomposePadding", ("block", "loop"), ()),
    Kind("blockize", "Blockize", ("target",), ("preserve_unit_iters",)),
    Kind("tensorize", "Tensorize", ("block_or_loop",), ("tensor_intrin", "preserve_unit_iters")),
)
"""The primitives on blocks."""


class Instruction(WithInputs):
    """A primitive on blocks: `name(inputs) {attributes} : results`."""

    KIND: ClassVar[Kind]
    attrs = prop_def(DictionaryAttr)
    outputs = var_result_def()

    @classmethod
    def make(cls, inputs: Sequence[Input], attrs: Mapping[str, Attribute], outputs: Sequence[Attribute] = ()) -> Self:
        """outputs: the types of the handles that it gives."""
        operands, places = split_inputs(inputs)
        return cls.create(
            operands=operands,
            properties={"places": places, "attrs": DictionaryAttr(dict(attrs))},
            result_types=list(outputs),
        )

    @property
    def ended(self) -> list[SSAValue]:
        """The handles that it takes and that are gone afterwards."""
        kind = self.KIND
        ended: list[SSAValue] = []
        for number, item in enumerate(self.inputs):
            keyword = kind.inputs[min(number, len(kind.inputs) - 1)]
            if isinstance(item, SSAValue) and keyword in kind.ends:
                ended.append(item)
        return ended

    def verify_(self) -> None:
        self.check_inputs()
        least = sum(keyword[0] not in "*[" for keyword in self.KIND.inputs)
        count = len(self.places)
        if count < least or (count > least == len(self.KIND.inputs)):
            fail(self, f"inputs {', '.join(self.KIND.inputs) or 'none'}", str(count))
        known = {*self.KIND.attrs, *(["decision"] if self.KIND.decided else [])}
        if more := sorted(set(self.attrs.data) - known):
            fail(self, f"attributes among {', '.join(self.KIND.attrs) or 'none'}", ", ".join(more))
        for value in (*self.handles, *self.outputs):
            if value.type not in HANDLES.values():
                fail(self, "handles of blocks, loops and numbers", str(value.type))

    def print(self, printer: Printer) -> None:
        self.print_inputs(printer)
        if self.attrs.data:
            printer.print_string(" ")
            printer.print_attribute(self.attrs)
        if self.outputs:
            printer.print_string(" : ")
            printer.print_list(self.outputs, lambda value: printer.print_attribute(value.type))
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        inputs = parse_inputs(parser)
        attrs = parser.parse_optional_attr_dict()
        outputs: list[Attribute] = []
        if parser.parse_optional_punctuation(":") is not None:
            outputs = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        op = cls.make(inputs, attrs, outputs)
        op.attributes.update(attributes.data if (attributes := parser.parse_optional_attr_dict_with_keyword()) else {})
        return op


def _define(kind: Kind) -> type[Instruction]:
    bases = (Instruction, Name if kind.pure else Primitive)
    body = {
        "name": f"schedule.block.{kind.name}",
        "KIND": kind,
        "__annotations__": {"KIND": ClassVar[Kind]},
        "__doc__": f"`{kind.name}` of block schedules.",
    }
    return irdl_op_definition(cast(type[Instruction], type(kind.tvm, bases, body)))


INSTRUCTIONS: dict[str, type[Instruction]] = {kind.name: _define(kind) for kind in KINDS}
"""The op of each primitive on blocks, by its name."""
