"""tir-tile-products: products of words, summed by loops that ask for it, become products of tiles in registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from itertools import product as combinations
from typing import NamedTuple, NoReturn, TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import LocationAttr, ModuleOp, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ...dialects.affine import linear, simplify, substitute
from ...dialects.sizes import same
from ...dialects.tir import (
    UNBOUNDED,
    Dot4Op,
    DotBf16Op,
    ForOp,
    JoinBytesOp,
    LoadOp,
    PrimFuncOp,
    StoreOp,
    TileConfigOp,
    TileDotOp,
    TileLoadOp,
    TileStoreOp,
    TileZeroOp,
    buffer_of,
    element_bytes,
    prim_funcs,
)
from ...dialects.tir.index_maps import Ranges, View, flat_index, simplify_maps, view
from ...dialects.tir.tiles import ROWS, SUMS, TILES, WORDS
from ...provenance.diagnostics import message
from ...provenance.span import fuse
from ...provenance.walk import walk
from ...support.errors import PipelineError, ScheduleError
from ..relay.blocking import largest_divisor
from .analysis.identities import number_of
from .join_loads import distance
from .lower_dots import half_load
from .rewriting.ops import drop, record

HINT = "pragma_tiles"
"""The attribute of the loop over the words of a sum that asks for it."""
Registers: TypeAlias = tuple[tuple[int, int], ...]
"""The rows and words of each register."""


def run(func: PrimFuncOp, kinds: frozenset[str]) -> None:
    """Tile the products of these kinds (see `SUMS`) in one kernel, in place; of others, loops stay loops.

    Raises ScheduleError about a loop that asks for tiles where there is no product that fits them.
    """
    shapes: dict[Operation, Registers] = {}
    for loop in [op for op in walk(func) if isinstance(op, ForOp) and HINT in op.attributes]:
        del loop.attributes[HINT]
        nest = _nest(loop)
        if nest.kind in kinds:
            shapes |= _Tiling(nest).replace()
    _configure(func.block, shapes)


def _fail(loop: ForOp, expected: str, actual: str) -> NoReturn:
    raise ScheduleError(message("tir-tile-products", expected, actual, loop.location))


class _Place(NamedTuple):
    """An access of a product, and how far apart its elements are in neighbouring passes of each loop."""

    op: LoadOp | StoreOp
    view: View
    factors: Mapping[SSAValue, int]

    def at(self, values: Mapping[SSAValue, AffineExpr], around: Sequence[SSAValue]) -> tuple[AffineMap, list[SSAValue]]:
        """The point where loop variables have these values, expressions of `around`, and its operands."""
        operands = [*around, *(value for value in self.view.values if value not in values)]
        dims = [values.get(value) or AffineDimExpr(operands.index(value)) for value in self.view.values]
        exprs = tuple(substitute(expr, dims) for expr in self.view.map)
        simplified = simplify_maps(exprs, (), (UNBOUNDED,) * len(operands))
        return simplified.map.data, [operands[old] for old in simplified.kept]


class _Nest(NamedTuple):
    """Loops around one sum of products, outermost first, the loop over its words last."""

    loops: Sequence[ForOp]
    kind: str
    product: Operation
    left: _Place
    right: _Place
    total: _Place


def _nest(words: ForOp) -> _Nest:
    """The loops that do nothing but sum the products in the loop `words`."""
    loops = [words]
    while isinstance(outer := loops[0].parent_op(), ForOp) and len(outer.block.ops) == 1:
        if outer.kind.data == "parallel":
            break
        loops.insert(0, outer)
    store = words.block.last_op
    if not isinstance(store, StoreOp) or not isinstance(added := store.value.owner, arith.AddiOp | arith.AddfOp):
        _fail(words, "a loop that adds a product to a sum", f"one that ends with {store.name if store else 'nothing'}")
    for old, new in ((added.lhs, added.rhs), (added.rhs, added.lhs)):
        total, dot = old.owner, new.owner
        if not isinstance(total, LoadOp) or not isinstance(dot, Dot4Op | DotBf16Op):
            continue
        left, right = _data(dot.first), dot.second.owner
        if left is None or not isinstance(right, LoadOp) or buffer_of(right.buffer).element_type != i32:
            _fail(words, "a product of words that follow one another in memory", str(dot))
        kind = "u8s8" if isinstance(dot, Dot4Op) else "bf16"
        return _Nest(loops, kind, dot, *(_place(op, loops) for op in (left, right, store)))
    _fail(words, "a sum of products of words, tir.dot4 or tir.dot2_bf16", added.name)


def _place(op: LoadOp | StoreOp, loops: Sequence[ForOp]) -> _Place:
    ranges: Ranges = {loop.var: loop.bounds for loop in loops}
    seen = view(op, ranges)
    flat = linear(flat_index(seen.map, buffer_of(op.buffer).strides), seen.ranges)
    factors: dict[SSAValue, int] = {}
    for loop in loops:
        factor = flat.coefficient(seen.values.index(loop.var)) if loop.var in seen.values else 0
        if not isinstance(factor, int) or (isinstance(op, LoadOp) and op.guard is not None):
            _fail(loop, "elements that lie equally far apart, all of them there", f"others in {op}")
        factors[loop.var] = factor
    return _Place(op, seen, factors)


def _data(word: SSAValue) -> LoadOp | None:
    """The load of the first element of a word, of which the others follow in memory."""
    op = word.owner
    if isinstance(op, LoadOp):
        return op
    if isinstance(op, JoinBytesOp):
        loads = [value.owner for value in op.operands if isinstance(value.owner, LoadOp)]
        return loads[0] if len(loads) == len(op.operands) and distance(loads) == 1 else None
    if isinstance(op, arith.OrIOp) and isinstance(lower := op.lhs.owner, arith.AndIOp):
        upper = op.rhs.owner
        halves = [half_load(lower.lhs), half_load(upper.operands[0]) if isinstance(upper, arith.ShLIOp) else None]
        loads = [load for load in halves if load is not None]
        return loads[0] if len(loads) == len(halves) and distance(loads) == 1 else None
    return None


class _Tile(NamedTuple):
    """Some rows, or columns: how many, and the values of loop variables at the first."""

    extent: int
    values: Mapping[SSAValue, AffineExpr]


@dataclass(frozen=True)
class _Side:
    """The tiles of rows, or of columns."""

    along: SSAValue | None
    """The variable of the loop whose passes are rows, or columns; None where there is one."""
    tiles: Sequence[_Tile]

    @staticmethod
    def of(loops: Sequence[ForOp], along: ForOp | None, most: int) -> _Side:
        others = [loop for loop in loops if loop is not along]
        extent = 1 if along is None else _extent(along)
        pieces = -(-extent // most)
        cuts = [extent * piece // pieces for piece in range(pieces + 1)]
        tiles: list[_Tile] = []
        for point in combinations(*(range(_extent(loop)) for loop in others)):
            for first, end in pairwise(cuts):
                values: dict[SSAValue, AffineExpr] = {
                    loop.var: AffineConstantExpr(at) for loop, at in zip(others, point, strict=True)
                }
                if along is not None:
                    values[along.var] = AffineConstantExpr(first)
                tiles.append(_Tile(end - first, values))
        return _Side(None if along is None else along.var, tiles)


def _extent(loop: ForOp) -> int:
    if not isinstance(extent := loop.trip_count, int):
        _fail(loop, "a number of passes in loops over tiles", str(extent))
    return extent


def _sides(nest: _Nest) -> tuple[_Side, _Side, list[ForOp], ForOp]:
    """The rows and the columns, the loops of the reduction outside, and that over words."""
    *outer, words = nest.loops
    rows: list[ForOp] = []
    columns: list[ForOp] = []
    terms: list[ForOp] = []
    for loop in outer:
        left, right, total = (place.factors[loop.var] for place in (nest.left, nest.right, nest.total))
        if not total:
            terms.append(loop)
        elif (left and right) or not (left or right):
            _fail(loop, "loops over rows of one operand, columns of the other or terms", "one over several")
        else:
            (rows if left else columns).append(loop)
    side = next((loop for loop in columns if nest.right.factors[loop.var] == nest.total.factors[loop.var] == 1), None)
    per_word = 4 // element_bytes(buffer_of(nest.left.op.buffer).element_type)
    if side is None or nest.left.factors[words.var] != per_word or nest.total.factors[words.var]:
        _fail(words, "rows of words side by side, times columns that lie side by side", "others")
    return _Side.of(rows, rows[-1] if rows else None, ROWS), _Side.of(columns, side, WORDS), terms, words


def _registers(nest: _Nest, rows: int, columns: int) -> tuple[int, int]:
    """The registers for tiles of the data and of the weight, where sums have theirs: all tiles of one side's."""
    left = TILES - rows * columns
    if rows <= columns and rows < left:
        return rows, min(columns, left - rows)
    if columns < left:
        return min(rows, left - columns), columns
    _fail(nest.loops[-1], f"tiles for {TILES} registers", f"{rows} of rows times {columns} of columns")


