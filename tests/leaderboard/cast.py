"""The cast of the platform's tests: people, teams and competitions, each ready in one call.

    ada = make_user()                                     a competitor, "ada" unless named
    demo = make_competition()                             one open phase "open", two-second budget, no corpus needed
    demo = make_competition(quota={"submissions": 1}, runs=3, opens=later(hours=1))
    phase = make_phase(demo, "final", opens=…, closes=…)
    team = make_team(demo, ada)
    headers = {"Authorization": f"Bearer {token(ada)}"}

Phase overrides name a key of `PhaseSpec` (tables are merged with the test's defaults), or slug, title, opens, closes.
"""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.utils import timezone

from leaderboard.accounts.models import Team, User
from leaderboard.accounts.services import ensure_team, issue_token
from leaderboard.competitions import seeds
from leaderboard.competitions.models import Competition, Kit, Phase, Policy, ShardSet
from leaderboard.competitions.spec import PhaseSpec

PASSWORD = "a long password of a test"
NAMES = ("ada", "bob", "cleo", "dan", "eve", "finn", "gil", "hana")
_number = count(1)

POLICY: dict[str, Any] = {
    "version": "1",
    "max_bytes": 262_144,
    "rules": dict.fromkeys(("K101", "E201", "E204", "D301", "S401", "T901", "T902"), "reject"),
    "allow_env": ["TOKENIZERS_PARALLELISM"],
}

SPEC: dict[str, Any] = {
    "budget": {"seconds": 2, "startup_cap_seconds": 20, "excluded_steps": 2, "term_seconds": 1, "threads": 1},
    "launch": {"processes": [1, 2], "env": {"TOKENIZERS_PARALLELISM": ["true", "false"]}},
    "quota": {"submissions": 20, "per": "day"},
    "advance": 10,
}

# The smallest script that the audit accepts, and one that it rejects for K101 on its last line but one.
SCRIPT = '''\
"""Learns nothing, but is whole."""

import torch


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(1024, 1024)

    def forward(self, tokens):
        return self.table(tokens)


def load_for_eval(checkpoint_path, device):
    model = Model()
    model.load_state_dict(torch.load(checkpoint_path, map_location=device, weights_only=True))
    return model.eval()


def main():
    from prepare import record_step_boundary

    model = Model()
    for step in range(3):
        record_step_boundary(step)
    torch.save(model.state_dict(), "out/final.pt")


if __name__ == "__main__":
    main()
'''
KNOBS = SCRIPT.replace("import torch\n", "import os\n\nimport torch\n", 1).replace(
    "    for step in range(3):", '    for step in range(int(os.environ.get("STEPS", "3"))):'
)


def later(**delta: float) -> datetime:
    """Return now and so much more; negative numbers look back."""
    return timezone.now() + timedelta(**delta)


def make_user(username: str | None = None, *, organizer: bool = False, **fields: Any) -> User:
    """Return a person who logs in with PASSWORD; `organizer=True` makes them staff."""
    if username is None:
        taken = set(User.objects.filter(username__in=NAMES).values_list("username", flat=True))
        username = next((name for name in NAMES if name not in taken), None) or f"person-{next(_number)}"
    fields.setdefault("email", f"{username}@example.org")
    return User.objects.create_user(username=username, password=PASSWORD, is_staff=organizer, **fields)


def make_shards(name: str = "demo") -> ShardSet:
    """Return a shard set whose manifest has the shape of a built one; there are no files behind it."""

    def part(letter: str) -> dict[str, Any]:
        return {"commitment": letter * 64, "documents": 60, "bytes": 150_000, "tokens": 62_000}

    manifest = {
        "schema": 1,
        "set": name,
        "seed": 1,
        "vocab_size": 1024,
        "bos": 0,
        "tokenizer_sha256": "1" * 64,
        "token_bytes_sha256": "2" * 64,
        "gate_files": 1,
        "train": {
            "files": [{"name": f"00{i}.bin", "tokens": 1000, "sha256": str(i) * 64} for i in range(3)],
            "documents": 500,
            "bytes": 7200,
            "tokens": 3000,
        },
        "dev": {"file": "dev.bin", "tokens": 500, "documents": 40, "bytes": 1200},
        "public": part("a"),
        "private": part("b"),
        "overlap": {},
    }
    fields = {"manifest": manifest, "manifest_sha256": "c" * 64}
    return ShardSet.objects.get_or_create(name=name, defaults=fields)[0]


def make_competition(slug: str | None = None, *, policy: dict[str, Any] | None = None, **phase: Any) -> Competition:
    """Return a competition with one phase, called "open" and open since an hour unless overrides say otherwise."""
    if slug is None:
        slug = "demo" if not Competition.objects.filter(slug="demo").exists() else f"contest-{next(_number)}"
    competition = Competition.objects.create(
        slug=slug,
        title=slug.capitalize(),
        description="A contest of the tests.",
        kit=Kit.objects.get_or_create(sha256="d" * 64, defaults={"version": "1"})[0],
        shards=make_shards(),
        file_sha256="e" * 64,
    )
    Policy.objects.create(competition=competition, number=1, body=POLICY if policy is None else policy)
    make_phase(competition, **phase)
    return competition


def make_phase(competition: Competition, slug: str = "open", **overrides: Any) -> Phase:
    """Add a phase behind the others of a competition."""
    fields = {
        "title": overrides.pop("title", slug.capitalize()),
        "opens": overrides.pop("opens", later(hours=-1)),
        "closes": overrides.pop("closes", later(days=7)),
        "released_at": overrides.pop("released_at", None),
    }
    phase = Phase.objects.create(
        competition=competition,
        slug=slug,
        position=competition.phases.count(),
        spec=PhaseSpec.model_validate(merged(SPEC, overrides)).model_dump(mode="json"),
        **fields,
    )
    seeds.draw(phase)
    return phase


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return `base` with `over` laid on it, table by table."""
    both = dict(base)
    for key, value in over.items():
        below = both.get(key)
        both[key] = {**below, **value} if isinstance(below, dict) and isinstance(value, dict) else value
    return both


def make_team(competition: Competition, *members: User, name: str | None = None) -> Team:
    """Return a team of these people, or of one new person; members after the first are added to the first one's."""
    from leaderboard.accounts.models import Membership

    first, *rest = members or (make_user(),)
    team = ensure_team(user=first, competition=competition, name=name)
    for user in rest:
        Membership.objects.create(user=user, team=team, competition=competition)
    return team


def token(user: User, *, days: int = 90) -> str:
    """Return the text of a fresh API token."""
    return issue_token(user=user, name="test", days=days)[1]
