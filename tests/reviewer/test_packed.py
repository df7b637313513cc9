"""A packed script is unpacked without being run: the shell is one finding, and its text is judged line by line."""

import ast
import base64
import bz2
import codecs
import gzip
import lzma
import tracemalloc
import zlib
from types import ModuleType

import pytest

from reviewer import Policy, Report, review
from reviewer.packed.shellvalues import Unpacked
from reviewer.unwrap import unpack
from tests.reviewer.scripts import BASELINE, KNOBS

RAW = [{"id": lzma.FILTER_LZMA2}]


def b85(data: bytes) -> str:
    return base64.b85encode(data).decode()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def raw(text: str) -> str:
    return b85(lzma.compress(text.encode(), format=lzma.FORMAT_RAW, filters=RAW))


def typical(text: str) -> str:
    """Pack a text as most people do."""
    decoded = f'L.decompress(B.b85decode("{raw(text)}"),format=L.FORMAT_RAW,filters=[{{"id":L.FILTER_LZMA2}}])'
    return f"import lzma as L,base64 as B\nexec({decoded})\n"


def pieces(text: str) -> list[str]:
    return [text[i : i + 300] for i in range(0, len(text), 300)]


def summary(report: Report) -> set[tuple[str, str, str]]:
    return {(f.rule, f.view, f.severity) for f in report.findings if f.severity != "info"}


