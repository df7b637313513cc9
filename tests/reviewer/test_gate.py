"""What is refused before a parser sees it, each with its code, its place and one sentence."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer import Policy, Report, review
from reviewer.shape import _QUIET, _measure, fault_of


def only(text: str | bytes, policy: Policy | None = None) -> tuple[str, int, int]:
    report: Report = review(text, policy, isolated=False)
    assert report.verdict == "reject"
    (finding,) = report.findings
    assert finding.severity == "reject"
    assert "\n" in finding.message
    return finding.rule, finding.line, finding.column


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        (b"", "G002", 1, 1),
        (b" \n\t\n", "G002", 1, 1),
        (b"x = 1\ny = '\xff'\n", "G003", 2, 1),
        (b"# coding: unicode_escape\nx = 1\n", "G004", 1, 1),
        (b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\nx = 1\n", "G004", 2, 1),
        (b"x = 1\ny = '\x00'\n", "G005", 2, 6),
        (b"x = 1 # a\rimport os\n", "G005", 1, 10),
        ("x = 'a\u202eb'\n", "G006", 1, 7),
        ("x = 1\n# a\u2028import os\n", "G006", 2, 4),
        ("import os\nx = os.\u1d49nviron\n", "G007", 2, 8),
        ("x = '\u00e4' + \u00e4\n", "G007", 1, 11),
        ("x = '" + "a" * 70_000 + "'\n", "G008", 1, 1),
        ("x = 1\ny = " + "(" * 300 + ")" * 300 + "\n", "G009", 2, 204),
        ("x = 1" + "+1" * 600 + "\n", "G010", 1, 1006),
        ("x = a" + ".b" * 600 + "\n", "G010", 1, 1006),
        ("x = f" + "()" * 600 + "\n", "G010", 1, 1007),
        ("x = " + "not " * 600 + "1\n", "G010", 1, 2005),
        ("x = (" + "1 +\n" * 600 + "1)\n", "G010", 501, 3),
        ("if x:\n    pass\n" + "elif x:\n    pass\n" * 600, "G010", 1003, 1),
        ("def f(:\n    pass\n", "G011", 1, 7),
        ("x = 1\nreturn x\n", "G011", 2, 1),
        ("x = 1\n  y = 2\n", "G011", 2, 2),
        ("x = (1,\n", "G011", 1, 5),
        ("x = 1\ny = 'a\n", "G011", 2, 5),
        ('x = 1\ny = """a\n"\n', "G011", 2, 5),
        ("x = f" + "a" * 600 + "\n", "G017", 1, 5),
        # Where such a line ends a block, Python and the audit's parser do not agree.
        ("if x:\n    y = 1\n\\\n    z = 2\n", "G018", 3, 1),
        ("x = 1\n  \\\ny = 2\n", "G018", 2, 3),
        ("\\\r\n\\\r\nx = 1\r\n", "G018", 1, 1),
    ],
)
def test_a_malformed_file_is_refused_with_its_place(text: str | bytes, code: str, line: int, column: int) -> None:
    assert only(text) == (code, line, column)


def test_the_size_limit_is_the_policys() -> None:
    assert only("x = 1\n" * 20, Policy(max_bytes=100))[0] == "G001"
    assert "G001" not in {f.rule for f in review("x = 1\n", Policy(max_bytes=6), isolated=False).findings}


@pytest.mark.parametrize(
    "text",
    [
        "# -*- coding: utf-8 -*-\nx = 'ä → ü'  # ß ﬁ\n",
        "x = '''\nä\n''' + r'\\ä' + f'{1}ä'\n",
        "x = [\n" + "    1 + 2,\n" * 2_000 + "]\n",
        "x = 1 + 1\n" * 3_000,
        "s = '((((((' * 3\n" * 300,
        "x = 1\r\ny = 2\r\n",
        "t = 1 \\\n    + 2\n",
        "s = 'one \\\r\n  two \\\\ \\r'\r\nt = 1 \\\r\n  + 2\r\n",
        "t = (\n\\\n  1)\n",
    ],
)
def test_honest_text_passes_the_gate(text: str) -> None:
    assert not [f for f in review(text, isolated=False).findings if f.rule.startswith("G")]


PIECES = ["(", ")", "[", "}", '"', "'", '"""', "'''", "#", "\\", "\n", "\\\n", " + ", ".a", ",", ";", "not ", "x", "ä"]
PIECES += ["a" * 30, ' "b" ', 'f("c")', "# d\n", "+1" * 120, ".b" * 240, "(" * 60, ")" * 60, "(\n1\n", "elif " * 200]


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_cutting_a_text_into_stretches_changes_nothing(pieces: list[str]) -> None:
    """What is measured stretch by stretch is what one pass over every token finds."""
    text = "".join(pieces)
    ascii_only = text.replace("ä", "a")
    found = fault_of(ascii_only)
    if found is not None and found.code == "G018":
        return  # that is no question of measure
    assert (found is None) == (_measure(ascii_only, 0, len(ascii_only)) is None)
    if found is None:
        outside = _QUIET.sub("", text)
        assert (fault_of(text) is None) == outside.isascii()


@pytest.mark.parametrize(
    "bait", ['"""\n' + '\\"""\n' * 50_000, ("'" + "\\'" * 30_000 + "\n") * 4, "(" * 250 + '\\"""\n' * 50_000]
)
def test_strings_without_an_end_cost_no_more_than_honest_ones(bait: str) -> None:
    """The gate looks at them in the parent, without a limit: each was searched for through the rest of the text."""
    start = time.process_time()
    fault_of('x = ["a", (1, 2)]\n' * 16_000)
    honest = time.process_time()
    assert fault_of(bait) is not None
    assert time.process_time() - honest < 10 * (honest - start) + 0.2
