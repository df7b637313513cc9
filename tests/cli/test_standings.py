"""The board fits the width by dropping columns, never by wrapping."""

from typing import Any

import pytest
from rich.cells import cell_len

from leaderboard.cli.board import board_lines
from tests.cli.conftest import Prompt
from tests.cli.site import STANDING, Answer, Site

ROWS = [
    {**STANDING, "rank": 1, "team": "測量チーム" * 12, "note": "a very long note " * 9, "bpb": 1.85},
    STANDING,
    {**STANDING, "rank": 10, "team": None, "n": 1, "ci_low": None, "ci_high": None, "compute_used_seconds": None},
]
BOARD: dict[str, Any] = {"competition": "demo", "phase": "open", "as_of": None, "rounding": 0.001, "rows": ROWS}
PATH = "competitions/demo/phases/open/standings"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = list(board_lines(BOARD, width))
    assert len(lines) == 2 + len(ROWS)
    assert max(map(cell_len, lines)) <= width


def test_the_score_outlives_the_note() -> None:
    def head(width: int) -> list[str]:
        rows = [STANDING, {**STANDING, "team": "team-with-a-name-of-some-length"}]
        return [name for name in list(board_lines({**BOARD, "rows": rows}, width))[1].split("  ") if name]

    assert [word.strip() for word in head(200)][-2:] == ["method", "when"]
    assert "method" not in " ".join(head(80))
    assert "bits per byte" in " ".join(head(80))


def test_standings_say_score_interval_and_that_lower_is_better(prompt: Prompt, site: Site) -> None:
    site.on("GET", PATH, BOARD)
    ended = prompt.submit("standings")
    assert ended.code == 0
    assert "lower is better" in ended.out
    assert "1.900 ± 0.010 (n = 3)" in ended.out
    assert "1.900 (n = 1, no interval yet)" in ended.out
    assert max(map(cell_len, ended.out.splitlines())) <= 80


def test_half_an_interval_is_never_shown_narrower_than_it_is() -> None:
    row = {**STANDING, "bpb": 2.002, "ci_low": 2.001, "ci_high": 2.004}
    assert "2.002 ± 0.002 (" in list(board_lines({**BOARD, "rows": [row]}, 80))[2]


def test_a_released_board_says_how_many_left_it(prompt: Prompt, site: Site) -> None:
    site.on("GET", PATH, {**BOARD, "left": 2})
    assert prompt.submit("standings").out.splitlines()[-1] == "2 left after the release."


def test_an_empty_board_says_what_will_appear(prompt: Prompt, site: Site) -> None:
    site.on("GET", PATH, {**BOARD, "rows": []})
    assert "Nobody is ranked yet" in prompt.submit("standings").out


def test_standings_as_json_are_the_servers_own(prompt: Prompt, site: Site) -> None:
    site.on("GET", PATH, BOARD)
    assert prompt.submit("standings", "--json").last == {**BOARD, "event": "standings"}


@pytest.mark.parametrize("body", [{"rows": 3}, {"rows": [1]}, {"rows": [{"bpb": "low"}]}, []])
def test_a_board_that_makes_no_sense_is_a_fault_of_the_platform(prompt: Prompt, site: Site, body: Any) -> None:
    site.on("GET", PATH, Answer(body))
    assert prompt.submit("standings").code == 7


def test_the_private_board_is_asked_for_and_named(prompt: Prompt, site: Site) -> None:
    unscored = {**STANDING, "rank": None, "bpb": None, "ci_low": None, "ci_high": None, "outcome": "not scored yet"}
    site.on("GET", PATH, {**BOARD, "shard": "private", "rows": [STANDING, unscored]})
    ended = prompt.submit("standings", "--private")
    assert site.asked[0].query == {"shard": ["private"]}
    assert "demo · open · private · lower is better" in ended.out
    assert "no score: not scored yet" in ended.out


def test_a_sealed_private_board_is_one_sentence(prompt: Prompt, site: Site) -> None:
    site.on("GET", PATH, Answer({"code": "sealed", "message": "The private board is sealed."}, 404))
    ended = prompt.submit("standings", "--private")
    assert (ended.code, ended.err) == (2, "submit: The private board is sealed.\n")
