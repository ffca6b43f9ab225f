"""Expressions, as TVM has them at `tvm.relay.expr`."""

from whence.frontends.relay.expr import Call as Call
from whence.frontends.relay.expr import Constant as Constant
from whence.frontends.relay.expr import Expr as Expr
from whence.frontends.relay.expr import Function as Function
from whence.frontends.relay.expr import GlobalVar as GlobalVar
from whence.frontends.relay.expr import If as If
from whence.frontends.relay.expr import Let as Let
from whence.frontends.relay.expr import RefCreate as RefCreate
from whence.frontends.relay.expr import RefRead as RefRead
from whence.frontends.relay.expr import RefWrite as RefWrite
from whence.frontends.relay.expr import Tuple as Tuple
from whence.frontends.relay.expr import TupleGetItem as TupleGetItem
from whence.frontends.relay.expr import Var as Var
from whence.frontends.relay_text import astext as astext
from whence.frontends.relay_text import pretty_print as pretty_print
from whence.relay.binding import bind as bind
from whence.relay.builders import TupleWrapper as TupleWrapper
from whence.relay.builders import const as const
from whence.relay.composed import var as var

RelayExpr = Expr
