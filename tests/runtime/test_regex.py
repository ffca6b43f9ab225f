"""Regular expressions of RE2: what they match, what is refused, and that no expression takes long."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from whence.runtime.regex import Pattern

ALIKE = [
    "", "a", "abc", "a|b", "a|bc|", "(a|b)*c", "a+b?c*", "[a-c]+", "[^a-c]+", "a{2}", "a{2,}", "a{1,3}b", "(ab){2,3}",
    "a.c", "^abc$", "a(?:b|c)d", "(?P<name>a)b", "(?i:AB)c", "(?i)aBc", "\\d+", "\\D+", "\\w+\\s\\w+", "\\S*", "a\\.b",
    "\\bab\\b", "a\\Bb", "[\\d.-]+", "[]a]+", "[a\\]]+", "a*?b", "(a*)*b", "(a|a)*b", "(?s)a.b", "(?m)a$\\n^b", "\\x41",
    "[\\w-]+@[\\w.]+", "\\t|\\n", "a||b", "()a", "(|a)b", "\\Aab", "x*", "[a-]+", "(a?){3}a{3}", "(?i)[a-c]+",
]  # fmt: skip
TEXTS = [
    "", "a", "b", "c", "ab", "abc", "ABC", "aa", "aaa", "aaaa", "aab", "bc", "ac", "abab", "ababab", "acd", "abd", "12",
    "a1", "a b", "foo bar", "a.b", "a-b", "a\nb", "]a", "x", "xxx", "1.5", "-3", "me@b.org", "A", "a\n", "\t", "+-,",
]  # fmt: skip


@pytest.mark.parametrize("expression", ALIKE)
def test_what_both_know_matches_as_pythons(expression: str):
    pattern, other = Pattern.of(expression), re.compile(expression, re.ASCII)
    for text in TEXTS:
        assert pattern.matches(text) == (other.fullmatch(text) is not None), text


@pytest.mark.parametrize(
    ("expression", "text", "matches"),
    [
        ("[[:alpha:]]+", "abC", True),
        ("[[:^alpha:]_]+", "1_2", True),
        ("\\pL+", "äß", True),
        ("\\p{Lu}\\P{Lu}+", "Äß", True),
        ("\\d", "٣", False),
        ("\\Qa.b*\\E+", "a.b**", True),
        ("\\Qa.b", "axb", False),
        ("a\\z", "a", True),
        ("(?<n>a)", "a", True),
        ("\\x{1F600}", "😀", True),
        ("(?i)straße", "STRAßE", True),
        ("(?i-s:A).", "a\n", False),
        ("\\012", "\n", True),
        ("\\v", "\v", True),
    ],
)
def test_what_is_re2s_own(expression: str, text: str, matches: bool):
    assert Pattern.of(expression).matches(text) == matches


@pytest.mark.parametrize(
    "expression",
    ["(", ")", "a)", "[a", "*a", "a**", "(a)\\1", "(?=a)", "(?<!a)b", "(?P<n>a", "\\", "a{3,2}", "a{1001}", "[b-a]",
     "\\pX", "\\p{Greek}", "\\y", "[[:none:]]", "\\x{110000}", "(?z)a", "((a{1000}){1000}){1000}",
     "(" * 200 + ")" * 200],
)  # fmt: skip
def test_what_is_refused(expression: str):
    with pytest.raises(ValueError, match="expected a regular expression"):
        Pattern.of(expression)


@pytest.mark.parametrize("expression", ["(a*)*b", "(a|aa)+b", "(a|a?)+b", "(.*)*x", "([a-z]+)*\\d", "(x+x+)+y"])
def test_no_expression_tries_again_and_again(expression: str):
    start = time.process_time()
    assert not Pattern.of(expression).matches("a" * 5000 + "x" * 5000 + "!")
    assert time.process_time() - start < 2


def test_random_expressions_match_as_pythons():
    rng = np.random.default_rng(0)

    def draw(depth: int) -> str:
        kind = rng.integers(7) if depth else 0
        if kind < 2:
            return str(rng.choice(["a", "b", "[ab]", ".", "[^a]"]))
        if kind == 2:
            return f"({draw(depth - 1)}|{draw(depth - 1)})"
        if kind == 3:
            return f"({draw(depth - 1)}){rng.choice(['*', '+', '?', '{2}', '{1,2}', '{0,}'])}"
        return draw(depth - 1) + draw(depth - 1)

    texts = ["".join(rng.choice(list("abc"), size)) for size in range(6) for _ in range(6)]
    for _ in range(60):
        expression = draw(3)
        for text in texts:
            expected = re.fullmatch(expression, text) is not None
            assert Pattern(expression).matches(text) == expected, (expression, text)


def test_parts_of_texts():
    assert Pattern.of("[a-z]+").found_in("ab1cd!e") == ["ab", "cd", "e"]
    assert Pattern.of("[,;]+").split("a,;b,c") == ["a", "b", "c"]
    assert Pattern.of("x*").split("ab") == ["ab"]
