"""The fast walk against xDSL's."""

from __future__ import annotations

from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region

from whence.provenance.walk import walk


def nested(depth: int) -> test.TestOp:
    """An op of two regions, the second of two blocks, that hold ops as it is itself."""
    blocks = [Block([nested(depth - 1), test.TestOp(), nested(depth - 1)] if depth else []) for _ in range(3)]
    return test.TestOp(regions=[Region(blocks[:1]), Region(blocks[1:])])


def test_ops_come_in_the_order_of_the_text_and_their_owners_first():
    module = ModuleOp([test.TestOp(), nested(2), test.TestOp()])
    assert [id(op) for op in walk(module)] == [id(op) for op in module.walk()]


def test_what_is_in_an_op_is_looked_at_when_that_was_given():
    module = ModuleOp([nested(0)])
    seen: list[str] = []
    for op in walk(module):
        seen.append(op.name)
        if isinstance(op, test.TestOp) and op.regions:
            op.regions[0].block.add_op(test.TestOp())
    assert seen == ["builtin.module", "test.op", "test.op"]
