"""`submit list`: newest first, page after page, and never wider than the terminal."""

from typing import Any

import pytest
from rich.cells import cell_len

from tests.cli.conftest import Prompt
from tests.cli.site import API, Answer, Site


def row(number: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "version": number, "team": "team-41", "competition": "demo", "phase": "open",
            "state": "ranked", "final": True, "created": "2026-01-05T10:00:00Z", "note": "wider, 14 layers",
            "bpb": 1.9, "n": 3, "rounding": 0.001, "url": f"/submissions/{number}", **more}  # fmt: skip


def page(*rows: dict[str, Any], then: int | None = None) -> Answer:
    return Answer({"submissions": list(rows), "next": then})


def asked(site: Site) -> list[dict[str, list[str]]]:
    return [ask.query for ask in site.asked if ask.path == f"{API}submissions"]


def test_a_list_says_state_score_and_what_it_was(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions", page(row(9), row(8, state="in_review", bpb=None, n=0)))
    head, first, second = prompt.submit("list").out.splitlines()
    assert head.split("  ")[0] == "id"
    assert first.startswith(" 9  ● ranked")
    assert "1.900" in first
    assert "demo/open" in first
    assert "05 Jan 10:00" in first
    assert "? in review" in second


def test_no_line_is_wider_than_80(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions", page(row(10**9, note="測量" * 90, team="x" * 40, competition="c" * 60)))
    lines = prompt.submit("list").out.splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert "ranked" in lines[1]


def test_pages_are_followed_as_far_as_asked(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions", page(row(9), row(8), then=8), page(row(7), then=7))
    ended = prompt.submit("list", "--limit", "3", "--json")
    assert [line.split('"id": ')[1].split(",")[0] for line in ended.out.splitlines()] == ["9", "8", "7"]
    assert asked(site) == [{"limit": ["3"]}, {"limit": ["1"], "cursor": ["8"]}]
    assert "--limit shows more" in prompt.submit("list", "--limit", "1").out


def test_only_what_was_typed_narrows_it(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions", page())
    assert "No submission yet" in prompt.submit("list").out
    assert "No submission fits" in prompt.submit("list", "--competition", "demo", "--state", "In Review").out
    assert asked(site) == [{"limit": ["20"]}, {"limit": ["20"], "competition": ["demo"], "state": ["in_review"]}]


@pytest.mark.parametrize(
    "body", [{}, {"submissions": [3]}, {"submissions": [{"id": "x"}]}, {"submissions": [], "next": "x"}]
)
def test_a_list_that_makes_no_sense_is_a_fault_of_the_platform(prompt: Prompt, site: Site, body: Any) -> None:
    site.on("GET", "submissions", Answer(body))
    assert prompt.submit("list").code == 7


def test_a_server_that_never_ends_is_not_followed_for_ever(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions", page(then=5))
    assert prompt.submit("list").code == 0
    assert len(site.asked) == 1