class _Tiling:
    """The tiles that stand for a nest."""

    def __init__(self, nest: _Nest):
        self.nest = nest
        self.rows, self.columns, self.terms, self.words = _sides(nest)
        self.step = largest_divisor(_extent(self.words), WORDS)
        rows, columns = len(self.rows.tiles), len(self.columns.tiles)
        sums = rows * columns
        lefts, rights = _registers(nest, rows, columns)
        self.kept = lefts == rows
        """True if all tiles of rows have a register; else all those of columns do."""
        self.left = [sums + number % lefts for number in range(rows)]
        self.right = [sums + lefts + number % rights for number in range(columns)]
        self.values: dict[SSAValue, AffineExpr] = {}
        """The variables of the old loops over terms, as expressions of the new ones."""
        self.vars: list[SSAValue] = []
        self.body: Block | None = None
        """The block of the innermost new loop."""
        self.made: list[Operation] = []
        """The ops beside the new loops, and the outermost of these."""

    def put(self, op: Operation, location: LocationAttr, *, inside: bool = False) -> None:
        op.location = location
        if inside and self.body is not None:
            self.body.add_op(op)
            return
        outermost = self.nest.loops[0]
        assert outermost.parent is not None
        outermost.parent.insert_op_before(op, outermost)
        self.made.append(op)

    def replace(self) -> dict[Operation, Registers]:
        """Replace the nest; gives what now stands for it, each op with the registers that it needs."""
        nest, outermost = self.nest, self.nest.loops[0]
        started = _start(nest)
        sums = list(self._sums())
        for arguments in sums:
            if started is not None:
                self.put(TileZeroOp.make(arguments[0], arguments[-1]), started.location)
            else:
                self.put(TileLoadOp.make(*arguments), nest.product.location)
        self._loops()
        pairs = list(combinations(range(len(self.rows.tiles)), range(len(self.columns.tiles))))
        # The tiles of one side stay; those of the other come one after the other.
        for row, column in sorted(pairs, key=lambda pair: pair[1]) if self.kept else pairs:
            if row == 0:
                self._load_column(column)
            if column == 0:
                self._load_row(row)
            self._multiply(row, column)
        for arguments in sums:
            self.put(TileStoreOp.make(*arguments), nest.total.op.location)
        record("Tile", outermost, f"{len(sums)} tiles of sums are in registers", self.made)
        if started is not None:
            drop(started, "Tile", "registers begin with zeros")
        outermost.detach()
        outermost.erase()
        return dict.fromkeys(self.made, self._registers())

    def _sums(self) -> Iterator[tuple[int, SSAValue, AffineMap, list[SSAValue], int, tuple[int, int]]]:
        """The arguments that move each tile of sums."""
        total, apart = self.nest.total, self._apart(self.nest.total)
        for number, (row, column) in enumerate(combinations(self.rows.tiles, self.columns.tiles)):
            map_, operands = total.at({**row.values, **column.values}, ())
            yield number, total.op.buffer, map_, operands, apart, (row.extent, column.extent)

    def _apart(self, place: _Place) -> int:
        """The distance of the rows of a place; 0 of one row."""
        return 0 if self.rows.along is None else place.factors[self.rows.along]

    def _loops(self) -> None:
        for loop in (*self.terms, self.words):
            step = self.step if loop is self.words else 1
            extent = _extent(loop) // step if loop is self.words else loop.trip_count
            if same(extent, 1):
                self.values[loop.var] = AffineConstantExpr(0)
                continue
            new = ForOp.make(extent, "serial", loop.var.name_hint)
            self.put(new, loop.location, inside=True)
            self.body = new.block
            self.values[loop.var] = AffineDimExpr(len(self.vars)) * step
            self.vars.append(new.var)

    def _load(self, place: _Place, register: int, tile: _Tile, apart: int, *shape: int) -> None:
        map_, operands = place.at({**self.values, **tile.values}, self.vars)
        load = TileLoadOp.make(register, place.op.buffer, map_, operands, apart, shape)
        self.put(load, place.op.location, inside=True)

    def _load_row(self, row: int) -> None:
        tile, left = self.rows.tiles[row], self.nest.left
        self._load(left, self.left[row], tile, self._apart(left), tile.extent, self.step)

    def _load_column(self, column: int) -> None:
        tile, right = self.columns.tiles[column], self.nest.right
        self._load(right, self.right[column], tile, right.factors[self.words.var], self.step, tile.extent)

    def _multiply(self, row: int, column: int) -> None:
        registers = row * len(self.columns.tiles) + column, self.left[row], self.right[column]
        shape = self.rows.tiles[row].extent, self.step, self.columns.tiles[column].extent
        self.put(TileDotOp.make(self.nest.kind, registers, shape), self.nest.product.location, inside=True)

    def _registers(self) -> Registers:
        shapes: dict[int, tuple[int, int]] = {}
        wanted = [(arguments[0], arguments[-1]) for arguments in self._sums()]
        wanted += [(self.left[at], (tile.extent, self.step)) for at, tile in enumerate(self.rows.tiles)]
        wanted += [(self.right[at], (self.step, tile.extent)) for at, tile in enumerate(self.columns.tiles)]
        for register, shape in wanted:
            if shapes.setdefault(register, shape) != shape:
                expected = "tiles of one shape where they share a register"
                _fail(self.words, expected, f"{shapes[register]} and {shape}")
        return tuple(shapes.get(register, (0, 0)) for register in range(TILES))


