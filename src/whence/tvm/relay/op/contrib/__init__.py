"""The patterns that external compilers take, under TVM's path."""

from whence.passes.relay.pattern_table import get_pattern_table as get_pattern_table
from whence.passes.relay.pattern_table import register_pattern_table as register_pattern_table
from whence.relay.op.contrib import register as register
