"""Uses a small site while its disk is full, and prints what came of it as JSON: a program of its own for its test.

    python -m tests.leaderboard.core.fulldisk FOLDER

The state folder is HOLDOUT_HOME. FOLDER, on which the database lies, is a small disk already, or becomes one here.
"""

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import django

from tests.smalldisk import SmallDisk, small_disk

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")


def use(disk: SmallDisk) -> dict[str, Any]:
    """Send and read with room, without, and with room again."""
    from django.core.files.uploadedfile import SimpleUploadedFile
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.test.utils import setup_test_environment

    from leaderboard.core.keptopen import keep_open
    from leaderboard.ledger.services import verify
    from leaderboard.submissions.models import Submission
    from tests.leaderboard.cast import SCRIPT, make_competition, make_user, token
    from tests.leaderboard.host import Host, queue, send

    setup_test_environment()
    call_command("migrate", verbosity=0)
    ada, demo = make_user(), make_competition()
    queue(send(ada, demo))
    work, bearer = Host.register().claim_next(), {"Authorization": f"Bearer {token(ada)}"}
    fresh = {"Authorization": f"Bearer {token(ada)}"}  # its first use is not noted yet
    browser = Client(raise_request_exception=False)
    browser.force_login(ada)
    number = 0

    def script() -> SimpleUploadedFile:
        nonlocal number
        number += 1
        return SimpleUploadedFile("train.py", (SCRIPT + f"\n# {number} {os.urandom(60_000).hex()}\n").encode())

    def by_api() -> Any:
        fields = {"competition": "demo", "phase": "open", "script": script()}
        return browser.post("/api/v1/submissions", fields, headers=bearer)

    def by_page() -> Any:
        return browser.post("/competitions/demo/phases/open/submit/", {"script": script(), "note": "my method"})

    def facts(*, fill: bool) -> dict[str, Any]:
        while fill and by_api().status_code == 201:  # pages of the tables that were free already
            pass
        before = Submission.objects.count()
        api, page = by_api(), by_page()
        return {
            "api": [api.status_code, api.json().get("code"), api.json().get("message")],
            "page": [page.status_code, page.content.decode()],
            "other": other_page(fill=fill),
            "board": browser.get("/competitions/demo/phases/open/").status_code,
            "kept": Submission.objects.count() - before,
            "ledger": verify().ok,
        }

    def other_page(*, fill: bool) -> list[Any]:
        while True:
            made = browser.post("/tokens/", {"name": "x" * 60, "days": 9})
            if made.status_code != 200 or not fill:
                return [made.status_code, made.content.decode()]

    def read_alone() -> int:
        connection.close()
        return browser.get("/competitions/demo/phases/open/").status_code

    found: dict[str, Any] = {}
    connection.close()
    with disk.full():
        found["alone"] = read_alone()
    keep_open()
    connection.close()
    with disk.full():
        found["kept_open"] = read_alone()
        found["full"] = facts(fill=True)
        found["log"] = log_of(work, b"step 1\n" * 10_000)
        found["reads"] = browser.get("/api/v1/me", headers=fresh).status_code
    found["room"] = facts(fill=False)
    found["log_after"] = log_of(work, b"step 1\n" * 10_000)
    return found


def log_of(work: Any, data: bytes) -> list[Any]:
    answer = work.log(0, data)
    return [answer.status_code, answer.json().get("code"), answer.json().get("size")]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with ExitStack() as stack:
        given = SmallDisk(folder) if (folder / ".disk").exists() else stack.enter_context(small_disk(folder))
        django.setup()
        print(json.dumps(use(given)))