def _start(nest: _Nest) -> ForOp | None:
    """The loops just before a nest that set all of its sums to 0, and do nothing else."""
    first = nest.loops[0].prev_op
    if not isinstance(first, ForOp):
        return None
    loops = [first]
    while len(loops[-1].block.ops) == 1 and isinstance(inner := loops[-1].block.first_op, ForOp):
        loops.append(inner)
    *_, store = loops[-1].block.ops
    if len(loops[-1].block.ops) != 2 or not isinstance(store, StoreOp) or number_of(store.value) != 0:
        return None
    if store.buffer is not nest.total.op.buffer or not all(loop.is_known for loop in loops):
        return None
    mine = _place(store, loops)
    passes = sorted((mine.factors[loop.var], _extent(loop)) for loop in loops)
    theirs = [loop for loop in nest.loops if nest.total.factors[loop.var]]
    if passes != sorted((nest.total.factors[loop.var], _extent(loop)) for loop in theirs):
        return None
    zero: AffineExpr = AffineConstantExpr(0)
    starts = [
        place.at({loop.var: zero for loop in around}, ()) for place, around in ((mine, loops), (nest.total, nest.loops))
    ]
    same_point = [([simplify(expr, ()) for expr in map_.results], operands) for map_, operands in starts]
    return first if same_point[0] == same_point[1] else None


