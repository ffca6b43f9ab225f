"""Data types and patterns, as TVM has them at `tvm.relay.adt`."""

from whence.frontends.relay.expr import Clause as Clause
from whence.frontends.relay.expr import Constructor as Constructor
from whence.frontends.relay.expr import Match as Match
from whence.frontends.relay.expr import Pattern as Pattern
from whence.frontends.relay.expr import PatternConstructor as PatternConstructor
from whence.frontends.relay.expr import PatternTuple as PatternTuple
from whence.frontends.relay.expr import PatternVar as PatternVar
from whence.frontends.relay.expr import PatternWildcard as PatternWildcard
from whence.relay.ty import TypeData as TypeData
