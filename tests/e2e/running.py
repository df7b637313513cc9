"""Starts a whole platform on a small corpus, for everything that wants real processes: tests, browsers, benches."""

import ast
import json
import os
import pydoc_data.topics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.site import COMPETITION, Site, free_port, manage
from tests.servers import broker_binary, environ_of

COMPETITOR, PASSWORD = "carl", "a long enough password"
MAKE_COMPETITOR = f"""
from leaderboard.accounts.models import User
from leaderboard.accounts.services import issue_token
user = User.objects.create_user("{COMPETITOR}", "{COMPETITOR}@example.org", "{PASSWORD}")
print("TOKEN", issue_token(user=user, name="tests", days=1)[1])
"""


def small_corpus(path: Path) -> None:
    """Write the standard library's own documentation as documents, a megabyte and a half of English."""
    texts = list(pydoc_data.topics.topics.values())
    for source in sorted(Path(ast.__file__).parent.glob("*.py")):
        tree = ast.parse(source.read_text("utf-8"))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
        texts += [text for node in nodes if (text := ast.get_docstring(node)) and len(text) > 200]
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


@contextmanager
def platform(home: Path) -> Iterator[Site]:
    """Let a site with the competition "quick" run in the state folder `home`, which is new or an empty disk's."""
    import processes  # deploy/demo, put on the path by tests.e2e.site

    # What is lost is noticed sooner than on a real site.
    os.environ |= {"HOLDOUT_LEASE_SECONDS": "5", "HOLDOUT_REAP_SECONDS": "1", "HOLDOUT_AUDIT_SECONDS": "5"}
    home.mkdir(mode=0o700, exist_ok=True)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    small_corpus(home / "corpus" / "tiny.jsonl")
    manage(home, "migrate", "--verbosity", "0")
    manage(home, "shards", "build", "--set", "tiny", "--corpus", "tiny", "--held-out-bytes", "40000")
    manage(home, "competition", "load", str(COMPETITION))
    manage(home, "agent", "add", "local", "--hardware", "cpu")
    token = manage(home, "shell", "--no-imports", "--command", MAKE_COMPETITOR).split("TOKEN ")[1].strip()
    os.environ |= environ_of(home)
    processes.get_binary_path = broker_binary
    with processes.Processes(home, port) as running:
        running.wait_until_ready(url)
        yield Site(home, url, token)
