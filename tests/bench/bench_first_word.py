"""From the press of "Submit" to the audit's first word on the page, on a running site, against one second.

A client does what a browser does: it sends the form, follows to the submission's page, and asks that page's live part
again as often as the page says. Web, worker and Valkey are those that `make run` starts.
"""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from html import unescape
from pathlib import Path

import httpx

from reviewer import review
from tests.e2e.running import platform
from tests.e2e.site import ROOT, Site

ROUNDS = 9
WORD = "finding stops this file"
WORDS = "findings stop this file"
FORM = "/competitions/quick/phases/open/submit/"
SCRIPT = (ROOT / "deploy" / "demo" / "scripts" / "knobs.py").read_text()


def browser(site: Site) -> httpx.Client:
    """Return a client that is logged in as the site's competitor."""
    client = httpx.Client(base_url=site.url, follow_redirects=True, timeout=30)
    _send(client, "/accounts/login/", {"login": "carl", "password": "a long enough password"})
    return client


def _send(client: httpx.Client, address: str, fields: dict[str, str]) -> httpx.Response:
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', client.get(address).text)
    assert token
    return client.post(
        address, data={**fields, "csrfmiddlewaretoken": token[1]}, headers={"Referer": str(client.base_url)}
    )


def upload_to_word(client: httpx.Client, token: str, script: str) -> float:
    """Return the seconds from the form's POST to a page or part that says what the audit found."""
    fields = {"csrfmiddlewaretoken": token, "text": script, "launch": "python train.py", "note": ""}
    start = time.perf_counter()
    answer = client.post(FORM, data=fields, headers={"Referer": str(client.base_url)})
    assert "/submissions/" in str(answer.url), answer.text
    page = answer.text
    while WORD not in page and WORDS not in page:
        asks = re.search(r'hx-get="([^"]*/live/[^"]*)" hx-trigger="[^"]*every (\d+)(m?s)', page)
        assert asks, "the page asks nothing more and said nothing"
        time.sleep(int(asks[2]) / (1000 if asks[3] == "ms" else 1))
        more = client.get(unescape(asks[1]), headers={"HX-Request": "true"})
        page = more.text or page
    return time.perf_counter() - start


def bare() -> float:
    """Return the seconds of the audit alone, in this process."""
    start = time.perf_counter()
    review(SCRIPT, isolated=False)
    return time.perf_counter() - start


def run() -> list[tuple[str, float, str]]:
    """Measure ROUNDS uploads of a script that the audit rejects, and as many audits of its text."""
    review("x = 1\n", isolated=False)  # imports the rules
    with tempfile.TemporaryDirectory() as folder, platform(Path(folder) / "site") as site:
        client = browser(site)
        page = client.get(FORM).text
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token
        taken = [upload_to_word(client, token[1], f"{SCRIPT}# {n}\n") for n in range(ROUNDS + 1)][1:]
    audit = statistics.median(bare() for _ in range(ROUNDS))
    middle, worst = statistics.median(taken), max(taken)
    lines = SCRIPT.count("\n")
    return [
        (
            "upload to the audit's word / one second",
            middle,
            f"median of {ROUNDS}, worst {worst:.2f}, {lines} lines, limit 1",
        ),
        ("upload to the audit's word / audit alone", middle / audit, f"the audit alone {1000 * audit:.0f} ms"),
    ]
