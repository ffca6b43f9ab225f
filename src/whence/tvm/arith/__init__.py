"""Arithmetic on integer expressions of te, by TVM's names: simplification and bounds.

>>> from whence import arith, te
>>> x, analyzer = te.var("x"), arith.Analyzer()
>>> analyzer.bind(x, arith.Range(0, 8))
>>> analyzer.simplify((x * 4 + 3) // 4)
x
>>> analyzer.const_int_bound(x * 4 + 3)
ConstIntBound(3, 31)

Everything uses the maps of `dialects/affine.py`, in which a part of an expression that is not affine (a product of
variables, an element of a tensor) is one more variable.
"""

from whence.arith import int_set as int_set
from whence.arith.analyzer import Analyzer as Analyzer
from whence.arith.analyzer import ConstIntBound as ConstIntBound
from whence.arith.forms import Range as Range
from whence.arith.int_set import EvalSet as EvalSet
from whence.arith.int_set import IntervalSet as IntervalSet
from whence.arith.int_set import IntSet as IntSet
from whence.arith.modular import ModularSet as ModularSet
from whence.arith.pattern import detect_clip_bound as detect_clip_bound
from whence.arith.pattern import detect_linear_equation as detect_linear_equation
