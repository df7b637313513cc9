"""Every rule in its own words, without the rules and the parser."""

import inspect
import subprocess
import sys

from reviewer import child, rules_in_force
from reviewer.policy import CATALOGUE
from reviewer.rules import load


def test_every_rule_is_there_in_its_own_words() -> None:
    for said, rule in zip(rules_in_force(), load(), strict=True):
        assert (said.code, said.name) == (rule.code, rule.name)
        assert said.severity == CATALOGUE[rule.code][1]
        assert said.text == inspect.cleandoc(type(rule).__doc__ or "")
        for part in (said.summary, said.looks_for, said.why, said.instead):
            assert part == part.strip()
            assert " ".join(part.split()) in " ".join(said.text.split())
            assert not any(h in part for h in ("What it looks for", "Why it is refused", "Do instead"))
    knobs = rules_in_force()[0]
    assert knobs.summary == "Refuses settings that come from the process environment."
    assert knobs.looks_for.startswith("Every form of reading it")
    assert knobs.why.startswith("The scored model must be in the file.")
    assert knobs.instead.startswith("Write the value where it is used")


def test_the_words_come_without_the_parser() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import reviewer; assert reviewer.rules_in_force()[0].why\n"
        "print('libcst' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program, child._ROOT], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
