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

>>> y = te.var("y")
>>> loops = {x: arith.Range(0, 8), y: arith.Range(0, 4)}
>>> fused = x * 4 + y
>>> rows, columns = arith.detect_iter_map([fused // 16, fused % 16], loops, check_level="bijective").indices
>>> arith.inverse_affine_iter_map([rows, columns], [te.var("i"), te.var("j")])[x]
i * 4 + j // 4

A map of iterators (`iter_map.py`) has the indices of a loop nest as digits of independent iterators: so it can be said
which values are there, and each once, and the map can be inverted, or divided into inner and outer loops.
"""

from whence.arith import _ffi_api as _ffi_api
from whence.arith import int_set as int_set
from whence.arith.analyzer import Analyzer as Analyzer
from whence.arith.analyzer import ConstIntBound as ConstIntBound
from whence.arith.analyzer import ProofStrength as ProofStrength
from whence.arith.deduce import deduce_bound as deduce_bound
from whence.arith.forms import Range as Range
from whence.arith.int_inequalities import solve_linear_inequalities as solve_linear_inequalities
from whence.arith.int_set import EvalSet as EvalSet
from whence.arith.int_set import IntervalSet as IntervalSet
from whence.arith.int_set import IntSet as IntSet
from whence.arith.int_set import union_lower_bound as union_lower_bound
from whence.arith.int_solver import IntConstraints as IntConstraints
from whence.arith.int_solver import IntConstraintsTransform as IntConstraintsTransform
from whence.arith.int_solver import solve_linear_equations as solve_linear_equations
from whence.arith.iter_affine import detect_iter_map as detect_iter_map
from whence.arith.iter_affine import iter_map_simplify as iter_map_simplify
from whence.arith.iter_affine import normalize_to_iter_sum as normalize_to_iter_sum
from whence.arith.iter_division import subspace_divide as subspace_divide
from whence.arith.iter_inverse import inverse_affine_iter_map as inverse_affine_iter_map
from whence.arith.iter_map import IterMapExpr as IterMapExpr
from whence.arith.iter_map import IterMapLevel as IterMapLevel
from whence.arith.iter_map import IterMapResult as IterMapResult
from whence.arith.iter_map import IterMark as IterMark
from whence.arith.iter_map import IterSplitExpr as IterSplitExpr
from whence.arith.iter_map import IterSumExpr as IterSumExpr
from whence.arith.iter_map import normalize_iter_map_to_expr as normalize_iter_map_to_expr
from whence.arith.modular import ModularSet as ModularSet
from whence.arith.narrow import narrow_predicate_expression as narrow_predicate_expression
from whence.arith.pattern import detect_clip_bound as detect_clip_bound
from whence.arith.pattern import detect_linear_equation as detect_linear_equation
from whence.arith.regions import estimate_region_lower_bound as estimate_region_lower_bound
from whence.arith.regions import estimate_region_strict_bound as estimate_region_strict_bound
from whence.arith.regions import estimate_region_upper_bound as estimate_region_upper_bound
from whence.arith.subexpressions import detect_common_subexpr as detect_common_subexpr