SHELL = ("O601", "source", "review")
WAYS = {
    "raw lzma": typical,
    "base64 and zlib": lambda t: (
        f"import base64, zlib\nexec(zlib.decompress(base64.b64decode('{b64(zlib.compress(t.encode()))}')))"
    ),
    "a variable, compiled": lambda t: (
        "from zlib import decompress as d\nfrom base64 import a85decode\n"
        f"P = {base64.a85encode(zlib.compress(t.encode()))!r}\n"
        "code = d(a85decode(P))\nexec(compile(code.decode('utf-8'), 'train.py', 'exec'), globals())\n"
    ),
    "a list, joined": lambda t: (
        f"import bz2, binascii\nPARTS = {pieces(bz2.compress(t.encode()).hex())}\n"
        "exec(bz2.decompress(binascii.unhexlify(''.join(PARTS))))\n"
    ),
    "a sum, step by step": lambda t: (
        "import base64, gzip\ns = ''\n"
        + "".join(f"s += {p!r}\n" for p in pieces(base64.b32encode(gzip.compress(t.encode())).decode()))
        + "s = base64.b32decode(s)\ns = gzip.decompress(s)\nexec(s)\n"
    ),
    "a helper and a file in memory": lambda t: (
        "import base64, gzip, io\ndef u(s):\n    'Unpack.'\n    return gzip.GzipFile(fileobj=io.BytesIO(s)).read()\n"
        f"exec(u(base64.b16decode('{gzip.compress(t.encode()).hex().upper()}')))\n"
    ),
    "reversed, inflated without a head": lambda t: (
        f"import zlib, codecs\nP = {zlib.compress(t.encode()).hex()[::-1].encode()!r}\n"
        "exec(zlib.decompress(codecs.decode(P[::-1], 'hex')[2:-4], -zlib.MAX_WBITS))\n"
    ),
    "alone, by an object": lambda t: (
        "import lzma, base64\n"
        f"exec(lzma.LZMADecompressor(format=lzma.FORMAT_ALONE).decompress(base64.b85decode("
        f"'{b85(lzma.compress(t.encode(), format=lzma.FORMAT_ALONE))}')))\n"
    ),
    "urlsafe, with the gzip file opened": lambda t: (
        "import base64, gzip, io\n"
        f"exec(gzip.open(io.BytesIO(base64.urlsafe_b64decode({base64.urlsafe_b64encode(gzip.compress(t.encode()))})))"
        ".read().decode('UTF-8'))\n"
    ),
    "xz, opened": lambda t: (
        f"import lzma, io\nP = {lzma.compress(t.encode()).hex()!r}\n"
        "exec(lzma.open(io.BytesIO(bytes.fromhex(P))).read())\n"
    ),
    "bz2, opened, a file in base32": lambda t: (
        "from bz2 import BZ2File as F\nfrom io import BytesIO as B\nimport base64\n"
        f"exec(F(B(base64.b32decode({base64.b32encode(bz2.compress(t.encode()))}))).read())\n"
    ),
    "an object, flushed": lambda t: (
        f"import zlib, base64\nd = zlib.decompressobj()\nP = base64.b64decode({b64(zlib.compress(t.encode()))!r})\n"
        "exec(d.decompress(P) + d.flush())\n"
    ),
    "codecs alone": lambda t: (
        f"import codecs\nP = {b64(zlib.compress(t.encode()))!r}.encode()\n"
        "exec(codecs.decode(codecs.decode(P, 'base64_codec'), 'zip').decode())\n"
    ),
    "turned letters": lambda t: f"import codecs\nexec(codecs.decode({codecs.encode(t, 'rot13')!r}, 'rot-13'))\n",
    "wide letters": lambda t: f"exec(bytes.fromhex({t.encode('utf-16').hex()!r}).decode('utf-16'))\n",
    "an f-string": lambda t: (
        f"import base64\nA = {b64(t.encode())[:99]!r}\nB = {b64(t.encode())[99:]!r}\n"
        "exec(base64.b64decode(f'{A}{B}'))\n"
    ),
    "backwards": lambda t: f"exec({t[::-1]!r}[::-1])\n",
    "other letters for letters": lambda t: (
        f"P = {t.translate(str.maketrans('abcxyz', 'xyzabc'))!r}\n"
        "T = str.maketrans('abcxyz', 'xyzabc')\nexec(P.translate(T))\n"
    ),
    "other bytes for bytes": lambda t: (
        "T = bytes.maketrans(b'ab', b'ba')\n"
        f"exec({t.encode().translate(bytes.maketrans(b'ab', b'ba'))!r}.translate(T))\n"
    ),
    "numbers": lambda t: f"exec(''.join(chr(n) for n in {list(map(ord, t))}))\n",
    "numbers, mapped backwards": lambda t: f"exec(''.join(map(chr, reversed({list(map(ord, t[::-1]))}))))\n",
    "a key": lambda t: (
        f"K = b'key'\nP = {bytes(b ^ b'key'[i % 3] for i, b in enumerate(t.encode()))!r}\n"
        "exec(bytes([b ^ K[i % len(K)] for i, b in enumerate(P)]))\n"
    ),
    "one long number": lambda t: f"exec((0x{t.encode().hex()}).to_bytes({len(t.encode())}, 'big'))\n",
    "every second letter": lambda t: (
        f"P = {''.join(c + 'x' for c in t)!r}\nexec(''.join([P[n] for n in range(0, len(P), 2)]))\n"
    ),
    "a lambda that imports": lambda t: (
        "_ = lambda __: __import__('zlib').decompress(__import__('base64').b64decode(__[::-1]))\n"
        f"exec((_)({base64.b64encode(zlib.compress(t.encode()))[::-1]!r}))\n"
    ),
    "eval of what is compiled": lambda t: (
        f"import base64\neval(compile(base64.b64decode({b64(t.encode())!r}), '<string>', 'exec'))\n"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_honest_text_goes_to_a_person_and_nothing_more(way: str) -> None:
    report = review(WAYS[way](BASELINE), isolated=False)
    assert summary(report) == {SHELL}
    assert report.verdict == "review"
    assert report.packed


@pytest.mark.parametrize("way", WAYS)
def test_what_is_unpacked_is_what_the_interpreter_would_execute(way: str) -> None:
    shell, executed = WAYS[way](KNOBS), []
    watched = {"exec": lambda code, *_: executed.append(code), "compile": lambda source, *_: source}
    watched["eval"] = watched["exec"]
    exec(compile(shell, "shell", "exec"), watched)  # noqa: S102 - a shell of our own; its exec only notes the text
    unpacked = unpack(ast.parse(shell))
    assert isinstance(unpacked, Unpacked)
    assert executed in ([unpacked.data], [unpacked.data.decode()])


@pytest.mark.parametrize("way", WAYS)
def test_the_inner_text_is_judged_with_its_own_lines(way: str) -> None:
    plain = review(KNOBS, isolated=False)
    report = review(WAYS[way](KNOBS), isolated=False)
    assert report.verdict == "reject"
    places = [(f.rule, f.line, f.column, f.message) for f in report.findings if f.view == "unpacked"]
    assert places == [(f.rule, f.line, f.column, f.message) for f in plain.findings]
    assert report.knobs == plain.knobs


def test_shells_in_shells_are_opened_up_to_a_limit() -> None:
    text = KNOBS
    for _ in range(4):
        text = typical(text)
    assert ("K101", "unpacked", "reject") in summary(review(text, isolated=False))
    found = summary(review(typical(text), isolated=False))
    assert found == {
        SHELL,
        ("O601", "unpacked", "review"),
        ("S401", "unpacked", "reject"),
    }


def test_the_limited_process_opens_them_as_well() -> None:
    assert review(typical(KNOBS)) == review(typical(KNOBS), isolated=False)


@pytest.mark.parametrize(
    ("inner", "code", "line"),
    [
        ("x = 1\ny = '\0'\n", "G005", 2),
        ("# coding: unicode_escape\nx = 1\n", "G004", 1),
        ("x = " + "(" * 300 + ")" * 300 + "\n", "G009", 1),
        ("x = 1\ndef f(:\n", "G011", 2),
        ("", "G002", 1),
        ("x = 1\n" * 60_000, "G001", 1),
    ],
)
def test_the_gate_judges_the_inner_text(inner: str, code: str, line: int) -> None:
    report = review(typical(inner), isolated=False)
    assert report.verdict == "reject"
    assert [(f.rule, f.line) for f in report.findings if f.view == "unpacked"] == [(code, line)]


GIGABYTE = zlib.compress(b"\0" * (1 << 24), 9)
LARGE = f"import base64, zlib\nexec(zlib.decompress(base64.b85decode('{b85(GIGABYTE)}')))\n"
UNREADABLE = {
    "a bomb": (LARGE, "more than 4,194,304 bytes"),
    "a bomb in bz2": (
        f"import base64, bz2\nexec(bz2.decompress(base64.b85decode('{b85(bz2.compress(bytes(1 << 24)))}')))\n",
        "more than 4,194,304 bytes",
    ),
    "a sum that doubles": ("s = 'x'\n" + "s += s\n" * 60 + "exec(bytes.fromhex(s))\n", ""),
    "a dictionary for gigabytes": (
        typical("x = 1\n").replace("L.FILTER_LZMA2}", 'L.FILTER_LZMA2,"dict_size":1500000000}'),
        "dictionary of more than 64 MiB",
    ),
    "half a payload": (
        f"import base64, zlib\nexec(zlib.decompress(base64.b85decode('{b85(zlib.compress(b'x = 1')[:-6])}')))\n",
        "ends too early",
    ),
    "no payload at all": ("import base64, zlib\nexec(zlib.decompress(base64.b64decode('abc')))\n", "cannot be decoded"),
    "a file that is read twice": (
        "import io\ns = io.BytesIO(b'y = 2 # x = 1')\na = s.read()\nexec(s.read() + a)\n",
        "read twice",
    ),
    "a decompressor that is used twice": (
        f"import zlib\nd = zlib.decompressobj()\nP = {zlib.compress(b'x = 1')!r}\na = d.decompress(P)\n"
        "exec(d.decompress(P))\n",
        "used twice",
    ),
    "a list of endless work": (
        "exec(''.join([chr(n % 7 + m % 9) for n in range(9000) for m in range(9000)]))\n",
        "only during the run",
    ),
    "a comprehension of endless work": (
        "P = b'x'\nexec(bytes([len([b for b in range(4000)]) % 256 for a in range(4000)]))\n",
        "too long",
    ),
    "a sibling": ("exec(open('other.py').read())\n", "only during the run"),
    "a sibling, packed": ("import zlib\nexec(zlib.decompress(open('other.bin', 'rb').read()))\n", ""),
    "marshalled code": (f"import marshal, zlib\nexec(marshal.loads(zlib.decompress({zlib.compress(b'x')!r})))\n", ""),
    "a codec that is none": ("import codecs\nexec(codecs.decode(b'x = 1', 'nonsense'))\n", "nothing here decodes"),
    "filters that are none": (typical("x = 1\n").replace('{"id":L.FILTER_LZMA2}', "3"), "cannot be decoded"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_unpacked_is_refused_in_one_sentence(what: str) -> None:
    text, words = UNREADABLE[what]
    report = review(text, isolated=False)
    finding = next(f for f in report.findings if f.rule == "S401" and "exec" in f.snippet)
    assert (finding.severity, finding.view) == ("reject", "source")
    assert words in finding.message
    assert "O601" not in {f.rule for f in report.findings}


def test_a_bomb_takes_no_memory() -> None:
    packed = zlib.compress(bytes(1 << 27))
    shell = ast.parse(f"import base64, zlib\nexec(zlib.decompress(base64.b85decode('{b85(packed)}')))\n")
    tracemalloc.start()
    try:
        unpack(shell)
        assert tracemalloc.get_traced_memory()[1] < 1 << 25
    finally:
        tracemalloc.stop()


# Each of these makes the interpreter run another text than the one that a decoder here would give.
OTHERWISE = (
    "zlib.decompress = lambda data: b'y = 2'\nexec(GOOD)\n",
    "exec = print\nexec(GOOD)\n",
    "class zlib:\n    decompress = print\nexec(GOOD)\n",
    "def f(x: exec('y = 2')):\n    return x\nexec(f(GOOD))\n",
    "def f(x) -> exec('y = 2'):\n    return x\nexec(f(GOOD))\n",
    "x: exec('y = 2') = 1\nexec(GOOD)\n",
    "@exec\ndef f(x):\n    return x\nexec(GOOD)\n",
    "def f(x=exec('y = 2')):\n    return x\nexec(f(GOOD))\n",
    "for base64 in [1]:\n    pass\nexec(GOOD)\n",
    "import other as base64\nexec(GOOD)\n",
    "from zlib import *\nexec(GOOD)\n",
    "__name__ = '__main__'\nexec(GOOD)\n",
    "exec(GOOD, {'__name__': '__main__'})\n",
    "exec(compile(GOOD, 'a', 'eval'))\n",
    "exec(compile(GOOD, 'a', 'exec', 0x1000000))\n",
    "exec(GOOD)\nprint(1)\n",
    "if True:\n    exec(GOOD)\n",
    "exec(GOOD); exec(GOOD)\n",
    "exec((zlib := base64) and GOOD)\n",
    "f = lambda: locals()\nexec(GOOD, f())\n",
    "exec(GOOD, {})\n",
    "a = [GOOD]\nb = a\na += ['y = 2']\nexec(b[-1])\n",
    "a = bytearray(GOOD)\nb = a\na += b'y = 2'\nexec(b.decode())\n",
    "compile = lambda a, b, c: 'y = 2'\nexec(GOOD)\n",
    "eval(GOOD)\n",
    "eval(compile(GOOD, 'a', 'eval'))\n",
    "eval = print\neval(compile(GOOD, 'a', 'exec'))\n",
    "m = map(chr, GOOD)\nn = ''.join(m)\nexec(GOOD[:0] + ''.join(m).encode())\n",
    "m = (chr(b) for b in GOOD)\nn = ''.join(m)\nexec(GOOD[:0] + ''.join(m).encode())\n",
    "f = lambda m: ''.join(m) + ''.join(m)\nexec(f(map(chr, GOOD)))\n",
    "map = lambda a, b: 'y = 2'\nexec(''.join(map(chr, GOOD)))\n",
    "__import__ = print\nexec(GOOD)\n",
    "exec(bytes([b for b in GOOD if exec('y = 2')]))\n",
    "exec(bytes([(x := b) for b in GOOD]))\n",
    "P = GOOD\nexec(f'{P!r}')\n",
    "x = 'a'\ndef g():\n    return x\ndef f(x):\n    return g()\nexec(GOOD[:0] + bytes(f(GOOD)))\n",
)


@pytest.mark.parametrize("shell", OTHERWISE)
def test_a_shell_that_does_anything_else_is_not_believed(shell: str) -> None:
    payload = f"zlib.decompress(base64.b85decode('{b85(zlib.compress(BASELINE.encode()))}'))"
    report = review(f"import base64, zlib\n{shell.replace('GOOD', payload)}", isolated=False)
    assert "O601" not in {f.rule for f in report.findings}
    assert ("S401", "source", "reject") in summary(report) or "exec = print" in shell


def test_names_of_the_shell_mean_the_same_inside() -> None:
    text = "import os\nK = KEY\nL.b\nos.environ.get(K)\n"
    shell = f"import base64\nKEY = 'L' + 'R'\nP = {base64.b64encode(text.encode())!r}\nexec(base64.b64decode(P))\n"
    (finding,) = (f for f in review(shell, isolated=False).findings if f.rule == "K101")
    assert "`LR`" in finding.message
    hidden = "exec(z.decompress(b.b64decode(b'abc')))\n"
    shell = f"import base64 as b, zlib as z\nexec(b.b64decode({base64.b64encode(hidden.encode())!r}))\n"
    (finding,) = (f for f in review(shell, isolated=False).findings if f.rule == "S401")
    assert (finding.view, finding.severity) == ("unpacked", "reject")
    assert "packed" in finding.message


WITHIN = "import base64, bz2, gzip, lzma, zlib\n{before}exec({decode}(base64.b64decode({text!r})))\n"


def within(before: str, data: bytes, decode: str = "") -> str:
    return WITHIN.format(before=before, decode=decode, text=base64.b64encode(data))


@pytest.mark.parametrize(
    ("before", "inside", "rule"),
    [
        ("Q = ['/etc/passwd']\n", "open(Q[0])\n", "D303"),
        ("Q = {'a': '/etc/passwd'}\n", "for p in Q.values():\n    open(p)\n", "D303"),
        (f"Q = '/etc/passwd{'x' * 1_000}'\n", "open(Q[:11])\n", "D303"),
        ("q = lambda: '/etc/passwd'\n", "open(q())\n", "D303"),
        ("def q(): return '/etc/' + 'passwd'\n", "open(q())\n", "D303"),
        ("P = 'passwd'; q = lambda x: x + P\n", "open(q('/etc/'))\n", "D303"),
        ("q = lambda: os.system('ls')\n", "import os\nq()\n", "S402"),
        ("q = lambda k: E[k]\n", "from os import environ as E\nq('LR')\n", "K101"),
        ("Q = ['dev', 'cpu']\n", "from prepare import make_dataloader\nmake_dataloader(t, 8, 256, Q[0])\n", "E205"),
    ],
)
@pytest.mark.parametrize("layers", [1, 2])
def test_whatever_a_shell_binds_is_known_inside(before: str, inside: str, rule: str, layers: int) -> None:
    text = inside
    for layer in range(layers):
        text = within(before if layer == layers - 1 else "", text.encode())
    found = [f for f in review(text, isolated=False).findings if f.view == "unpacked" and f.rule == rule]
    assert {f.severity for f in found} == {"reject"}


def test_what_a_shell_defines_is_shown_as_it_stands_there() -> None:
    text = within("q = lambda: E['LR']\n", b"from os import environ as E\nq()\n")
    policy = Policy(baseline="from os import environ as E\n")
    (found,) = (f for f in review(text, policy, isolated=False).findings if f.view == "unpacked" and f.rule == "K101")
    assert (found.severity, found.line, found.snippet) == ("reject", 1, "E['LR']")


@pytest.mark.parametrize("module", [bz2, gzip, lzma])
def test_a_payload_of_some_streams_is_read_and_one_of_very_many_is_not(module: ModuleType) -> None:
    name = f"{module.__name__}.decompress"
    lines = b"".join(module.compress(f"x{i} = 1\n".encode()) for i in range(60))
    assert SHELL in summary(review(within("", lines, name), isolated=False))
    empty = zlib.compress(module.compress(b"") * 100_000, 9)
    report = review(within("", empty, f"{name}(zlib.decompress").replace(")))", "))))"), isolated=False)
    assert "more than 64 streams" in next(f.message for f in report.findings if f.rule == "S401")


def test_decompressing_again_and_again_is_too_long() -> None:
    again = "".join(f"a{i} = d(P)\n" for i in range(2_000))
    text = within(f"P = {bz2.compress(b'x')!r}\nd = bz2.decompress\n{again}", b"x = 1\n")
    report = review(text, isolated=False)
    assert "would take too long" in next(f.message for f in report.findings if f.rule == "S401")


def test_a_policy_decides_about_the_shell_and_never_about_what_is_in_it() -> None:
    def verdict(text: str, severity: str) -> str:
        return review(typical(text), Policy.from_mapping({"rules": {"O601": severity}}), isolated=False).verdict

    assert verdict(BASELINE, "off") == "accept"
    assert verdict(BASELINE, "reject") == "reject"
    assert verdict(KNOBS, "off") == "reject"


def test_the_largest_script_of_a_policy_is_unpacked_in_moments() -> None:
    filler = "".join(f"# {i // 2:06d}\n" for i in range(24_000))
    assert len(filler) > 215_000
    assert summary(review(typical(BASELINE + filler))) == {SHELL}
