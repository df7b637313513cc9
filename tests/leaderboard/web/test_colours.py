"""The colours of a script: right where it is Python, all of the text whatever it is, and never slow."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from leaderboard.web.colours import parts
from leaderboard.web.source import lines

SMALL, TIMES = 12_000, 8
SLOW = {
    "blank lines": " \n",
    "empty lines": "\n",
    "tabs and blanks": "\t \t\n",
    "closed strings": "''",
    "strings that are not closed": "'\\",
    "long strings": '"""\n',
    "long strings that are not closed": '\\"""\\"""\n',
    "openings of raw strings": "rb'\n",
    "format strings that are not closed": 'f"{\n',
    "open braces": 'f"""' + "{" * 60 + "\n",
    "fields": 'f"{a}" ',
    "lines that go on": '"\\\n',
    "numbers": "1e",
    "digits": "1_",
    "many numbers": "1 ",
    "hexadecimal beginnings": "0x",
    "names": "a ",
    "decorators": "@a.b\n",
    "signs of decorators": " @",
    "matches of nothing": "match \n",
    "comments": "#\n",
    "brackets": "(",
    "definitions": "def ",
    "controls": "\x01",
    "no ASCII": "é²",
}


def made_of(unit: str, size: int) -> str:
    """Return so many characters of it, in lines that are short enough to be coloured."""
    line = unit if "\n" in unit else unit * (1_500 // len(unit)) + "\n"
    return line * (size // len(line))


def spent(text: str) -> float:
    """Return the least CPU time that a few readings of the text took."""
    times = []
    for _ in range(3):
        lines.cache_clear()
        start = thread_time()
        lines(text)
        times.append(thread_time() - start)
    return min(times)


@pytest.mark.parametrize("shape", SLOW)
def test_a_text_that_is_eight_times_as_long_takes_some_eight_times_as_long(shape):
    """Quadratic, it would take 64 times as long; a busy machine does not make three times of one."""
    little, much = (spent(made_of(SLOW[shape], size)) for size in (SMALL, TIMES * SMALL))
    assert much < 3 * TIMES * little + 0.01


@given(some.text(some.sampled_from("\"'\\\n {}fr#@a1.e=é"), max_size=60))
def test_whatever_the_text_is_all_of_it_is_there_in_order(text):
    assert "".join(piece for _, piece in parts(text)) == text


def colours(text: str) -> list[tuple[str, str]]:
    return [(colour, piece.strip()) for colour, piece in parts(text) if colour]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("if not x is None:", [("k", "if"), ("k", "not"), ("k", "is"), ("k", "None")]),
        ("iffy = classes", []),
        ("async def go(x): pass", [("k", "async"), ("k", "def"), ("f", "go"), ("k", "pass")]),
        ("class A(B): ...", [("k", "class"), ("f", "A")]),
        ("  @torch.no_grad()", [("f", "@torch.no_grad")]),
        ("c = a @ b", []),
        ("x = 1_000 + 0xFF + 1e-3 + .5j", [("m", "1_000"), ("m", "0xFF"), ("m", "1e-3"), ("m", ".5j")]),
        ("x1.a2", []),
        ("x = 'a\\'b' # c 'd'", [("s", "'a\\'b'"), ("c", "# c 'd'")]),
        ('rb"#" + Rb"\\""', [("s", 'rb"#"'), ("s", 'Rb"\\""')]),
        ('x = """a\n"b" # c""" if', [("s", '"""a\n"b" # c"""'), ("k", "if")]),
        ("''''a''' if", [("s", "''''a'''"), ("k", "if")]),
        ("x = 'not closed\nif", [("s", "'not closed"), ("k", "if")]),
        ("match x:\n    case [1]:", [("k", "match"), ("k", "case"), ("m", "1")]),
        ("match = re.match(case)", []),
    ],
)
def test_python_has_its_colours(text, found):
    assert colours(text) == found


def test_what_a_format_string_puts_in_is_not_its_text():
    found = list(parts('f"{{a}} {if_} b"'))
    assert "".join(piece for colour, piece in found if colour == "s") == 'f"{{a}} {} b"'
    assert ("", "if_") in found
