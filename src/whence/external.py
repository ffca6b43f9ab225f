"""External compilers: the operators that they take, and their code generators. docs/byoc.md shows their use."""

from whence.lowering.external.registry import external_compilers as external_compilers
from whence.lowering.external.registry import register_external_codegen as register_external_codegen
from whence.passes.relay.pattern_table import get_pattern_table as get_pattern_table
from whence.passes.relay.pattern_table import register_pattern_table as register_pattern_table
from whence.passes.relay.pattern_table import register_supported as register_supported
