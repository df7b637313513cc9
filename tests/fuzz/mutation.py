"""What is done to a text so that it becomes one that nobody has tried: a table of small changes, all of them pure."""

import ast
import random
import re
import warnings
from collections.abc import Callable

from tests.fuzz.corpus import examples, scripts

Change = Callable[[random.Random, str], str]

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_CONSTANT = re.compile(r"""(?<![\w"'])(?:\d[\w.]*|"[^"\\\n]*"|'[^'\\\n]*')""")
_ODD = "()[]{}:,.=\n\t '\"\\#@*x0\x00\x0cä\u202e\u2028\ufeff\U0001d531\r"
_STRANGE = ("\U0001d55e", "ſ", "\u0301", "ß", "İ", "\ud7ff", "\u200b", "日本", "🙂", "\\N{DASH}", "\\ud800", "\\x00")
_WRAPPERS = ("if x:", "for i in y:", "while True:", "with a as b:", "def f(k):", "class C(A):", "try:")
_WORDS = [
    "self.training", "targets", "None", "os.environ", "getattr", "exec", "open", "torch.load", "model.eval()", "x",
    "=", "lambda:", "await", "yield", "from", ":", "return", "x", "if", "c", "else", "y", "[i", "for", "i", "in",
    "x]", "{**k}", "*a", "@property", "global", "x", "nonlocal", "x", "del", "x", "match", "x", "case", "_", "del",
    "self.a", ":=", "record_step_boundary(step)", "F.cross_entropy(x,y)", "loss.backward()", "x.min()",
    "time.time()", "super().__init__()", "f'{x!r:>{w}}'",
]  # fmt: skip


def _some(chance: random.Random, text: str) -> tuple[list[str], int]:
    tokens = _TOKEN.findall(text) or [" "]
    return tokens, chance.randrange(len(tokens))


def dropped(chance: random.Random, text: str) -> str:
    """Leave out a few tokens."""
    tokens, at = _some(chance, text)
    return "".join(tokens[:at] + tokens[at + chance.choice((1, 1, 2, 5)) :])


def doubled(chance: random.Random, text: str) -> str:
    """Write a few tokens twice, or many times."""
    tokens, at = _some(chance, text)
    part = tokens[at : at + chance.choice((1, 2, 3, 9))]
    return "".join(tokens[:at] + part * chance.choice((2, 2, 3, 40)) + tokens[at:])


def swapped(chance: random.Random, text: str) -> str:
    """Let two tokens change places."""
    tokens, one = _some(chance, text)
    other = chance.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]
    return "".join(tokens)


def listed(chance: random.Random, text: str) -> str:
    """Write a list, a table or a tuple of a constant in its place: rules look constants up, and those cannot be."""
    constants = list(_CONSTANT.finditer(text))
    if not constants:
        return text
    one = chance.choice(constants)
    form = chance.choice(("[{}]", "{{{}: []}}", "([{}],)", "{{}}", "[]", "({},)"))
    return text[: one.start()] + form.format(one.group()) + text[one.end() :]


def renamed(chance: random.Random, text: str) -> str:
    """Write another name of the text for a name, everywhere or once, so that things get the names of others."""
    names = sorted(set(_NAME.findall(text)))
    if not names:
        return text
    old, new = chance.choice(names), chance.choice(names)
    return re.sub(rf"\b{old}\b", lambda _: new, text, count=chance.choice((0, 1, 2)))


def worded(chance: random.Random, text: str) -> str:
    """Write a word that rules know for a token, or beside it."""
    tokens, at = _some(chance, text)
    tokens[at : at + chance.choice((0, 1))] = [chance.choice(_WORDS)]
    return "".join(tokens)


def shuffled(chance: random.Random, text: str) -> str:
    """Put a few lines in another order."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    part = lines[at : at + 8]
    chance.shuffle(part)
    return "\n".join(lines[:at] + part + lines[at + 8 :])


def repeated(chance: random.Random, text: str) -> str:
    """Write a few lines again and again."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    part = lines[at : at + chance.choice((1, 1, 2, 6))]
    return "\n".join(lines[:at] + part * chance.choice((2, 3, 100)) + lines[at:])


def spliced(chance: random.Random, text: str) -> str:
    """Go on with the rest of another text."""
    other = (chance.choice(examples()) if chance.random() < 0.8 else chance.choice(scripts())).split("\n")
    lines = text.split("\n")
    return "\n".join(lines[: chance.randrange(len(lines) + 1)] + other[chance.randrange(len(other)) :])


