"""Every rule in its own words, without the rules and the parser."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

from reviewer import child, rules_in_force
from reviewer.examples.source import MARK, examples_of, readable
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


def test_the_examples_are_those_that_the_rules_are_tested_with() -> None:
    for said, rule in zip(rules_in_force(), load(), strict=True):
        for read, there in ((said.valid, rule.VALID), (said.invalid, rule.INVALID)):
            rest = iter(there)
            assert all(text in rest for text in read), f"{said.code}: another text, or another order"
            assert bool(readable(read)) == bool(there), said.code
        assert not rule.INVALID or any(MARK in text for text in readable(said.invalid)), said.code


def test_examples_are_put_together_as_the_source_says(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "rules").mkdir()
    (tmp_path / "examples/more.py").write_text("HEAD = 'import a\\n'\nMORE = ('x', HEAD + 'y')\n")
    source = tmp_path / "rules/rule.py"
    source.write_text(
        "from reviewer.examples.more import HEAD as H, MORE\nN = 2\nclass A:\n"
        "    VALID: ClassVar = ('a', H + 'b', f'{H}c{N!r}', *MORE, made(), 'd'.replace('d', 'e'), ('f' 'g'), 'h' * N)\n"
        "    OTHER = MORE + ('z',)\n    ROUND = ROUND\n"
    )
    (made,) = (n for n in ast.parse(source.read_text()).body if isinstance(n, ast.ClassDef))
    h = "import a\n"
    assert examples_of(source, made, "VALID") == ("a", f"{h}b", f"{h}c2", "x", f"{h}y", "e", "fg", "hh")
    assert examples_of(source, made, "OTHER") == ("x", f"{h}y", "z")
    assert examples_of(source, made, "ROUND") == examples_of(source, made, "NONE") == ()


def test_helpers_that_make_examples_are_followed(tmp_path: Path) -> None:
    source = tmp_path / "rule.py"
    source.write_text(
        "END = ('e', 'f')\n"
        "def made(body, *more, head='H', last=''):\n    'Doc.'\n"
        "    lines = ''.join(f'  {line}\\n' for line in body.strip().split(';') if line)\n"
        "    tail = f'[{last}]' if last else ''\n"
        "    return f'{head}:\\n{lines}' + '.'.join(more) + tail\n"
        "def odd(x):\n    while x:\n        pass\n"
        "class A:\n    VALID = (made('a;;b'), odd(1), made('a', *END[:1], 'x', head='G', last='L'), END[1])\n"
    )
    (made,) = (n for n in ast.parse(source.read_text()).body if isinstance(n, ast.ClassDef))
    assert examples_of(source, made, "VALID") == ("H:\n  a\n  b\n", "G:\n  a\ne.x[L]", "f")


def test_readable_ones_come_first_and_one_always() -> None:
    long, wide = "x\n" * 40, "x" * 200
    assert readable([long, "a", wide, "b", "c", "d"]) == ["a", "b", "c"]
    assert readable([long, wide]) == [long]
    assert readable([]) == []
