"""Regular expressions of RE2: what they match, what is refused, and the parts of texts."""

from __future__ import annotations

import pytest

from whence.runtime.interpreting.regex import Pattern


@pytest.mark.parametrize(
    ("expression", "text", "matches"),
    [
        ("a|ab", "ab", True),
        ("(a|b)*c", "abac", True),
        ("a.c", "a\nc", False),
        ("^abc$", "abcd", False),
        ("[[:alpha:]]+", "abC", True),
        ("\\p{Lu}\\P{Lu}+", "Äß", True),
        ("\\d", "٣", False),
        ("\\x{1F600}", "😀", True),
        ("(?i)straße", "STRAßE", True),
        ("", "", True),
    ],
)
def test_matches_of_whole_texts(expression: str, text: str, matches: bool):
    assert Pattern.of(expression).matches(text) == matches


@pytest.mark.parametrize("expression", ["(", "[a", "*a", "(a)\\1", "(?=a)", "a{1001}", "[b-a]", "\\p{None}", "\\y"])
def test_what_is_refused(expression: str):
    with pytest.raises(ValueError, match="expected a regular expression of RE2, got"):
        Pattern.of(expression)


def test_no_expression_tries_again_and_again():
    assert not Pattern.of("(a*)*b|(x+x+)+y").matches("a" * 50_000 + "x" * 50_000 + "!")


def test_parts_of_texts():
    assert Pattern.of("[a-z]+").found_in("ab1cd!e") == ["ab", "cd", "e"]
    assert Pattern.of("a|ab|").found_in("äxabyaab") == ["ab", "a", "ab"]
    assert Pattern.of("[,;]+").split("ä,;b,c") == ["ä", "b", "c"]
    assert Pattern.of("x*").split("ab") == ["ab"]
