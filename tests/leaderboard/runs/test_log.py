"""The training log: appended by offset, capped, read in pieces that never cut a character."""

import pytest

from leaderboard.core.storage import append_log, read_log
from leaderboard.runs.queries import log_json
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import Host, queue, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def work():
    queue(send(make_user(), make_competition(limits={"log_mb": 1})))
    return Host.register().claim_next()


def test_a_repeated_piece_is_kept_once_and_a_hole_is_refused_with_the_size(work):
    assert work.log(0, b"step 1\n").json() == {"size": 7}
    assert work.log(0, b"step 1\n").json() == {"size": 7}
    assert work.log(4, b" 1\nstep 2\n").json() == {"size": 14}
    hole = work.log(15, b"step 4\n")
    assert (hole.status_code, hole.json()["size"]) == (409, 14)
    assert read_log(work.attempt)[0] == b"step 1\nstep 2\n"


def test_beyond_the_cap_nothing_is_kept(work):
    piece = b"x" * (600 * 1024)
    assert work.log(0, piece).json() == {"size": len(piece)}
    assert work.log(len(piece), piece).json() == {"size": 1024 * 1024}
    assert work.log(1024 * 1024, b"more").json() == {"size": 1024 * 1024}


def test_a_piece_over_a_megabyte_is_too_large(work):
    assert work.log(0, b"x" * (1024 * 1024 + 1)).status_code == 413


def test_a_negative_offset_is_a_hole(tmp_path):
    assert append_log(987_654, -1, b"x", 10) == (False, 0)


def test_text_is_read_on_from_where_it_ended_without_cutting_characters(work):
    from leaderboard.submissions.models import Submission

    submission = Submission.objects.get()
    work.log(0, "verlust 0,5 · größe\n".encode())
    first = log_json(submission, limit=16)
    second = log_json(submission, offset=first["next"])
    assert first["text"] + second["text"] == "verlust 0,5 · größe\n"
    assert "�" not in first["text"] + second["text"]
    assert not second["final"]
    work.finish()
    assert log_json(submission, offset=second["next"]) == {
        "offset": second["next"],
        "next": second["next"],
        "text": "",
        "final": True,
        "attempt": 1,
        "missing": 0,
    }


def test_what_never_came_here_is_counted_by_the_receipt(work):
    from leaderboard.submissions.models import Submission

    submission = Submission.objects.get()
    work.log(0, b"step 1\n")
    assert log_json(submission)["missing"] == 0, "it goes on"
    work.finish(log={"sha256": "0" * 64, "bytes": 1007, "truncated": False})
    assert (log_json(submission)["missing"], log_json(submission)["final"]) == (1000, True)


@pytest.mark.parametrize("limit", range(11, 22))
def test_no_limit_cuts_a_character(work, limit):
    from leaderboard.submissions.models import Submission

    work.log(0, "0123456789ü·€𝄞 end".encode())
    assert "�" not in log_json(Submission.objects.get(), limit=limit)["text"]


def test_bytes_that_are_no_text_do_not_stop_the_reader(work):
    from leaderboard.submissions.models import Submission

    work.log(0, b"\xff\xfe\x80 end")
    assert log_json(Submission.objects.get())["text"].endswith(" end")
