"""Whatever people or scripts wrote is shown as text: in names, notes, scripts, findings and logs."""

import pytest
from django.db import connection

from leaderboard.submissions.models import Report, Submission
from leaderboard.web.source import excerpt, lines
from tests.leaderboard.cast import SCRIPT, make_competition, make_team, make_user
from tests.leaderboard.host import Host, drive, send
from tests.leaderboard.web.pages import browser
from tests.leaderboard.web.receipt import TRAINED

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"
QUOTES = "\"'><svg onload=alert(3)>"


@pytest.mark.django_db(transaction=True)
def test_no_name_note_script_or_log_becomes_markup():
    demo, host, ada = make_competition(title=EVIL), Host.register(), make_user("ada")
    demo.title, demo.description = EVIL, EVIL
    demo.save()
    make_team(demo, ada, name="<i>" + QUOTES)
    submission = send(ada, demo, SCRIPT + f"# {EVIL}\n", note=EVIL)
    drive()
    work = host.claim_next()
    work.log(0, f"{EVIL}\n".encode())
    work.finish()
    drive()
    host.claim_next().finish()
    drive()
    client = browser(ada)
    for address in (
        "/",
        "/competitions/demo/",
        "/competitions/demo/team/",
        "/competitions/demo/phases/open/",
        f"/competitions/demo/phases/open/?open={submission.pk}",
        "/competitions/demo/phases/open/submit/",
        f"/submissions/{submission.pk}/",
        f"/submissions/{submission.pk}/source/",
        f"/submissions/{submission.pk}/live/",
    ):
        page = client.get(address).content.decode()
        assert "alert(" in page or address.endswith("/live/")
        for markup in ("<script>alert", "<img", "<svg onload", "<i>"):
            assert markup not in page, address


def spoiled(value):
    """Return a receipt's part with every text in it turned into markup, whatever its place."""
    if isinstance(value, dict):
        return {name: spoiled(each) for name, each in value.items()}
    if isinstance(value, list):
        return [spoiled(each) for each in value]
    return f"{EVIL}{QUOTES}\u202e" if isinstance(value, str) else value


@pytest.mark.django_db(transaction=True)
def test_no_text_of_a_receipt_becomes_markup_for_its_team_or_for_an_organizer():
    ada, olga, host = make_user("ada"), make_user("olga", organizer=True), Host.register()
    submission = send(ada, make_competition(), SCRIPT)
    drive()
    host.claim_next().finish("crash", detail=f"{EVIL}\n{QUOTES} \u202e", **spoiled(TRAINED))
    drive()
    for who in (ada, olga):
        for address in ("", "live/", "source/"):
            page = browser(who).get(f"/submissions/{submission.pk}/{address}").content.decode()
            assert "onload=alert" in page or address == "source/"
            for markup in ("<script>alert", "<img", "<svg onload", "\u202e"):
                assert markup not in page, address


@pytest.mark.django_db(transaction=True)
def test_no_text_of_the_probes_becomes_markup():
    ada, olga, host = make_user("ada"), make_user("olga", organizer=True), Host.register()
    submission = send(ada, make_competition(), SCRIPT)
    drive()
    host.claim_next().finish()
    drive()
    work = host.claim_next()
    place = {"kind": "repeat", "row": 3, "position": None, "difference": None}
    receipt = work.receipt("breach", detail=f"{EVIL} {QUOTES}")
    receipt["probes"]["evidence"] = [{**place, "kind": EVIL}]
    assert work.hand_in(receipt).status_code == 400
    receipt["probes"]["evidence"] = [place]
    receipt["probes"] |= {"note": EVIL}
    assert work.hand_in(receipt).status_code == 200
    drive()
    for who in (ada, olga):
        for address in ("", "live/"):
            page = browser(who).get(f"/submissions/{submission.pk}/{address}").content.decode()
            assert "onload=alert" in page
            assert "<script>alert" not in page
            assert "<img" not in page


@pytest.mark.django_db(transaction=True)
def test_a_report_cannot_break_the_page_whatever_it_says():
    ada = make_user()
    submission = send(ada, make_competition(), SCRIPT)
    lone = "\ud800" if connection.vendor == "sqlite" else "⟨U+D800⟩"  # PostgreSQL stores none
    finding = {
        "rule": EVIL,
        "name": f"lone {lone} surrogate",
        "severity": EVIL,
        "line": 10**9,
        "end_line": 10**9,
        "message": f"`{EVIL}` and \u202e reversed\nWrite `{QUOTES}`.",
        "snippet": EVIL,
    }
    body = {"verdict": "review", "findings": [finding, {}], "knobs": [{"line": 1, "key": EVIL, "default": lone}]}
    Report.objects.create(submission=submission, verdict="review", ruleset="1", body=body)
    for address in ("", "source/", "live/"):
        response = browser(ada).get(f"/submissions/{submission.pk}/{address}")
        page = response.content.decode()
        assert response.status_code == 200
        assert "⟨U+D800⟩" in page or address == "source/"  # which has no such line
        assert "<script>alert" not in page
        assert "\u202e" not in page


@pytest.mark.django_db(transaction=True)
def test_a_script_that_is_no_text_still_has_a_page():
    ada = make_user()
    submission = send(ada, make_competition(), b"\xff\xfe\x00 = 1\r\nx = 2\rprint('" + b"a" * 100_000 + b"')")
    drive()
    assert Submission.objects.get(pk=submission.pk).state == "rejected"
    for address in ("", "source/"):
        response = browser(ada).get(f"/submissions/{submission.pk}/{address}")
        assert response.status_code == 200
        assert "\x00" not in response.content.decode()


def test_lines_are_counted_as_python_counts_them_and_strings_span_them():
    found = lines('x = """a\r\nb"""\ry = 1\n')
    assert len(found) == 3
    assert found[1] == '<span class="s">b&quot;&quot;&quot;</span>'


def test_characters_that_hide_or_reorder_are_spelled_out():
    (line,) = lines("access = 'user\u202e \u2066# admin\u2069'\x0c\u200b")
    assert not set("\u202e\u2066\u2069\u200b\x0c") & set(line)
    assert line.count('<span class="odd">U+202E</span>') == 1


def test_a_form_feed_or_line_separator_ends_no_line():
    assert len(lines("a = 1\x0c\nb = '\u2028'\x0b\n")) == 2


def test_an_excerpt_stays_inside_the_text_and_short():
    text = "\n".join(f"line_{n}" for n in range(1, 101))
    assert [line.number for line in excerpt(text, 1, 1)] == [1, 2, 3]
    assert [line.number for line in excerpt(text, 100, 400)] == [98, 99, 100]
    assert len(excerpt(text, 10, 90)) == 18
    assert [line.number for line in excerpt(text, 50, 51) if line.hit] == [50, 51]
