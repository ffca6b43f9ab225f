"""The fields of the options of operators, for the check of a file: one word per slot.

A word is the size of a number in bytes (`4`), of the numbers of a vector (`v8`), or a string (`s`); `-` is unused.
"""

from __future__ import annotations

from collections.abc import Mapping

OPTIONS: Mapping[int, str] = {
    **{1: "1 4 4 1 4 4 1", 2: "1 4 4 4 1 4 4", 3: "4 v4 v4", 4: "1", 5: "1 4 4 4 4 1", 6: "4 1 1", 7: "1 1"},
    **{8: "1 1 1 1 1", 9: "4", 10: "4 1", 11: "1 1", 12: "1", 13: "4 4 4 4", 14: "1 4 4 1 1", 15: "- - 1 1"},
    **{16: "4", 17: "v4", 18: "4 4 1", 19: "4", 20: "1", 21: "1", 23: "4 4", 27: "1", 28: "1 1", 29: "1"},
    **{30: "v4", 31: "1 1 1", 32: "4 4 4 4 4 1", 35: "4", 37: "1 1", 40: "1", 49: "1 4 4 1 1", 50: "1"},
    **{55: "1", 57: "1", 58: "4 4 4 1", 59: "4 4", 61: "4", 64: "4 4", 69: "1 4 4 1 1 1", 70: "1 1 1 1"},
    **{71: "1 4 4 1 1 1", 74: "1 1", 75: "4", 77: "1", 79: "4", 80: "1", 87: "4 4", 92: "4 4", 93: "4 4"},
    **{94: "4", 101: "1 1 1", 102: "1 1", 103: "4", 106: "1 4 4 4 1 4 4 4", 107: "4 1 1", 111: "s s"},
    **{114: "8 8", 115: "v4", 116: "1"},
}
"""Number of `BuiltinOptions` -> its fields; options that are left out have none."""
MORE_OPTIONS: Mapping[int, str] = {
    **{1: "8", 2: "v8", 3: "v8 v8 v8", 4: "v8 v8 v8 v8 v1 8 8 v8 8 8 v8 8 8 v8 8 8 v4", 5: "s 1 s 4 v4 v1"},
    **{6: "v8 4", 7: "1 v8 v8 v8 8 1 4", 8: "4 4", 9: "v8", 10: "v8 v8 v8", 11: "8", 12: "v8 v8 v8 v8 v4"},
    **{13: "v8 v8 v8 v8 v8 4", 14: "8 1 4", 15: "4 4", 16: "v8 v8 v8 8 v8 1", 17: "v8", 19: "1", 20: "4"},
    **{21: "s 4 v1 1 4"},
}
"""Number of `BuiltinOptions2` -> its fields."""
