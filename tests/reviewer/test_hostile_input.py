"""Fuzzed, truncated and nested inputs: always a verdict with a reason, never an exception or a hang."""

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewer import Context, Policy, Report, gate, review
from tests.reviewer.scripts import BASELINE, KNOBS

SLOW = [HealthCheck.too_slow]
PIECES = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "=",
    "\n",
    "\t",
    "'",
    '"',
    "\\",
    "#",
    "\\\n",
    "@",
    "*",
    "**",
    "->",
    "lambda:",
    "if",
    "else",
    "for",
    "in",
    "def",
    "class",
    "x",
    "os",
    "environ",
    "import",
    "from",
    "await",
    "async",
    "yield",
    "match",
    "case",
    "_",
    "None",
    "0",
    "1.5",
    "f'{",
    "}",
    "'''",
    '"""',
    ":=",
    "global",
    "del",
    "with",
    "as",
    "try",
    "except",
]


def judged(report: Report) -> bool:
    return report.verdict in ("accept", "review", "reject") and (report.verdict == "accept") == (
        all(f.severity not in ("reject", "review") for f in report.findings)
    )


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(st.binary(max_size=300))
def test_random_bytes(data: bytes) -> None:
    assert judged(review(data, isolated=False))


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_random_tokens(pieces: list[str]) -> None:
    assert judged(review(" ".join(pieces), isolated=False))


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(st.integers(0, len(KNOBS)), st.integers(0, 3), st.randoms(use_true_random=False))
def test_truncated_and_mutated_scripts(end: int, edits: int, chance: random.Random) -> None:
    text = list(KNOBS[:end])
    for _ in range(edits if text else 0):
        text[chance.randrange(len(text))] = chance.choice("()[]{}:,.=\n\t '\"\\#xä\x00")
    assert judged(review("".join(text), isolated=False))


@settings(max_examples=6, deadline=None, suppress_health_check=SLOW)
@given(st.integers(0, len(BASELINE)))
def test_the_limited_process_survives_truncation(end: int) -> None:
    assert judged(review(BASELINE[:end]))


def test_what_would_end_the_parser_is_refused_by_the_gate() -> None:
    for depth in (1_000, 10_000, 50_000):
        for text in (
            "x = " + "(" * depth + ")" * depth,
            "x = " + "[" * depth,
            "x = 1" + "+1" * depth,
            "x = " + "-" * depth + "1",
            "x = a" + "[0]" * depth,
            "x = " + "lambda: " * depth + "1",
            "x = " + "1 if 1 else " * depth + "1",
            "x = " + "'a' " * depth,
            "x = f'" + "{(" * depth + "'",
        ):
            found = gate.check(text.encode(), 10_000_000)
            assert found is None or found.rule in ("G008", "G009", "G010")
            assert found is not None or "f'" in text  # the inside of a string is the compiler's business


def test_deep_but_legal_files_get_a_verdict_from_the_process() -> None:
    for text in (
        "x = 1" + " + 1" * 480,
        "x = a" + ".b" * 480,
        "x = " + "(" * 190 + ")" * 190,
        "x = f'" + "{" * 400 + "'",
        "".join("    " * i + "if x:\n" for i in range(95)) + "    " * 95 + "pass\n",
        "x = '" + "a" * 60_000 + "'\n",
        "x = [" + "1," * 20_000 + "]\n",
        "x = 1\n" * 5_000,
    ):
        report = review(text)
        assert judged(report)
        assert "G013" not in {f.rule for f in report.findings}, report.findings[0].message


ROTATED = '''
def rotate{0}(q: torch.Tensor, k: torch.Tensor, base: float = 10_000.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn pairs of channels by their position."""
    half = q.size(-1) // 2
    speed = base ** (-torch.arange(half, device=q.device) / half)
    angle = torch.arange(q.size(1), device=q.device)[:, None] * speed[None, :]
    a, b, c, d = q[..., :half], q[..., half:], k[..., :half], k[..., half:]
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1), torch.cat([c * cos - d * sin, c * sin + d * cos], -1)


class Block{0}(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(WIDTH, WIDTH, bias=False)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k = rotate{0}(x, x)
        y = self.mix(F.rms_norm(q * k, (WIDTH,)))
        return x + self.drop(y) if self.training else x + y

'''


def test_the_largest_plain_script_is_audited_within_the_limits() -> None:
    """Also with a version before it, which is read beside it."""
    head, middle, tail = BASELINE.partition("class GPT")
    most = Policy().max_bytes
    count = (most - len(BASELINE)) // len(ROTATED.format(999))
    text = head + "".join(map(ROTATED.format, range(count))) + middle + tail
    assert len(text) > most - 2_000
    assert text.count("\n") > 5_000
    report = review(text, context=Context(previous=text.replace("10_000.0", "20_000.0")))
    assert report.verdict == "accept"
    assert report.drift is not None
    assert len(report.drift.functions_changed) == 201
