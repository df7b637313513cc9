"""A competition's first page: how to take part, from the terminal and at home."""

import pytest

from tests.leaderboard.cast import SCRIPT, make_competition, make_user
from tests.leaderboard.host import Host, drive, send
from tests.leaderboard.web.pages import browser, text

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_steps_at_home_stand_in_their_order():
    make_competition()
    said = text(browser().get("/competitions/demo/"))
    steps = (
        "Download the kit",
        "unzip demo-kit.zip",
        "cd demo",
        "pip install torch tokenizers",
        "python train.py",
        "python prepare.py eval-public --train-py train.py --checkpoint out/final.pt",
        "submit --check train.py",
    )
    said = said[said.index("At home") :]
    places = [said.index(step) for step in steps]
    assert places == sorted(places)


def test_a_place_that_is_only_held_is_said_to_be_so_until_the_audit_has_spoken():
    ada, demo = make_user(), make_competition()
    submission, client = send(ada, demo, SCRIPT), browser(ada)
    held = "this one's place is held and costs nothing if it is rejected"
    assert held in text(client.get(f"/submissions/{submission.pk}/"))
    drive()
    Host.register().claim_next()
    said = text(client.get(f"/submissions/{submission.pk}/"))
    assert "19 of 20 left" in said
    assert held not in said
