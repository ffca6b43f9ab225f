"""Types that double from line to line are refused; those that do a few times are types like others."""

import pytest

from whence.support.errors import FrontendError
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.text import parse


def _tuples(times: int) -> str:
    """A tuple of the one before twice, again and again."""
    lines = ["%0 = (%x, %x);", *(f"%{i} = (%{i - 1}, %{i - 1});" for i in range(1, times)), f"%{times - 1}"]
    return '#[version = "0.0.5"]\ndef @main(%x: bool) {\n' + "\n".join(lines) + "\n}"


def _functions(times: int) -> str:
    """Functions whose types are found by their uses."""
    lines = ["def @f0(%x) { %x }", *(f"def @f{i}(%x) {{ @f{i - 1}((%x, %x)) }}" for i in range(1, times))]
    return '#[version = "0.0.5"]\n' + "\n".join(lines) + f"\ndef @main(%x: bool) {{ @f{times - 1}(%x) }}"


@pytest.mark.parametrize("text", [_tuples(40), _functions(26)])
def test_types_that_double_are_refused(text: str) -> None:
    with pytest.raises(FrontendError, match="expected a type of at most"):
        elaborate(parse(text))


@pytest.mark.parametrize("text", [_tuples(5), _functions(5)])
def test_types_that_double_a_few_times(text: str) -> None:
    elaborate(parse(text)).verify()
