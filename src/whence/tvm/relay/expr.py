"""Expressions, as TVM has them at `tvm.relay.expr`."""

from whence.relay.binding import bind as bind
from whence.relay.builders import TupleWrapper as TupleWrapper
from whence.relay.builders import const as const
from whence.relay.composed import var as var
from whence.syntax.relay.expr import Call as Call
from whence.syntax.relay.expr import Constant as Constant
from whence.syntax.relay.expr import Expr as Expr
from whence.syntax.relay.expr import Function as Function
from whence.syntax.relay.expr import GlobalVar as GlobalVar
from whence.syntax.relay.expr import If as If
from whence.syntax.relay.expr import Let as Let
from whence.syntax.relay.expr import RefCreate as RefCreate
from whence.syntax.relay.expr import RefRead as RefRead
from whence.syntax.relay.expr import RefWrite as RefWrite
from whence.syntax.relay.expr import Tuple as Tuple
from whence.syntax.relay.expr import TupleGetItem as TupleGetItem
from whence.syntax.relay.expr import Var as Var
from whence.syntax.text import astext as astext
from whence.syntax.text import pretty_print as pretty_print

RelayExpr = Expr
