"""Agents and their keys: only the SHA-256 of a key is kept; it is 256 random bits, so it cannot be searched for."""

import secrets

from django.utils import timezone

from leaderboard.core.errors import Refusal
from leaderboard.core.secrets import digest
from leaderboard.ledger import services as ledger
from leaderboard.runs.models import Agent

PREFIX = "agent_"


def add(*, name: str, hardware: str) -> str:
    """Make an agent for a hardware class, or give an existing one a new key; return the key, shown only now.

    Call it inside a transaction: the ledger remembers it.
    """
    key = PREFIX + secrets.token_urlsafe(32)
    fields = {"hardware": hardware, "digest": digest(key), "revoked": False}
    agent, _ = Agent.objects.update_or_create(name=name, defaults=fields)
    ledger.append(kind="agent.key", subject=f"agent:{agent.pk}", data={"key_sha256": agent.digest})
    return key


def of_key(text: str) -> Agent:
    """Return the agent with this key and note that it was seen. Raises Refusal not_authenticated (401)."""
    agent = Agent.objects.filter(digest=digest(text), revoked=False).first()
    if agent is None:
        raise Refusal("not_authenticated", "No agent has this key.", 401)
    Agent.objects.filter(pk=agent.pk).update(last_seen=timezone.now())
    return agent
