"""The log on the page: of a long one the end, and what never came here is said."""

import pytest

from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send
from tests.leaderboard.web.pages import browser, text

pytestmark = pytest.mark.django_db(transaction=True)


def page_of(written, **receipt):
    """Let a run write this log and fail, and return its page as text."""
    ada = make_user()
    submission = queue(send(ada, make_competition()))
    work = Host.register().claim_next()
    work.log(0, written)
    work.finish("crash", **receipt)
    drive()
    return text(browser(ada).get(f"/submissions/{submission.pk}/"))


def test_of_a_long_log_the_last_part_is_shown():
    said = page_of(b"begin\n" + b"x" * 63 + b"\n" + b"step\n" * 20_000 + b"end\n")
    assert "The last 65,536 of 100,074 bytes." in said
    assert "step end" in said
    assert "begin" not in said


def test_bytes_that_never_came_here_are_counted_under_the_log():
    said = page_of(b"step 1\n", log={"sha256": "0" * 64, "bytes": 12_352, "truncated": False})
    assert "step 1 – the last 12,345 bytes did not come here –" in said


def test_a_whole_log_ends_with_its_own_words():
    assert "did not come here" not in page_of(b"step 1\n", log={"sha256": "0" * 64, "bytes": 7, "truncated": False})
