"""Data types and patterns, as TVM has them at `tvm.relay.adt`."""

from whence.relay.ty import TypeData as TypeData
from whence.syntax.relay.expr import Clause as Clause
from whence.syntax.relay.expr import Constructor as Constructor
from whence.syntax.relay.expr import Match as Match
from whence.syntax.relay.expr import Pattern as Pattern
from whence.syntax.relay.expr import PatternConstructor as PatternConstructor
from whence.syntax.relay.expr import PatternTuple as PatternTuple
from whence.syntax.relay.expr import PatternVar as PatternVar
from whence.syntax.relay.expr import PatternWildcard as PatternWildcard
