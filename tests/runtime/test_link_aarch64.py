"""The linker on AArch64 objects: on any machine, as nothing of them is run."""

from __future__ import annotations

import struct

import pytest

from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.target import Target
from whence.runtime.loading.elf import AARCH64, Elf
from whence.runtime.loading.link import Image, link
from whence.runtime.loading.relocations import LINKED
from whence.support.errors import FrontendError, PipelineError

FORMS = LINKED[AARCH64].forms
S = 0x1234_5678
PAGES = 0x1234_5000 - 0x12345 * 0x1000
"""A page from which that of S is 0x12345 pages away."""


@pytest.mark.parametrize(
    ("kind", "place", "word", "expected"),
    [
        (275, PAGES + 0x10, 0x90000000, 0xB0091A20),  # adrp x0
        (277, 0, 0x91000000, 0x9119E000),  # add x0, x0, #0x678
        (278, 0, 0x39400000, 0x3959E000),  # ldrb w0, [x0, #0x678]
        (284, 0, 0x79400000, 0x794CF000),  # ldrh w0, [x0, #0x678]
        (285, 0, 0xBD400000, 0xBD467800),  # ldr s0, [x0, #0x678]
        (286, 0, 0xF9400000, 0xF9433C00),  # ldr x0, [x0, #0x678]
        (299, 8, 0x3DC00000, 0x3DC19C00),  # ldr q0, [x0, #0x670], of S - 8
        (283, S + 0x1000, 0x94000000, 0x97FFFC00),  # bl, 0x1000 back
        (282, S - 0x1000, 0x14000000, 0x14000400),  # b, 0x1000 on
        (280, S - 0x100, 0x54000000, 0x54000800),  # b.eq
        (279, S + 4, 0x36000000, 0x3607FFE0),  # tbz w0, #0
        (273, S + 8, 0x58000000, 0x58FFFFC0),  # ldr x0, 8 back
        (274, S - 5, 0x10000000, 0x30000020),  # adr x0
        (261, S + 1, 0, 0xFFFFFFFF),
        (257, 0, 0, S),
    ],
)
def test_what_the_manual_encodes(kind: int, place: int, word: int, expected: int):
    form = FORMS[kind]
    assert form is not None
    number = form.number(S - 8 if kind == 299 else S, place)
    assert form.fits(number)
    assert form.put(word, number) % (1 << 8 * form.width) == expected


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (283, (1 << 27) - 4, 1 << 27),
        (282, -1 << 27, -4 - (1 << 27)),
        (280, (1 << 20) - 4, 1 << 20),
        (279, (1 << 15) - 4, 1 << 15),
        (274, (1 << 20) - 1, 1 << 20),
        (275, (1 << 32) - 4096, 1 << 32),
        (283, 4, 6),
        (286, 8, 4),
    ],
)
def test_what_is_out_of_reach(kind: int, right: int, wrong: int):
    form = FORMS[kind]
    assert form is not None
    assert form.fits(right)
    assert not form.fits(wrong)


TEXT = """
@table = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]
@calls = internal global i64 7
@elsewhere = external global i64
declare double @given(double)
define double @other(double %x) noinline { %y = fmul double %x, 1.0e1 ret double %y }
define double @all(double %x, i64 %k) {
  %at = getelementptr double, ptr @table, i64 %k
  %value = load double, ptr %at
  %count = load i64, ptr @calls
  %next = add i64 %count, 1
  store i64 %next, ptr @calls
  %far = load i64, ptr @elsewhere
  %sum = add i64 %next, %far
  %real = sitofp i64 %sum to double
  %a = call double @other(double %value)
  %b = call double @given(double %a)
  %c = fadd double %b, %real
  ret double %c
}
"""
BASE, GIVEN, ELSEWHERE = 0x7_0000_0000, 0x7FFF_1234_5678, 0x7FFF_0000_0010


@pytest.fixture(scope="module")
def elf() -> Elf:
    target = Target.parse("llvm -mtriple=aarch64-unknown-linux-gnu")
    return Elf.of(compile_text(TEXT, target).object, "all.o")


def test_an_object_reaches_what_it_names(elf: Elf):
    """Addresses are read off the linked instructions, and lead to the contents that the text has."""
    image = Image([elf], {"given": GIVEN, "elsewhere": ELSEWHERE}, {})
    memory = bytearray(image.size)
    image.fill(memory, BASE)

    def word(address: int, layout: str = "<Q") -> int:
        return int(struct.unpack_from(layout, memory, address - BASE)[0])

    loaded, called = set[int](), set[int]()
    pages: dict[int, int] = {}
    start = image.exported("all")
    length = next(symbol.size for symbol in elf.symbols if symbol.name == "all")
    for place in range(start, start + length, 4):
        code = word(place, "<I")
        if code & 0x9F000000 == 0x90000000:  # adrp
            pages[code & 31] = (place & ~0xFFF) + ((code >> 5 & 0x7FFFF) << 2 | code >> 29 & 3) * 0x1000
        elif code & 0xFC000000 in (0x94000000, 0x14000000):  # bl, b
            called.add(place + ((code & 0x03FFFFFF ^ 0x02000000) - 0x02000000) * 4)
        elif code >> 5 & 31 in pages:
            scale = {0xF9400000: 3, 0xF9000000: 3, 0x91000000: 0}.get(code & 0xFFC00000)
            if scale is not None:
                loaded.add(pages[code >> 5 & 31] + ((code >> 10 & 0xFFF) << scale))
    assert image.exported("other") in called
    (stub,) = called - {image.exported("other")}
    assert (word(stub, "<I"), word(stub + 4, "<I"), word(stub + 8)) == (0x58000050, 0xD61F0200, GIVEN)
    contents = {word(address) for address in loaded}
    assert {7, ELSEWHERE, struct.unpack("<Q", struct.pack("<d", 1.5))[0]} <= contents
    assert all(BASE + image.constants <= address < BASE + image.size for address in loaded)


def test_what_no_instruction_reaches_is_told(elf: Elf):
    image = Image([elf], {"given": GIVEN, "elsewhere": ELSEWHERE}, {".data": BASE + (1 << 33)})
    with pytest.raises(FrontendError, match=r"all\.o: expected an address that 33 bits reach, got that of '.data'"):
        image.fill(bytearray(image.size), BASE)


def test_objects_of_another_machine_are_refused_at_once(elf: Elf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    with pytest.raises(PipelineError, match=r"all\.o: expected objects for x86_64, got some for aarch64"):
        link([elf], ["all"], {})
