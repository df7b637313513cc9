"""Typed settings of every Holdout process: the only reader of the environment.

Each field is one variable, `HOLDOUT_` and the name in capitals. A value that does not fit stops the process with
its name, before anything is opened.
"""

from functools import lru_cache
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

PROJECT = Path(__file__).resolve().parent.parent


class Env(BaseSettings):
    """What a host may set; everything has a default that suits one machine."""

    model_config = SettingsConfigDict(env_prefix="HOLDOUT_", frozen=True)

    home: Path = Field(default=PROJECT / "var", description="State folder: database, keys, shards, run folders, logs.")
    database_url: str = Field(default="", description="postgresql://…; empty: SQLite in the state folder.")
    broker_url: str = Field(default="", description="Celery broker; empty: Valkey on a socket in the state folder.")
    public_url: str = Field(default="http://127.0.0.1:8000", description="Address under which people reach the site.")
    allowed_hosts: str = Field(default="127.0.0.1,localhost", description="Host names the site answers to, by comma.")
    debug: bool = Field(default=False, description="Django's debug pages; never on a site that others can reach.")
    email_url: str = Field(default="", description="smtp, smtp+tls or smtps://user:password@host:port; empty: the log.")
    email_verification: str = Field(default="none", pattern="^(none|optional|mandatory)$", description="Of new people.")
    lease_seconds: int = Field(default=30, ge=2, description="An attempt without a sign of life for so long is lost.")
    heartbeat_seconds: float = Field(default=1.0, gt=0, description="How often an agent reports a running attempt.")
    reap_seconds: float = Field(default=2.0, gt=0, description="How often the reaper looks for what is stuck.")
    audit_seconds: int = Field(default=90, ge=1, description="An audit that takes longer is started again.")
    agent_name: str = Field(default="local", description="Name of this host's agent.")
    agent_hardware: str = Field(default="cpu", description="Hardware class whose queue this host's agent serves.")

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.home / 'db.sqlite3'}"

    @property
    def broker(self) -> str:
        return self.broker_url or f"redis+socket://{self.home / 'run' / 'valkey.sock'}"


@lru_cache(maxsize=1)
def env() -> Env:
    """Return this process's settings, read once."""
    return Env()
