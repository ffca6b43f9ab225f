"""The linker of exported models, on objects of the system's compiler of C."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from whence.runtime.loading.elf import Elf
from whence.runtime.loading.link import link
from whence.runtime.program.program import Code
from whence.support.errors import FrontendError, PipelineError, WhenceError

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler of C")

ONE = """
#include <math.h>
#include <string.h>
static const double table[4] = {1.5, 2.5, 3.5, 4.5};
static double counters[600];
static int calls = 7;
extern const char *const words[2];
extern double given(double);
double other(double);
double constant(long k) { return table[k]; }
double count(long k) { counters[k] += 1; calls++; return counters[k] + calls; }
double far(double x) { return cos(x) + other(x) + given(x); }
long letters(long k) { return (long)strlen(words[k]); }
double (*pointer(void))(double) { return other; }
long choose(long k) {
  switch (k) { case 0: return 11; case 1: return 7; case 2: return 5; case 3: return 3; case 4: return 2; }
  return -1;
}
"""
TWO = """
const char *const words[2] = {"three", "four.."};
double other(double x) { return 10 * x; }
"""


def compiled(folder: Path, name: str, text: str, *options: str) -> Elf:
    (folder / f"{name}.c").write_text(text)
    out = folder / f"{name}.o"
    words = ["cc", "-c", "-O1", "-fPIC", "-ffunction-sections", *options, folder / f"{name}.c", "-o", out]
    subprocess.run(words, check=True)
    return Elf.of(out.read_bytes(), f"{name}.o")


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Elf]:
    folder = tmp_path_factory.mktemp("objects")
    return [compiled(folder, "one", ONE), compiled(folder, "two", TWO)]


NAMES = ("constant", "count", "far", "letters", "pointer", "choose", "other")


@pytest.fixture
def given() -> object:
    def quarter(x: float) -> float:
        return x / 4

    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(quarter)


@pytest.fixture
def code(objects: list[Elf], given: object) -> Code:
    address = ctypes.cast(given, ctypes.c_void_p).value or 0  # pyright: ignore[reportArgumentType]
    return link(objects, NAMES, {"given": address})


def test_constants_data_calls_and_pointers(code: Code):
    integer, real = ctypes.c_long, ctypes.c_double
    constant, count = (ctypes.CFUNCTYPE(real, integer)(code[name]) for name in ("constant", "count"))
    letters, choose = (ctypes.CFUNCTYPE(integer, integer)(code[name]) for name in ("letters", "choose"))
    assert [constant(k) for k in range(4)] == [1.5, 2.5, 3.5, 4.5]
    assert [count(599), count(599), count(0)] == [1 + 8, 2 + 9, 1 + 10]
    assert [letters(k) for k in range(2)] == [5, 6]
    assert [choose(k) for k in range(7)] == [11, 7, 5, 3, 2, -1, -1]
    assert ctypes.CFUNCTYPE(real, real)(code["far"])(0.5) == math.cos(0.5) + 5 + 0.125
    assert ctypes.CFUNCTYPE(ctypes.c_void_p)(code["pointer"])() == code["other"]


def test_no_page_is_written_and_executed(code: Code):
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, rights, *_ = line.split()
        start, end = (int(part, 16) for part in place.split("-"))
        if any(start <= address < end for address in code.addresses.values()):
            assert rights.startswith("r-x")


def test_what_is_missing_or_there_twice(objects: list[Elf], tmp_path: Path):
    with pytest.raises(FrontendError, match=r"one\.o: expected calls of C functions of loaded libraries, got 'given',"):
        link(objects, ["far"], {})
    with pytest.raises(FrontendError, match=r"'other' to be defined once, got two definitions"):
        link([*objects, compiled(tmp_path, "again", "double other(double x) { return x; }")], ["far"], {"given": 1})
    with pytest.raises(PipelineError, match="expected an object that defines 'nothing', got none"):
        link(objects, ["nothing"], {"given": 1})
    absolute = compiled(tmp_path, "fixed", "extern int x; int *f(void) { return &x; }", "-fno-pic", "-mcmodel=small")
    with pytest.raises(WhenceError):
        link([absolute], ["f"], {"x": 1 << 40})


def test_objects_of_others():
    with pytest.raises(FrontendError, match="note: expected an ELF file of 64 bits, got something else"):
        Elf.of(b"\x7fELF\x01", "note")


def test_damaged_objects_are_told(objects: list[Elf]):
    """Wherever a byte of the headers, symbols or relocations differs: linked, or an error of ours; nothing runs."""
    rng = np.random.default_rng(3)
    data = bytes(objects[0].data)
    told = 0
    for place in rng.integers(0, len(data), 300):
        copy = bytearray(data)
        copy[int(place)] ^= int(rng.integers(1, 256))
        try:
            link([Elf.of(bytes(copy), "one.o"), objects[1]], NAMES, {"given": 1})
        except WhenceError:
            told += 1
    assert told > 30


@pytest.mark.parametrize("short", [1, 2, 3])
def test_a_place_that_ends_beyond_its_section_is_told(objects: list[Elf], short: int):
    """It begins inside of it: the bytes behind belong to another section."""
    elf = objects[0]
    number = next(index for index in range(len(elf.sections)) if any(True for _ in elf.relocations(index)))
    place = max(one.offset for one in elf.relocations(number))
    sections = list(elf.sections)
    sections[number] = sections[number]._replace(size=place + 4 - short)
    with pytest.raises(FrontendError, match=f"relocations inside '{sections[number].name}', got one that leaves it"):
        link([replace(elf, sections=tuple(sections)), objects[1]], NAMES, {"given": 1})
