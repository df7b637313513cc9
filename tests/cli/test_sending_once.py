"""A send whose connection breaks is sent again under the same key, so that it counts once."""

import pytest

from tests.cli.conftest import Prompt
from tests.cli.site import DROP, Answer, Site, submission


def keys(site: Site) -> list[str]:
    return [asked.headers["idempotency-key"] for asked in site.asked if asked.method == "POST"]


def test_a_broken_connection_is_tried_again_with_the_same_key_and_content(prompt: Prompt, site: Site) -> None:
    site.on("POST", "submissions", DROP, Answer(submission("received"), 200))
    ended = prompt.submit("train.py", "--no-wait")
    assert ended.code == 0
    assert "sending it again, it counts once" in ended.err
    first, second = keys(site)
    assert first == second
    assert site.asked[0].fields() == site.asked[1].fields()


def test_a_connection_that_stays_broken_is_given_up(prompt: Prompt, site: Site) -> None:
    site.on("POST", "submissions", DROP)
    assert prompt.submit("train.py", "--no-wait").code == 7
    assert len(set(keys(site))) == 1
    assert len(keys(site)) == 3


def test_two_sends_have_two_keys(prompt: Prompt, site: Site) -> None:
    site.life()
    for _ in range(2):
        prompt.submit("train.py", "--no-wait")
    first, second = keys(site)
    assert first != second
    assert len(first) >= 20


@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_an_answer_is_an_answer_and_nothing_is_sent_again(prompt: Prompt, site: Site, status: int) -> None:
    site.on("POST", "submissions", Answer({"code": "quota", "message": "No."}, status))
    assert prompt.submit("train.py", "--no-wait").code != 0
    assert len(keys(site)) == 1
