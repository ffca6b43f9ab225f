"""The base class of the parts of programs, and equality of structures, where TVM has them."""

from whence.ir import assert_structural_equal as assert_structural_equal
from whence.ir import get_first_structural_mismatch as get_first_structural_mismatch
from whence.ir import make_node as make_node
from whence.ir import structural_equal as structural_equal
from whence.ir import structural_hash as structural_hash
from whence.syntax.relay.node import Node as Node
