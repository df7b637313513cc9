"""The public board: the rows of the JSON, drawn; one row opens in place; it asks for more only while it may change."""

import re
from html import unescape

import pytest

from tests.leaderboard.cast import SCRIPT, later, make_competition, make_user
from tests.leaderboard.host import Host, drive, send
from tests.leaderboard.web.pages import browser, text

BOARD = "/competitions/demo/phases/open/"


def cells(response, label):
    page = response.content.decode()
    found = re.findall(rf'<td data-label="{label}"[^>]*>(.*?)</td>', page, flags=re.DOTALL)
    return [" ".join(unescape(re.sub(r"<[^>]*>", " ", cell)).split()) for cell in found]


def test_rows_are_those_of_the_json_rounded_alike(site):
    page = browser().get(BOARD)
    (row,) = browser().get("/api/v1/competitions/demo/phases/open/standings").json()["rows"]
    assert cells(page, "Rank") == [str(row["rank"])]
    assert cells(page, "Bits per byte") == [f"{row['bpb']:.3f}"] == ["2.034"]
    assert cells(page, "Version") == [f"v{row['version']}"]
    assert cells(page, "Runs") == [f"n = {row['n']} probed ×{row['probe_power']}"]
    assert cells(page, "Method note") == [row["note"]]
    assert cells(page, "Compute") == ["0:02 / 0:02"]
    assert "2.0344" not in page.content.decode()


def test_the_board_says_what_is_better_where_the_cut_is_and_what_is_sealed(site):
    said = text(browser().get(BOARD))
    for words in (
        "lower is better",
        "top 1 advance",
        "cut: top 1",
        "private: sealed until release",
    ):
        assert words in said
    assert re.search(r"closes in (6 d 23 h|7 d 00 h)", said)
    page = browser().get(BOARD).content.decode()
    for kind in ("standings", "standings.csv"):
        address = f"/api/v1/competitions/demo/phases/open/{kind}"
        assert f'href="{address}"' in page
        assert browser().get(address).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_an_interval_is_drawn_once_there_is_a_spread():
    demo, host = make_competition(runs=2), Host.register()
    send(make_user(), demo)
    drive()
    for _ in range(2):
        host.claim_next().finish()
    drive()
    for bpb in (2.0, 2.01):
        host.claim_next().finish(bpb=bpb)
    drive()
    page = browser().get(BOARD)
    assert cells(page, "Bits per byte") == ["2.005"]
    assert cells(page, "Interval") == ["± 0.064"]


def test_a_row_opens_in_place_by_its_address(site):
    page = browser().get(f"{BOARD}?open={site.ranked.pk}")
    assert "Versions tried 2" in text(page)
    assert "one run has no spread of its own" in text(page)
    assert "Versions tried" not in text(browser().get(f"{BOARD}?open=x"))
    assert "Versions tried" not in text(browser().get(f"{BOARD}?open={'9' * 40}"))


def test_the_team_finds_its_own_row(site):
    assert "ada yours" in text(browser(site.ada).get(BOARD))
    assert "yours" not in text(browser(site.bob).get(BOARD))


def test_it_asks_again_while_open_and_hears_nothing_while_nothing_changed(site):
    (question,) = re.findall(r'hx-get="([^"]*)"', browser().get(BOARD).content.decode())
    htmx = {"HX-Request": "true"}
    assert browser().get(unescape(question), headers=htmx).status_code == 204
    send(site.bob, site.demo, SCRIPT + "# bob's\n")
    drive()
    Host.register("other").run(bpb=1.5)
    answer = browser().get(unescape(question), headers=htmx)
    assert answer.content.startswith(b'<div id="board" hx-get=')
    assert cells(answer, "Bits per byte") == ["1.500", "2.034"]


@pytest.mark.django_db
def test_an_empty_board_says_how_to_make_the_first_row_and_a_closed_one_is_at_rest():
    demo = make_competition()
    assert "Send in a script to make the first" in text(browser().get(BOARD))
    demo.phases.update(closes=later(minutes=-1))
    page = browser().get(BOARD)
    assert "Nobody is ranked yet" in text(page)
    assert b"hx-get" not in page.content


@pytest.mark.django_db
def test_a_board_that_is_not_there_is_not_found():
    make_competition()
    assert browser().get("/competitions/demo/phases/none/").status_code == 404
    assert browser().get("/competitions/none/").status_code == 404