def _configure(block: Block, shapes: Mapping[Operation, Registers]) -> None:
    """Put configurations before the ops of a block that need them, outside of loops but for those of threads."""
    current: tuple[Registers, TileConfigOp] | None = None
    for op in list(block.ops):
        users = [inner for inner in walk(op) if inner in shapes]
        wanted = {shapes[user] for user in users}
        if len(wanted) != 1 or any(isinstance(inner, ForOp) and inner.kind.data == "parallel" for inner in walk(op)):
            current = None if wanted else current
            for region in op.regions if wanted else ():
                for inner in region.blocks:
                    _configure(inner, shapes)
            continue
        (registers,) = wanted
        if current is None or current[0] != registers:
            current = registers, TileConfigOp.make(registers)
            block.insert_op_before(current[1], op)
            current[1].location = users[0].location
        current[1].location = fuse([current[1].location, *(user.location for user in users)])


@dataclass(frozen=True)
class TirTileProductsPass(ModulePass):
    """Computes sums of products of words in registers that hold tiles, where a loop over words asks for it.

    Before: kernels in which a loop marked `pragma_tiles`, and loops that hold nothing else around it, add `tir.dot4`
    or `tir.dot2_bf16` of a word of each operand to a sum in a buffer. The words of a row of the first lie side by
    side, and so do the columns of the second and of the sum. After: each loop over rows and over columns is cut into
    tiles of up to 16, which are zeroed or loaded, multiplied inside the loops of the reduction that are left, and
    stored; a pass of the innermost takes as many words as divide them, up to 16. A configuration stands before all
    loops that need it, in each thread. Where the tiles of rows, times those of columns, leave too few of the eight
    registers, that is an error. Products of other kinds than `kinds` stay loops.
    Locations: products have that of the product, loads and stores those of what they stand for, zeros that of the loops
    that set the sums to 0, and a configuration those of all tiles that need it.

    ```mlir
    tir.for %i in 8 {
      tir.for %j in 16 {
        tir.for %k in 16 attributes {"pragma_tiles" = 1 : i64} {
          %0 = tir.load %c[%i, %j] : !tir.buffer<8x16xi32> -> i32
          %1 = tir.load %a[%i, %k] : !tir.buffer<8x16xi32> -> i32
          %2 = tir.load %b[%k, %j] : !tir.buffer<16x16xi32> -> i32
          %3 = tir.dot4 %1, %2 : i32
          %4 = arith.addi %0, %3 : i32
          tir.store %4, %c[%i, %j] : i32, !tir.buffer<8x16xi32>
        }
      }
    }
    // becomes
    tir.tile_config rows [8, 8, 16, 0, 0, 0, 0, 0] words [16, 16, 16, 0, 0, 0, 0, 0]
    tir.tile_load 0, %c[0, 0] step 16 as [8, 16] : !tir.buffer<8x16xi32>
    tir.tile_load 2, %b[0, 0] step 16 as [16, 16] : !tir.buffer<16x16xi32>
    tir.tile_load 1, %a[0, 0] step 16 as [8, 16] : !tir.buffer<8x16xi32>
    tir.tile_dot "u8s8" 0, 1, 2 as [8, 16, 16]
    tir.tile_store 0, %c[0, 0] step 16 as [8, 16] : !tir.buffer<8x16xi32>
    ```
    """

    name = "tir-tile-products"
    kinds: tuple[str, ...] = tuple(SUMS)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if unknown := set(self.kinds) - set(SUMS):
            raise PipelineError(message(self.name, f"kinds among {', '.join(SUMS)}", ", ".join(sorted(unknown))))
        for func in prim_funcs(op):
            run(func, frozenset(self.kinds))