def mixed(chance: random.Random, text: str) -> str:
    """Put a few lines of another text in, at the depth of the place."""
    other = chance.choice(examples()).split("\n")
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    blank = re.match(r"[ \t]*", lines[at])
    pad = blank[0] if blank else ""
    return "\n".join(lines[:at] + [pad + line for line in other[: chance.choice((1, 4, 99))]] + lines[at:])


def behind(chance: random.Random, text: str) -> str:
    """Put a whole example behind the text, which parses where both do."""
    return text + "\n" + chance.choice(examples())


def cut(chance: random.Random, text: str) -> str:
    """End anywhere."""
    return text[: chance.randrange(len(text) + 1)]


def nested(chance: random.Random, text: str) -> str:
    """Put everything into a block, and that into another, up to a hundred deep."""
    for _ in range(chance.choice((1, 1, 2, 3, 20, 99))):
        tail = "\nexcept A:\n    pass" if (head := chance.choice(_WRAPPERS)) == "try:" else ""
        text = head + "\n    " + text.replace("\n", "\n    ") + tail
    return text + "\n"


def bracketed(chance: random.Random, text: str) -> str:
    """Put a token into many brackets."""
    tokens, at = _some(chance, text)
    open_, close = chance.choice(("()", "[]", "{}"))
    depth = chance.choice((1, 5, 60, 198, 300))
    tokens[at] = open_ * depth + tokens[at] + close * depth
    return "".join(tokens)


def chained(chance: random.Random, text: str) -> str:
    """Make a token a long chain of operators, calls, attributes or indices."""
    tokens, at = _some(chance, text)
    links = (".a", "()", "[0]", " + x", " if x else y", " and x", " < x", "(x)", " ** x", " or self.training")
    part = chance.choice(links)
    tokens[at] += part * chance.choice((2, 30, 240, 480, 600))
    return "".join(tokens)


def lengthened(chance: random.Random, text: str) -> str:
    """Make a name, or a text, very long."""
    tokens, at = _some(chance, text)
    tokens[at] += chance.choice(("x", "_", "9", "aB3")) * chance.choice((30, 300, 5_000, 20_000))
    return "".join(tokens)


def quoted(chance: random.Random, text: str) -> str:
    """Put strange letters into a string or a comment."""
    marks = [m.end() for m in re.finditer(r"[\"'#]", text)] or [0]
    at = chance.choice(marks)
    return text[:at] + "".join(chance.choice(_STRANGE) for _ in range(chance.choice((1, 2, 20)))) + text[at:]


def spoiled(chance: random.Random, text: str) -> str:
    """Write odd characters anywhere."""
    letters = list(text) or [" "]
    for _ in range(chance.choice((1, 1, 3))):
        letters[chance.randrange(len(letters))] = chance.choice(_ODD)
    return "".join(letters)


def ended(chance: random.Random, text: str) -> str:
    """End lines in another way, indent by tabs, or go on behind a backslash."""
    match chance.randrange(5):
        case 0:
            return text.replace("\n", "\r\n")
        case 1:
            return text.replace("    ", "\t")
        case 2:
            return text.rstrip("\n")
        case 3:
            return "\n".join(line + chance.choice(("", " ", "  # x", "\r", ";")) for line in text.split("\n"))
        case _:
            return text.replace(" ", " \\\n ", chance.choice((1, 3, 9)))


SMALL: tuple[Change, ...] = (
    dropped, doubled, swapped, renamed, renamed, listed, listed, worded, worded, shuffled, repeated, mixed,
    quoted, spoiled,
)  # fmt: skip
LARGE: tuple[Change, ...] = (spliced, behind, cut, nested, bracketed, chained, lengthened, ended)


def mutant(chance: random.Random) -> bytes:
    """Return one text: mostly one that Python can read, since the gate turns away the others, sometimes bytes."""
    for _ in range(3):
        data = _changed(chance)
        if chance.random() < 0.25 or _reads(data):
            break
    return data


def _reads(data: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _changed(chance: random.Random) -> bytes:
    if chance.random() < 0.02:
        return chance.randbytes(chance.choice((1, 20, 300, 5_000)))
    text = chance.choice(examples()) if chance.random() < 0.85 else chance.choice(scripts())
    while chance.random() < 0.3:
        text = behind(chance, text)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3, 6))):
        text = chance.choice(SMALL if chance.random() < 0.75 else LARGE)(chance, text)
    data = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.01:
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.randbytes(3) + data[at:]
    return data
