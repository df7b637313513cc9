"""What is refused before a run: each in one sentence, with the exit status a script can act on."""

import pytest

from tests.e2e.scripts import BIGRAM
from tests.e2e.site import Site, last_event


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "empty"),
        (b"\xff\xfe\x00 not text", "UTF-8"),
        (b"def broken(:\n    pass\n", "syntax"),
        (b"import os\nLR = float(os.environ['LR'])\n" + BIGRAM.encode(), "LR"),
    ],
    ids=["empty", "not UTF-8", "syntax error", "environment knob"],
)
def test_the_audit_rejects_with_rule_and_line(site: Site, content: bytes, rule: str) -> None:
    reply = site.api(
        "POST", "submissions", data={"competition": "quick", "phase": "open"}, files={"script": ("a.py", content)}
    )
    assert reply.status_code == 201, reply.text
    ended = site.cli("status", str(reply.json()["id"]), "--json")
    while last_event(ended).get("state") in ("received", "auditing"):
        ended = site.cli("status", str(reply.json()["id"]), "--json")
    seen = site.api("GET", f"submissions/{reply.json()['id']}").json()
    assert seen["state"] == "rejected"
    assert rule.lower() in str(seen["report"]["findings"]).lower()
    assert seen["report"]["findings"][0]["line"] >= 0


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("--launch", "python other.py --lr 3"), 2, "launch"),
        (("--phase", "nowhere"), 2, "nowhere"),
        (("--phase", "over"), 2, "closed"),
    ],
)
def test_a_wrong_request_is_refused_with_one_sentence(
    site: Site, options: tuple[str, ...], status: int, words: str
) -> None:
    ended = site.submit(BIGRAM + "\n# refused\n", *options)
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert words in (ended.stdout + ended.stderr)
    assert "Traceback" not in ended.stderr


def test_a_script_that_is_too_large_is_refused(site: Site) -> None:
    ended = site.submit(BIGRAM + "#" * 300_000)
    assert ended.returncode in (2, 4)
    assert "262,144" in ended.stdout + ended.stderr


def test_an_expired_or_wrong_token_says_so(site: Site) -> None:
    stranger = Site(site.home, site.url, "not-a-token")
    ended = stranger.submit(BIGRAM)
    assert ended.returncode == 3, ended.stdout + ended.stderr


def test_nobody_listening_is_a_platform_fault(site: Site) -> None:
    nowhere = Site(site.home, "http://127.0.0.1:9", site.token)
    ended = nowhere.submit(BIGRAM)
    assert ended.returncode == 7
    assert "127.0.0.1:9" in ended.stdout + ended.stderr
