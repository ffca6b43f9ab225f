"""The builder that holds a current location."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import UNKNOWN_LOC, IndexType
from xdsl.ir import Block, Region

from whence.provenance.builder import LocatedBuilder, fill, locate_arguments
from whence.provenance.span import layer_location

A, B = layer_location("a", "m", 0), layer_location("b", "m", 1)


def loop(block: Block) -> scf.ForOp:
    """A loop in a loop, nothing located."""
    index = IndexType()
    bound = arith.ConstantOp.from_int_and_width(4, index)
    block.add_op(bound)
    inner = Block(arg_types=[index])
    inner.add_op(scf.YieldOp())
    body = Block(arg_types=[index])
    body.add_ops([scf.ForOp(bound, bound, bound, [], inner), scf.YieldOp()])
    return scf.ForOp(bound, bound, bound, [], body)


def test_ops_get_the_current_location():
    builder = LocatedBuilder(Block(), A)
    first = builder.add(arith.ConstantOp.from_int_and_width(1, 32))
    with builder.located(B):
        second = builder.add(arith.ConstantOp.from_int_and_width(1, 32))
    third = builder.add(arith.ConstantOp.from_int_and_width(1, 32))
    assert [op.location for op in builder.block.ops] == [A, B, A]
    assert list(builder.block.ops) == [first, second, third]


def test_a_location_of_its_own_is_kept():
    op = arith.ConstantOp.from_int_and_width(1, 32)
    op.location = B
    assert LocatedBuilder(Block(), A).add(op).location is B


def test_without_a_location_nothing_is_filled():
    assert LocatedBuilder(Block()).add(arith.ConstantOp.from_int_and_width(1, 32)).location is UNKNOWN_LOC


def test_nested_ops_and_block_arguments_are_filled():
    block = Block()
    nested = loop(block)
    kept = next(op for op in nested.body.block.ops if isinstance(op, scf.ForOp))
    kept.location = B
    LocatedBuilder(block, A).add(nested)
    inner = [op.location for op in nested.walk()]
    assert inner == [A, B, A, A]
    assert nested.body.block.args[0].location is A
    assert kept.body.block.args[0].location is A


def test_scopes_end_when_an_error_passes():
    builder = LocatedBuilder(Block(), A)
    outer = builder.block
    with pytest.raises(KeyError), builder.located(B), builder.at(Block()):
        raise KeyError
    assert (builder.location, builder.block) == (A, outer)


def test_at_moves_to_another_block():
    first, second = Block(), Block()
    builder = LocatedBuilder(first, A)
    with builder.at(second):
        op = builder.add(arith.ConstantOp.from_int_and_width(1, 32))
    assert op.parent is second
    assert first.is_empty


def test_filling_with_an_unknown_location_changes_nothing():
    op = arith.ConstantOp.from_int_and_width(1, 32)
    op.location = A
    fill(op, UNKNOWN_LOC)
    assert op.location is A


def test_arguments_of_new_blocks_but_not_of_entry_blocks():
    entry, target, here = (Block(arg_types=[IndexType()]) for _ in range(3))
    Region([entry, here, target])
    branch = cf.BranchOp(target, here.args[0])
    here.add_op(branch)
    target.args[0].location = B
    locate_arguments(branch, A)
    assert here.args[0].location is A
    assert target.args[0].location is B
    at_entry = cf.BranchOp(here, entry.args[0])
    entry.add_op(at_entry)
    locate_arguments(at_entry, A)
    assert entry.args[0].location is UNKNOWN_LOC
