"""The table of rules by which `rewrite_simplify` rewrites: identities of integers, in the order of trial.

A line is `pattern -> result`, then ` | condition`. In it `x`, `y`, `z`, `w` stand for any expression, and `c1`, `c2`
for numbers; `tdiv` and `tmod` round towards zero; `wide` is a vector of one number, `ramp` one of equal steps; `lo` and
`hi` are the bounds of a value. The result of `=>` is rewritten on. Divisors are not 0.
"""

RULES = """
x + 0 -> x
0 + x -> x
ramp(x, y) + ramp(z, w) => ramp(x + z, y + w)
ramp(x, y) + wide(z) => ramp(x + z, y)
wide(z) + ramp(x, y) => ramp(z + x, y)
wide(x) + wide(y) => wide(x + y)
wide(0) + x -> x
x + wide(0) -> x
select(x, y, z) + select(x, w, v) => select(x, y + w, z + v)
(x - y) + y -> x
x + (y - x) -> y
(x - y) + (y - z) => x - z
(x - y) + (z - x) => z - y
min(z, y - x * c1) + x * c1 => min(z + x * c1, y)
min(y - x * c1, z) + x * c1 => min(z + x * c1, y)
max(z, y - x * c1) + x * c1 => max(z + x * c1, y)
max(y - x * c1, z) + x * c1 => max(z + x * c1, y)
min(x, y - z) + z => min(x + z, y)
min(x - z, y) + z => min(x, y + z)
max(x, y - z) + z => max(x + z, y)
max(x - z, y) + z => max(x, y + z)
z + min(x, y - z) => min(x + z, y)
z + min(x - z, y) => min(x, y + z)
z + max(x, y - z) => max(x + z, y)
z + max(x - z, y) => max(x, y + z)
min(x, y + c1) + c2 => min(x + c2, y) | c1 + c2 == 0
min(x + c1, y) + c2 => min(x, y + c2) | c1 + c2 == 0
max(x, y + c1) + c2 => max(x + c2, y) | c1 + c2 == 0
max(x + c1, y) + c2 => max(x, y + c2) | c1 + c2 == 0
max(x, y) + min(x, y) => x + y
min(x, y) + max(x, y) => x + y
max(x, y) + min(y, x) => x + y
min(x, y) + max(y, x) => x + y
x // c1 * c1 + x % c1 -> x
x % c1 + x // c1 * c1 -> x
tdiv(x, c1) * c1 + tmod(x, c1) -> x
tmod(x, c1) + tdiv(x, c1) * c1 -> x
(x % c1 + c2) // c1 + x // c1 => (x + c2) // c1 | c1 > 0
x // c1 + (x % c1 + c2) // c1 => (x + c2) // c1 | c1 > 0
x % 2 + (x + c1) % 2 -> 1 | c1 % 2 == 1
(x + c1) % 2 + x % 2 -> 1 | c1 % 2 == 1
x // 2 + x % 2 => (x + 1) // 2
x % 2 + x // 2 => (x + 1) // 2
c1 + x => x + c1
(x + c1) + c2 => x + (c1 + c2)
(c1 - x) + c2 => (c1 + c2) - x
x + (y + c1) => (x + y) + c1
(x + c1) + y => (x + y) + c1
x + (c1 - y) => (x - y) + c1
(c1 - y) + x => (x - y) + c1
x + x => x * 2
x * y + x => x * (y + 1)
y * x + x => x * (y + 1)
x + y * x => x * (1 + y)
x + x * y => x * (1 + y)
x * y + x * z => x * (y + z)
y * x + x * z => x * (y + z)
x * y + z * x => x * (y + z)
y * x + z * x => x * (y + z)

x - x -> 0
x - c1 => x + (0 - c1)
ramp(x, y) - ramp(z, w) => ramp(x - z, y - w)
ramp(x, y) - wide(z) => ramp(x - z, y)
wide(z) - ramp(x, y) => ramp(z - x, 0 - y)
wide(x) - wide(y) => wide(x - y)
x - wide(0) -> x
select(x, y, z) - select(x, w, v) => select(x, y - w, z - v)
select(x, y, z) - z => select(x, y - z, 0)
select(x, y, z) - y => select(x, 0, z - y)
(x + y) - y -> x
(x + y) - x -> y
x - (y + x) -> 0 - y
x - (x + y) -> 0 - y
min(x, y) - min(y, x) -> 0
max(x, y) - max(y, x) -> 0
min(x, y) - x -> min(0, y - x)
min(x, y) - y -> min(x - y, 0)
max(x, y) - x -> max(0, y - x)
max(x, y) - y -> max(x - y, 0)
x - max(x, y) -> min(0, x - y)
y - max(x, y) -> min(y - x, 0)
x - min(x, y) -> max(0, x - y)
y - min(x, y) -> max(y - x, 0)
x * y - x => x * (y + (0 - 1))
y * x - x => x * (y + (0 - 1))
x - y * x => x * (1 - y)
x - x * y => x * (1 - y)
x * y - x * z => x * (y - z)
y * x - x * z => x * (y - z)
x * y - z * x => x * (y - z)
y * x - z * x => x * (y - z)
(x + y) - (x + z) => y - z
(y + x) - (x + z) => y - z
(x + y) - (z + x) => y - z
(y + x) - (z + x) => y - z
min(x + y, z) - x => min(y, z - x)
min(y + x, z) - x => min(y, z - x)
min(z, x + y) - x => min(z - x, y)
min(z, y + x) - x => min(z - x, y)
max(x + y, z) - x => max(y, z - x)
max(y + x, z) - x => max(y, z - x)
max(z, x + y) - x => max(z - x, y)
max(z, y + x) - x => max(z - x, y)
x - min(x + y, z) => max(0 - y, x - z)
x - min(y + x, z) => max(0 - y, x - z)
x - min(z, x + y) => max(x - z, 0 - y)
x - min(z, y + x) => max(x - z, 0 - y)
x - max(x + y, z) => min(0 - y, x - z)
x - max(y + x, z) => min(0 - y, x - z)
x - max(z, x + y) => min(x - z, 0 - y)
x - max(z, y + x) => min(x - z, 0 - y)
min(x, y) - min(x + c1, y + c1) -> 0 - c1
max(x, y) - max(x + c1, y + c1) -> 0 - c1
min(x + c1, y + c2) - min(x, y + c3) -> c1 | c2 - c3 == c1
max(x + c1, y + c2) - max(x, y + c3) -> c1 | c2 - c3 == c1
x - x // c1 * c1 => x % c1
x // c1 * c1 - x => 0 - x % c1
x - (x + y) // c1 * c1 => (x + y) % c1 - y
(x + y) // c1 * c1 - x => y - (x + y) % c1
x - (x - y) // c1 * c1 => (x - y) % c1 + y
(x - y) // c1 * c1 - x => (0 - (x - y) % c1) - y
x * c2 - x // c1 * c3 => x % c1 * c2 | c3 == c1 * c2
x // c1 * c3 - x * c2 => x % c1 * (0 - c2) | c3 == c1 * c2
x * c2 - (x + y) // c1 * c3 => ((x + y) % c1 - y) * c2 | c3 == c1 * c2
(x + y) // c1 * c3 - x * c2 => (y - (x + y) % c1) * c2 | c3 == c1 * c2
x * c2 - (x - y) // c1 * c3 => ((x - y) % c1 + y) * c2 | c3 == c1 * c2
(x - y) // c1 * c3 - x * c2 => ((0 - (x - y) % c1) - y) * c2 | c3 == c1 * c2
x - tdiv(x, c1) * c1 => tmod(x, c1)
tdiv(x, c1) * c1 - x => 0 - tmod(x, c1)
x - tdiv(x + y, c1) * c1 => tmod(x + y, c1) - y
tdiv(x + y, c1) * c1 - x => y - tmod(x + y, c1)
x - tdiv(x - y, c1) * c1 => tmod(x - y, c1) + y
tdiv(x - y, c1) * c1 - x => (0 - tmod(x - y, c1)) - y
x * c2 - tdiv(x, c1) * c3 => tmod(x, c1) * c2 | c3 == c1 * c2
tdiv(x, c1) * c3 - x * c2 => tmod(x, c1) * (0 - c2) | c3 == c1 * c2
x * c2 - tdiv(x + y, c1) * c3 => (tmod(x + y, c1) - y) * c2 | c3 == c1 * c2
tdiv(x + y, c1) * c3 - x * c2 => (y - tmod(x + y, c1)) * c2 | c3 == c1 * c2
x * c2 - tdiv(x - y, c1) * c3 => (tmod(x - y, c1) + y) * c2 | c3 == c1 * c2
tdiv(x - y, c1) * c3 - x * c2 => ((0 - tmod(x - y, c1)) - y) * c2 | c3 == c1 * c2
(x + 1) // 2 - x % 2 => x // 2
(x + c1) // 2 - (x + c2) // 2 => x % 2 * (c1 % 2 - c2 % 2) + (c1 // 2 - c2 // 2)
(x + c1) // 2 - x // 2 => x % 2 * (c1 % 2) + c1 // 2
x // 2 - (x + c2) // 2 => x % 2 * (0 - c2 % 2) - c2 // 2
(x + c1) // c3 - (x + c2) // c3 => ((x + c2) % c3 + (c1 - c2)) // c3 | c3 > 0
(x + c1) // c3 - x // c3 => (x % c3 + c1) // c3 | c3 > 0
tdiv(x + c1, c3) - tdiv(x + c2, c3) => tdiv(tmod(x + c2, c3) + (c1 - c2), c3) | c3 > 0 and lo(x + c2) >= 0 and c1 >= c2
tdiv(x + c1, c3) - tdiv(x, c3) => tdiv(tmod(x, c3) + c1, c3) | c3 > 0 and lo(x) >= 0 and c1 >= 0
0 - x * c1 => x * (0 - c1)
(x + c1) - y => (x - y) + c1
x - (y + c1) => (x - y) + (0 - c1)
x - (y - z) => (x + z) - y
x - y * c1 => x + y * (0 - c1) | c1 < 0

wide(x) * wide(y) => wide(x * y)
ramp(x, y) * wide(z) => ramp(x * z, y * z)
wide(z) * ramp(x, y) => ramp(x * z, y * z)
x * 0 -> 0
0 * x -> 0
x * 1 -> x
1 * x -> x
c1 * x => x * c1
(x + c1) * c2 => x * c2 + c1 * c2
(x * c1) * c2 => x * (c1 * c2)
min(x, y) * max(x, y) => x * y
max(x, y) * min(x, y) => x * y
(x - y) * c1 => (y - x) * (0 - c1) | c1 < 0
x * (y * c1) => (x * y) * c1
(x * c1) * y => (x * y) * c1

tdiv(wide(x), wide(y)) => wide(tdiv(x, y))
tdiv(ramp(x, c1), wide(c2)) => ramp(tdiv(x, c2), c1 // c2) | c2 > 0 and c1 >= 0 and c1 % c2 == 0 and lo(x) >= 0
tdiv(x, 1) -> x
tdiv(x, x) -> 1
tdiv(tdiv(x, c1), c2) => tdiv(x, c1 * c2) | c1 > 0 and c2 > 0
tdiv(tdiv(x, c1) + c2, c3) => tdiv(x + c1 * c2, c1 * c3) | c1 > 0 and c2 >= 0 and c3 > 0 and lo(x) >= 0
tdiv(x * c1, c2) => x * (c1 // c2) | c2 > 0 and c1 % c2 == 0
tdiv(x * c1, c2) => tdiv(x, c2 // c1) | c1 > 0 and c2 % c1 == 0
tdiv(x * c1 + y, c2) => x * (c1 // c2) + tdiv(y, c2) | c2 > 0 and c1 % c2 == 0 and lo(x * c1) >= 0 and lo(y) >= 0
tdiv(y + x * c1, c2) => tdiv(y, c2) + x * (c1 // c2) | c2 > 0 and c1 % c2 == 0 and lo(x * c1) >= 0 and lo(y) >= 0
tdiv(min(x * c1, y), c2) => min(x * (c1 // c2), tdiv(y, c2)) | c2 > 0 and c1 % c2 == 0
tdiv(max(x * c1, y), c2) => max(x * (c1 // c2), tdiv(y, c2)) | c2 > 0 and c1 % c2 == 0
tdiv(min(y, x * c1), c2) => min(tdiv(y, c2), x * (c1 // c2)) | c2 > 0 and c1 % c2 == 0
tdiv(max(y, x * c1), c2) => max(tdiv(y, c2), x * (c1 // c2)) | c2 > 0 and c1 % c2 == 0
tdiv(x * c1 + y + z, c2) => x * (c1 // c2) + tdiv(y + z, c2) | c2 > 0 and c1 % c2 == 0 and min(lo(x * c1), lo(y+z)) >= 0
tdiv(y + x * c1 + z, c2) => x * (c1 // c2) + tdiv(y + z, c2) | c2 > 0 and c1 % c2 == 0 and min(lo(x * c1), lo(y+z)) >= 0
tdiv(x + c1, c2) => tdiv(x, c2) + c1 // c2 | c1 > 0 and c2 > 0 and c1 % c2 == 0 and lo(x) >= 0
tdiv(x + y, x) => tdiv(y, x) + 1 | lo(x) >= 0 and lo(y) >= 0
tdiv(y + x, x) => tdiv(y, x) + 1 | lo(x) >= 0 and lo(y) >= 0
tdiv((x + y) + z, x) => tdiv(y + z, x) + 1 | lo(x) >= 0 and lo(y + z) >= 0
tdiv((y + x) + z, x) => tdiv(y + z, x) + 1 | lo(x) >= 0 and lo(y + z) >= 0
tdiv(y + (x + z), x) => tdiv(y + z, x) + 1 | lo(x) >= 0 and lo(y + z) >= 0
tdiv(y + (z + x), x) => tdiv(y + z, x) + 1 | lo(x) >= 0 and lo(y + z) >= 0
tdiv(x * y, y) -> x
tdiv(y * x, y) -> x
tdiv(x * z + y, z) => x + tdiv(y, z) | lo(x) >= 0 and lo(y) >= 0 and lo(z) >= 0
tdiv(z * x + y, z) => x + tdiv(y, z) | lo(x) >= 0 and lo(y) >= 0 and lo(z) >= 0
tdiv(y + x * z, z) => tdiv(y, z) + x | lo(x) >= 0 and lo(y) >= 0 and lo(z) >= 0
tdiv(y + z * x, z) => tdiv(y, z) + x | lo(x) >= 0 and lo(y) >= 0 and lo(z) >= 0

tmod(wide(x), wide(y)) => wide(tmod(x, y))
tmod(ramp(x, c1), wide(c2)) => wide(tmod(x, c2)) | c2 > 0 and c1 >= 0 and c1 % c2 == 0 and lo(x) >= 0
tmod(x, 1) -> 0
tmod(x, c1) -> x | lo(x) > 0 - c1 and hi(x) < c1
tmod(x, c1) => tmod(x, 0 - c1) | c1 < 0
tmod(x * c1, c2) -> 0 | c1 % c2 == 0
tmod(x * c1 + y, c2) => tmod(y, c2) | c2 > 0 and c1 % c2 == 0 and lo(x * c1) >= 0 and lo(y) >= 0
tmod(x + y * c1, c2) => tmod(x, c2) | c2 > 0 and c1 % c2 == 0 and lo(y * c1) >= 0 and lo(x) >= 0
tmod(x + c1, c2) => tmod(x, c2) | c1 >= 0 and c2 > 0 and c1 % c2 == 0 and lo(x) >= 0

wide(x) // wide(y) => wide(x // y)
ramp(x, c1) // wide(c2) => ramp(x // c2, c1 // c2) | c2 > 0 and c1 % c2 == 0
x // 1 -> x
x // x -> 1
x // c1 // c2 => x // (c1 * c2) | c1 > 0 and c2 > 0
(x // c1 + c2) // c3 => (x + c1 * c2) // (c1 * c3) | c1 > 0 and c3 > 0
(x % 2 + 1) // 2 => x % 2
(x - x % c1) // c1 => x // c1
(x * c1) // c2 => x * (c1 // c2) | c2 > 0 and c1 % c2 == 0
(x * c1) // c2 => x // (c2 // c1) | c1 > 0 and c2 % c1 == 0
(x * c1 + c3) // c2 => x // (c2 // c1) + c3 // c2 | c1 > 0 and c2 > 0 and c2 % c1 == 0 and c3 // c1 % (c2 // c1) == 0
(x * c1 + y) // c2 => x * (c1 // c2) + y // c2 | c2 > 0 and c1 % c2 == 0
(y + x * c1) // c2 => x * (c1 // c2) + y // c2 | c2 > 0 and c1 % c2 == 0
(x * c1 + y) // c2 => x * (c1 // c2) | c2 > 0 and c1 > c2 and lo(x * (c1 % c2) + y) >= 0 and hi(x * (c1 % c2) + y) < c2
min(x * c1, y) // c2 => min(x * (c1 // c2), y // c2) | c2 > 0 and c1 % c2 == 0
max(x * c1, y) // c2 => max(x * (c1 // c2), y // c2) | c2 > 0 and c1 % c2 == 0
min(y, x * c1) // c2 => min(y // c2, x * (c1 // c2)) | c2 > 0 and c1 % c2 == 0
max(y, x * c1) // c2 => max(y // c2, x * (c1 // c2)) | c2 > 0 and c1 % c2 == 0
(x * c1 + y + z) // c2 => x * (c1 // c2) + (y + z) // c2 | c2 > 0 and c1 % c2 == 0
(y + x * c1 + z) // c2 => x * (c1 // c2) + (y + z) // c2 | c2 > 0 and c1 % c2 == 0
(x + c1) // c2 => x // c2 + c1 // c2 | c2 > 0 and c1 % c2 == 0
(x + y) // x => y // x + 1 | lo(x) >= 0
(y + x) // x => y // x + 1 | lo(x) >= 0
((x + y) + z) // x => (y + z) // x + 1 | lo(x) >= 0
((y + x) + z) // x => (y + z) // x + 1 | lo(x) >= 0
(y + (x + z)) // x => (y + z) // x + 1 | lo(x) >= 0
(y + (z + x)) // x => (y + z) // x + 1 | lo(x) >= 0
(x * y) // y -> x
(y * x) // y -> x
(x * z + y) // z => x + y // z
(z * x + y) // z => x + y // z
(y + x * z) // z => y // z + x
(y + z * x) // z => y // z + x

wide(x) % wide(y) => wide(x % y)
ramp(x, c1) % wide(c2) => wide(x % c2) | c2 > 0 and c1 % c2 == 0
x % 1 -> 0
x % c1 -> x | lo(x) >= 0 and hi(x) < c1
(x * c1) % c2 -> 0 | c1 % c2 == 0
(x * c1) % c2 => (x * (c1 % c2)) % c2 | c2 > 0 and (c1 < 0 or c1 >= c2)
(x * c1 + y) % c2 => y % c2 | c1 % c2 == 0
(x + y * c1) % c2 => x % c2 | c1 % c2 == 0
(x * c1 + y) % c2 => (x * (c1 % c2) + y) % c2 | c2 > 0 and (c1 < 0 or c1 >= c2)
(x + y * c1) % c2 => (x + y * (c1 % c2)) % c2 | c2 > 0 and (c1 < 0 or c1 >= c2)
(x + c1) % c2 => (x + c1 % c2) % c2 | c2 > 0 and (c1 < 0 or c1 >= c2)
(x - x % y) % y -> 0
(x - x % c1) % c2 -> 0 | c1 + c2 == 0
(x - x % (y * c1)) % y -> 0 | c1 + 1 == 0
(x + (x * c1) % y) % y -> 0 | c1 + 1 == 0
(x + (x * c1) % c2) % c2 -> 0 | (c1 + 1) % c2 == 0
(x * y) % y -> 0
(y * x) % y -> 0

min(wide(x), wide(y)) => wide(min(x, y))
min(min(x, wide(y)), wide(z)) => min(x, wide(min(y, z)))
max(wide(x), wide(y)) => wide(max(x, y))
max(max(x, wide(y)), wide(z)) => max(x, wide(max(y, z)))
min(select(x, y, z), select(x, w, v)) -> select(x, min(y, w), min(z, v))
max(select(x, y, z), select(x, w, v)) -> select(x, max(y, w), max(z, v))
min((x + c1) // c2 * c2, x) -> x | c2 > 0 and c1 + 1 == c2
min(x, (x + c1) // c2 * c2) -> x | c2 > 0 and c1 + 1 == c2
max((x + c1) // c2 * c2, x) -> (x + c1) // c2 * c2 | c2 > 0 and c1 + 1 == c2
max(x, (x + c1) // c2 * c2) -> (x + c1) // c2 * c2 | c2 > 0 and c1 + 1 == c2
min(x // c2 * c2, x) -> x // c2 * c2 | c2 > 0
min(x, x // c2 * c2) -> x // c2 * c2 | c2 > 0
max(x // c2 * c2, x) -> x | c2 > 0
max(x, x // c2 * c2) -> x | c2 > 0
min(tdiv(x + c1, c2) * c2, x) -> x | c2 > 0 and c1 + 1 == c2
min(x, tdiv(x + c1, c2) * c2) -> x | c2 > 0 and c1 + 1 == c2
max(tdiv(x + c1, c2) * c2, x) -> tdiv(x + c1, c2) * c2 | c2 > 0 and c1 + 1 == c2
max(x, tdiv(x + c1, c2) * c2) -> tdiv(x + c1, c2) * c2 | c2 > 0 and c1 + 1 == c2
min((x + c1) // c2 * c2, max(x, c2)) -> max(x, c2) | c2 > 0 and c1 + 1 == c2 and lo(x) > 0
min(max(x, c2), (x + c1) // c2 * c2) -> max(x, c2) | c2 > 0 and c1 + 1 == c2 and lo(x) > 0
min(tdiv(x + c1, c2) * c2, max(x, c2)) -> max(x, c2) | c2 > 0 and c1 + 1 == c2 and lo(x) > 0
min(max(x, c2), tdiv(x + c1, c2) * c2) -> max(x, c2) | c2 > 0 and c1 + 1 == c2 and lo(x) > 0
min(max(x, y), min(x, y)) -> min(x, y)
min(max(x, y), min(y, x)) -> min(x, y)
max(min(x, y), max(x, y)) -> max(x, y)
max(min(x, y), max(y, x)) -> max(x, y)
min(max(x, y), x) -> x
min(max(x, y), y) -> y
min(x, max(x, y)) -> x
min(y, max(x, y)) -> y
max(min(x, y), x) -> x
max(min(x, y), y) -> y
max(x, min(x, y)) -> x
max(y, min(x, y)) -> y
min(max(x, y), max(x, z)) => max(min(y, z), x)
min(max(x, y), max(z, x)) => max(min(y, z), x)
min(max(y, x), max(x, z)) => max(min(y, z), x)
min(max(y, x), max(z, x)) => max(min(y, z), x)
max(min(x, y), min(x, z)) => min(max(y, z), x)
max(min(x, y), min(z, x)) => min(max(y, z), x)
max(min(y, x), min(x, z)) => min(max(y, z), x)
max(min(y, x), min(z, x)) => min(max(y, z), x)
min(y + x, z + x) => min(y, z) + x
min(y + x, x + z) => min(y, z) + x
min(x + y, x + z) => min(y, z) + x
min(x + y, z + x) => min(y, z) + x
max(y + x, z + x) => max(y, z) + x
max(y + x, x + z) => max(y, z) + x
max(x + y, x + z) => max(y, z) + x
max(x + y, z + x) => max(y, z) + x
min(x - y, x - z) => x - max(y, z)
max(x - y, x - z) => x - min(y, z)
min(y - x, z - x) => min(y, z) - x
max(y - x, z - x) => max(y, z) - x
min(min(x, c1), c2) => min(x, min(c1, c2))
max(max(x, c1), c2) => max(x, max(c1, c2))
min(min(x, c1), y) => min(min(x, y), c1)
max(max(x, c1), y) => max(max(x, y), c1)
min(x // c1, y // c1) => min(x, y) // c1 | c1 > 0
min(x // c1, y // c1) => max(x, y) // c1 | c1 < 0
max(x // c1, y // c1) => max(x, y) // c1 | c1 > 0
max(x // c1, y // c1) => min(x, y) // c1 | c1 < 0
min(tdiv(x, c1), tdiv(y, c1)) => tdiv(min(x, y), c1) | c1 > 0
max(tdiv(x, c1), tdiv(y, c1)) => tdiv(max(x, y), c1) | c1 > 0
min(tdiv(x, c1), tdiv(y, c1)) => tdiv(max(x, y), c1) | c1 < 0
max(tdiv(x, c1), tdiv(y, c1)) => tdiv(min(x, y), c1) | c1 < 0
min(x * c1, y * c1) => min(x, y) * c1 | c1 > 0
min(x * c1, y * c1) => max(x, y) * c1 | c1 < 0
max(x * c1, y * c1) => max(x, y) * c1 | c1 > 0
max(x * c1, y * c1) => min(x, y) * c1 | c1 < 0
min(x * c1, c2) => min(x, c2 // c1) * c1 | c1 > 0 and c2 % c1 == 0
min(x * c1, c2) => max(x, c2 // c1) * c1 | c1 < 0 and c2 % c1 == 0
max(x * c1, c2) => max(x, c2 // c1) * c1 | c1 > 0 and c2 % c1 == 0
max(x * c1, c2) => min(x, c2 // c1) * c1 | c1 < 0 and c2 % c1 == 0
min(c1 - x, c2) => c1 - max(x, c1 - c2) | c2 != 0
max(c1 - x, c2) => c1 - min(x, c1 - c2) | c2 != 0

wide(x) == wide(y) => wide(x == y)
wide(x) != wide(y) => wide(x != y)
wide(x) < wide(y) => wide(x < y)
wide(x) <= wide(y) => wide(x <= y)
wide(x) > wide(y) => wide(y < x)
wide(x) >= wide(y) => wide(y <= x)
c1 == x => x == c1
x + c1 == c2 => x == c2 - c1
c1 - x == c2 => x == c1 - c2
x * y == 0 => x == 0 or y == 0
x + y == x + z => y == z
x + c1 < c2 => x < c2 - c1
c1 < x + c2 => c1 - c2 < x
c1 < c2 - x => x < c2 - c1
c1 - x < c2 => c1 - c2 < x
x + c1 < y + c1 => x < y
x + c1 < y + c2 => x <= y | c2 - c1 == 1
x + c1 < y + c2 => x < y + (c2 - c1) | c2 > c1
x + c1 < y + c2 => x + (c1 - c2) < y | c2 < c1
x < y + 1 => x <= y
x + c1 < y => x <= y | c1 + 1 == 0
x < y + c1 => x + (0 - c1) < y | c1 < 0
x + c1 < y => x < y + (0 - c1) | c1 < 0
x + y < x + z => y < z
x + y < z + x => y < z
y + x < x + z => y < z
y + x < z + x => y < z
y - x < z - x => y < z
x - y < x - z => z < y
x < x + z => 0 < z
x < z + x => 0 < z
x < x - z => z < 0
x + z < x => z < 0
z + x < x => z < 0
x * c1 < y * c1 => x < y | c1 > 0
x * c1 < y * c1 => y < x | c1 < 0
x * c1 < c2 => x < (c2 - 1) // c1 + 1 | c1 > 0
x * c1 < c2 => (0 - c2) // (0 - c1) < x | c1 < 0
c1 < x * c2 => c1 // c2 < x | c2 > 0
c1 < x * c2 => x < (0 - c1 - 1) // (0 - c2) + 1 | c2 < 0
tdiv(x, c1) < c2 => x < c1 * c2 | c1 > 0 and c2 > 0
tdiv(x, c1) < c2 => x < (c2 - 1) * c1 + 1 | c1 > 0 and c2 <= 0
c1 < tdiv(x, c2) => (c1 + 1) * c2 - 1 < x | c2 > 0 and c1 >= 0
c1 < tdiv(x, c2) => c1 * c2 < x | c2 > 0 and c1 < 0
x // c1 < c2 => x < c1 * c2 | c1 > 0
c1 < x // c2 => (c1 + 1) * c2 - 1 < x | c2 > 0
x // c1 * c1 < x => 0 < x % c1 | c1 > 0
x // c1 * c1 < x + y => 0 < x % c1 + y | c1 > 0
x // c1 * c1 < x - y => y < x % c1 | c1 > 0
(x + c2) // c1 * c1 < x => c2 < (x + c2) % c1 | c1 > 0
(x + c2) // c1 * c1 < x + y => c2 < (x + c2) % c1 + y | c1 > 0
(x + c2) // c1 * c1 < x - y => y + c2 < (x + c2) % c1 | c1 > 0
tdiv(x, c1) * c1 < x => 0 < tmod(x, c1)
tdiv(x, c1) * c1 < x + y => 0 < tmod(x, c1) + y
tdiv(x, c1) * c1 < x - y => y < tmod(x, c1)
tdiv(x + c2, c1) * c1 < x => c2 < tmod(x + c2, c1)
tdiv(x + c2, c1) * c1 < x + y => c2 < tmod(x + c2, c1) + y
tdiv(x + c2, c1) * c1 < x - y => y + c2 < tmod(x + c2, c1)
min(x, c1) < c2 => x < c2 | c2 <= c1
min(c1, x) < c2 => x < c2 | c2 <= c1
c1 < max(x, c2) => c1 < x | c2 <= c1
c1 < max(c2, x) => c1 < x | c2 <= c1
x + c1 < max(c2, x) => x < c2 - c1 | c1 >= 0
x + c1 < max(x, c2) => x < c2 - c1 | c1 >= 0

wide(x) and wide(y) => wide(x and y)
wide(x) or wide(y) => wide(x or y)
x and x -> x
x or x -> x
x and (y and z) => (x and y) and z
x or (y or z) => (x or y) or z
x // c1 == c2 and x % c1 == c3 => x == c2 * c1 + c3 | c1 > 0 and c3 >= 0 and c3 < c1
x % c1 == c3 and x // c1 == c2 => x == c2 * c1 + c3 | c1 > 0 and c3 >= 0 and c3 < c1
0 <= x - y * c1 and x - y * c1 < c1 => y == x // c1 | c1 > 0
x - y * c1 < c1 and 0 <= x - y * c1 => y == x // c1 | c1 > 0
x < c1 and x % c2 < c3 -> x < (c1 - 1) // c2 * c2 + c3 and x % c2 < c3 | c3 > 0 and c3 < c2 and (c1 - 1) % c2 + 1 > c3
x <= c1 and x % c2 < c3 -> x < c1 // c2 * c2 + c3 and x % c2 < c3 | c3 > 0 and c3 < c2 and c1 % c2 + 1 > c3
x // c1 == c2 and x % c1 < c3 -> c1 * c2 <= x and x < c1 * c2 + c3 | c1 > 0 and c3 > 0 and c3 <= c1
x // c1 == c2 and x % c1 <= c3 -> c1 * c2 <= x and x <= c1 * c2 + c3 | c1 > 0 and c3 >= 0 and c3 < c1
x // c1 == c2 and c3 < x % c1 -> c1 * c2 + c3 < x and x < c1 * (c2 + 1) | c1 > 0 and c3 >= 0 and c3 < c1
x // c1 == c2 and c3 <= x % c1 -> c1 * c2 + c3 <= x and x < c1 * (c2 + 1) | c1 > 0 and c3 >= 0 and c3 < c1
not not x -> x
not x < y -> y <= x
not x <= y -> y < x
not x == y -> x != y
not x != y -> x == y
select(x, y, y) -> y
if_then_else(x, y, y) -> y
if_then_else(x, if_then_else(y, z, w), w) => if_then_else(x and y, z, w)
"""
