"""Relay text, as TVM has its parser at `tvm.parser`."""

from whence.relay.span_check import SpanCheck as SpanCheck
from whence.relay.text import fromtext as fromtext
from whence.relay.text import parse as parse
from whence.relay.text import parse_expr as parse_expr
