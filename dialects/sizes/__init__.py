"""Sizes that only a call decides, as integers compute: expressions of symbols, what is known of them, their types."""

from .expr import ENDLESS as ENDLESS
from .expr import RESERVED as RESERVED
from .expr import Ranges as Ranges
from .expr import Size as Size
from .expr import SizeExpr as SizeExpr
from .expr import UndecidedSize as UndecidedSize
from .expr import bounds as bounds
from .expr import broadcast_sizes as broadcast_sizes
from .expr import ceil_div as ceil_div
from .expr import common_divisor as common_divisor
from .expr import common_range as common_range
from .expr import decide as decide
from .expr import evaluate as evaluate
from .expr import holds_zero as holds_zero
from .expr import known_ranges as known_ranges
from .expr import only as only
from .expr import product as product
from .expr import proves as proves
from .expr import range_for as range_for
from .expr import same as same
from .expr import same_shape as same_shape
from .expr import size_max as size_max
from .expr import size_min as size_min
from .expr import substitute as substitute
from .expr import symbol as symbol
from .expr import symbols_of as symbols_of
