"""Names loaded when first asked for, and tables in parts."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import whence
from whence.support.rooms import homes_in, name_in, stub_homes
from whence.support.tables import modules_in


def test_a_stub_says_where_names_live():
    text = "from typing import Any\nfrom . import vm as vm\nfrom .params import save as kept\n"
    text += "from whence.te import sum as sum\n"
    homes = {"vm": "whence.runtime.vm", "kept": "whence.runtime.params:save", "sum": "whence.te:sum"}
    assert stub_homes(text, "whence.runtime") == homes


@pytest.mark.parametrize("room", ["whence", "whence.relay", "whence.runtime", "whence.support", "whence.te"])
def test_every_name_of_a_room_is_there(room: str):
    __import__(room)
    assert homes_in(room)
    for name in homes_in(room):
        assert name_in(room, name) is getattr(sys.modules[room], name)
    with pytest.raises(AttributeError, match=f"module '{room}' has no attribute 'no_name'"):
        name_in(room, "no_name")


def test_a_room_loads_nothing_before_it_is_asked():
    script = (
        "import sys, whence.te, whence.runtime; print(*(name for name in sys.modules if name.startswith('whence.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    names = {"module_names", "rooms"}
    wanted = {"whence.te", "whence.runtime", "whence.support", *(f"whence.support.{name}" for name in names)}
    assert set(done.stdout.split()) == wanted


def test_what_the_front_door_adds_is_in_no_stub():
    assert whence.runtime.vm is whence.relay.vm
    assert whence.runtime.Module.__name__ == "FunctionModule"


def module(name: str, table: dict[str, int]) -> ModuleType:
    made = ModuleType(name)
    vars(made)["TABLE"] = table
    return made


def test_modules_of_a_package_are_told_by_their_names():
    names = {"a": module("p.a", {"x": 1}), "b": module("p.b", {"y": 2}), "c": module("q.c", {"x": 3}), "d": 4}
    assert modules_in("p", names) == [names["a"], names["b"]]
