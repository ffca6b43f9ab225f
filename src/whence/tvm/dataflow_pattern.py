"""Declarative patterns of relay expressions: `tvm.relay.dataflow_pattern`.

>>> from whence.dataflow_pattern import is_constant, is_op, wildcard
>>> conv = is_op("nn.conv2d")(wildcard(), is_constant())
>>> conv.optional(lambda x: is_op("nn.relu")(x)).match(value)
"""

from whence.passes.relay.dataflow_pattern.patterns import AltPattern as AltPattern
from whence.passes.relay.dataflow_pattern.patterns import AttrPattern as AttrPattern
from whence.passes.relay.dataflow_pattern.patterns import CallPattern as CallPattern
from whence.passes.relay.dataflow_pattern.patterns import ConstantPattern as ConstantPattern
from whence.passes.relay.dataflow_pattern.patterns import DataTypePattern as DataTypePattern
from whence.passes.relay.dataflow_pattern.patterns import DFPattern as DFPattern
from whence.passes.relay.dataflow_pattern.patterns import DominatorPattern as DominatorPattern
from whence.passes.relay.dataflow_pattern.patterns import ExprPattern as ExprPattern
from whence.passes.relay.dataflow_pattern.patterns import FunctionPattern as FunctionPattern
from whence.passes.relay.dataflow_pattern.patterns import IfPattern as IfPattern
from whence.passes.relay.dataflow_pattern.patterns import LetPattern as LetPattern
from whence.passes.relay.dataflow_pattern.patterns import ShapePattern as ShapePattern
from whence.passes.relay.dataflow_pattern.patterns import TupleGetItemPattern as TupleGetItemPattern
from whence.passes.relay.dataflow_pattern.patterns import TuplePattern as TuplePattern
from whence.passes.relay.dataflow_pattern.patterns import TypePattern as TypePattern
from whence.passes.relay.dataflow_pattern.patterns import VarPattern as VarPattern
from whence.passes.relay.dataflow_pattern.patterns import WildcardPattern as WildcardPattern
from whence.passes.relay.dataflow_pattern.rewriting import DFPatternCallback as DFPatternCallback
from whence.passes.relay.dataflow_pattern.rewriting import rewrite as rewrite
from whence.passes.relay.dataflow_pattern.syntax import dominates as dominates
from whence.passes.relay.dataflow_pattern.syntax import has_attr as has_attr
from whence.passes.relay.dataflow_pattern.syntax import has_dtype as has_dtype
from whence.passes.relay.dataflow_pattern.syntax import has_shape as has_shape
from whence.passes.relay.dataflow_pattern.syntax import has_type as has_type
from whence.passes.relay.dataflow_pattern.syntax import is_constant as is_constant
from whence.passes.relay.dataflow_pattern.syntax import is_expr as is_expr
from whence.passes.relay.dataflow_pattern.syntax import is_if as is_if
from whence.passes.relay.dataflow_pattern.syntax import is_let as is_let
from whence.passes.relay.dataflow_pattern.syntax import is_op as is_op
from whence.passes.relay.dataflow_pattern.syntax import is_tuple as is_tuple
from whence.passes.relay.dataflow_pattern.syntax import is_tuple_get_item as is_tuple_get_item
from whence.passes.relay.dataflow_pattern.syntax import is_var as is_var
from whence.passes.relay.dataflow_pattern.syntax import wildcard as wildcard
