"""Dora, of the competitor's team, at a browser without scripts: with a session cookie and each form's own CSRF token.

She is somebody else than the person with the token because each person may send so much within ten minutes, and all of
the tests together send more.
"""

import re
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from tests.e2e.running import COMPETITOR, PASSWORD
from tests.e2e.site import Site, manage
from tests.leaderboard.web.pages import text

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
ADDRESS = re.compile(r"/submissions/(\d+)/")


JOIN = """
from leaderboard.accounts.models import Membership, User
from leaderboard.accounts.services import ensure_team
from leaderboard.competitions.models import Competition
contest = Competition.objects.get(slug="{competition}")
team = ensure_team(user=User.objects.get(username="{competitor}"), competition=contest)
dora = User.objects.filter(username="dora").first()
dora = dora or User.objects.create_user("dora", "dora@example.org", "{password}")
Membership.objects.create(user=dora, team=team, competition=contest)
"""


def join(site: Site, competition: str) -> None:
    """Make Dora, if she is not there, and put her in the competitor's team of a competition."""
    words = JOIN.format(competition=competition, competitor=COMPETITOR, password=PASSWORD)
    manage(site.home, "shell", "--no-imports", "--command", words)


@dataclass
class Desk:
    """One session with the site."""

    http: httpx.Client

    @classmethod
    def at(cls, url: str) -> "Desk":
        """Log in as somebody who is there."""
        desk = cls(httpx.Client(base_url=url, timeout=60))
        entered = desk.post("/accounts/login/", {"login": "dora", "password": PASSWORD})
        assert entered.status_code == 302, entered.text
        return desk

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()

    def read(self, address: str) -> str:
        """Return what a page says."""
        page = self.http.get(address)
        assert page.status_code == 200, page.text
        return text(page)

    def submission(self, number: int) -> str:
        """Return what a submission's page says."""
        return self.read(f"/submissions/{number}/")

    def post(self, address: str, fields: dict[str, str], *, form: str = "", **more: Any) -> httpx.Response:
        """Send the form that stands at an address, or at the address `form`, to it."""
        token = TOKEN.search(self.http.get(form or address).text)
        assert token, f"there is no form at {form or address}"
        return self.http.post(address, data={**fields, "csrfmiddlewaretoken": token[1]}, **more)

    def upload(
        self,
        script: bytes,
        *,
        competition: str = "quick",
        phase: str = "open",
        launch: str = "python train.py",
        note: str = "",
    ) -> httpx.Response:
        """Send a script as a chosen file; a phase that is closed has no form any more, only somebody's open tab."""
        fields = {"text": "", "launch": launch, "note": note}
        files = {"script": ("train.py", script, "text/x-python")}
        address = f"/competitions/{competition}/phases/{{}}/submit/"
        return self.post(address.format(phase), fields, form=address.format("open"), files=files)

    def sent(self, script: bytes, **more: str) -> int:
        """Send a script that is taken in and return the number of its submission."""
        reply = self.upload(script, **more)
        assert reply.status_code == 302, text(reply)
        number = ADDRESS.fullmatch(reply.headers["Location"])
        assert number, reply.headers["Location"]
        return int(number[1])


def plain(sentence: str) -> str:
    """Return a sentence without its backticks, which some places of a page draw, and with single blanks."""
    return " ".join(sentence.replace("`", "").split())
