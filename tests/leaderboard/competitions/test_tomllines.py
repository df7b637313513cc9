"""Where a key stands in a TOML text."""

import pytest

from leaderboard.competitions.tomllines import line_of

TEXT = '''\
title = "a = b" # slug = "no"
text = """
slug = "not a key"
[not.a.table]
"""
list = [
  "x", # ] }
  "runs = 3",
]
slug = "demo"
odd."quoted key" = 1

[kit]
path = 'a'

[[phases]]
slug = "one"
visibility = { scripts = "never", logs = "release" }
  [phases.budget]
  seconds = 1

[[phases]]
slug = "two"
budget.seconds = 2
[phases.launch.env]
A = ["1"]
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("title",), 1),
        (("text",), 2),
        (("list",), 6),
        (("list", 1), 6),
        (("slug",), 10),
        (("odd", "quoted key"), 11),
        (("kit",), 13),
        (("kit", "path"), 14),
        (("kit", "version"), 13),
        (("phases",), 16),
        (("phases", 0), 16),
        (("phases", 0, "slug"), 17),
        (("phases", 0, "visibility", "logs"), 18),
        (("phases", 0, "budget"), 19),
        (("phases", 0, "budget", "seconds"), 20),
        (("phases", 1), 22),
        (("phases", 1, "slug"), 23),
        (("phases", 1, "budget", "seconds"), 24),
        (("phases", 1, "launch", "env", "A"), 26),
        (("phases", 1, "launch", "default"), 25),
        (("nowhere",), 1),
    ],
)
def test_the_line_is_that_of_the_key_or_of_what_is_nearest_around_it(key, line):
    assert line_of(TEXT, key) == line


@pytest.mark.parametrize("text", ["", "[", '"', "= 1", "a = [[[", "a = '''", "\0", "[[a]]\n[a.b"])
def test_any_text_has_a_line(text):
    assert line_of(text, ("a", 0, "b")) >= 1
