"""Settings that do not go together, as Django system checks: each has an id, says what is wrong and what to do.

Errors stop every `manage.py` command; warnings are printed. Single values are judged in `env.py`.
"""

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from django.core.checks import CheckMessage, Error, Tags, Warning, register

from leaderboard.env import Env, env
from reviewer.child import WALL_SECONDS


@register(Tags.security)
def settings_fit(app_configs: Any = None, **_: Any) -> list[CheckMessage]:
    """Judge this process's settings."""
    return problems(env())


def problems(env: Env) -> list[CheckMessage]:
    """Return what does not fit in these settings."""
    return [*_address(env), *_mail(env), *_state(env), *_times(env)]


def _address(env: Env) -> list[CheckMessage]:
    url = urlsplit(env.public_url)
    if url.scheme not in ("http", "https") or not url.hostname or url.path or url.query or url.fragment:
        return [
            Error(
                f"HOLDOUT_PUBLIC_URL is {env.public_url!r}, which is not an address such as https://contest.example.org.",
                hint="Give scheme and host, and a port where it is not the usual one; no path and no slash at the end.",
                id="holdout.E001",
            )
        ]
    found: list[CheckMessage] = []
    hosts = [host.strip() for host in env.allowed_hosts.split(",")]
    if not any(_allows(host, url.hostname) for host in hosts):
        found.append(
            Error(
                f"The site is at {url.hostname}, but HOLDOUT_ALLOWED_HOSTS does not answer to that name.",
                hint=f"Add {url.hostname} to HOLDOUT_ALLOWED_HOSTS.",
                id="holdout.E002",
            )
        )
    if is_loopback(url.hostname):
        return found
    if env.debug:
        found.append(
            Error(
                "HOLDOUT_DEBUG is on at an address that others can reach; its pages show settings and source.",
                hint="Unset HOLDOUT_DEBUG, or set HOLDOUT_PUBLIC_URL to a loopback address.",
                id="holdout.E003",
            )
        )
    if url.scheme == "http":
        found.append(
            Warning(
                "Passwords and tokens cross the network readable: HOLDOUT_PUBLIC_URL is http:// and not on this host.",
                hint="Put a server that speaks TLS in front, and set HOLDOUT_PUBLIC_URL to its https:// address.",
                id="holdout.W001",
            )
        )
    if "*" in hosts:
        found.append(
            Warning(
                "HOLDOUT_ALLOWED_HOSTS holds *, so whoever sends a request chooses the host in links that we mail.",
                hint=f"Name the hosts, for example {url.hostname}.",
                id="holdout.W002",
            )
        )
    return found


def _mail(env: Env) -> list[CheckMessage]:
    if env.email_verification == "none" or env.email_url:
        return []
    kind = Error if env.email_verification == "mandatory" else Warning
    return [
        kind(
            f"HOLDOUT_EMAIL_VERIFICATION is {env.email_verification}, but no mail leaves this host.",
            hint="Set HOLDOUT_EMAIL_URL, or set HOLDOUT_EMAIL_VERIFICATION to none.",
            id="holdout.E004" if kind is Error else "holdout.W003",
        )
    ]


def _state(env: Env) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    if env.home.is_dir() and env.home.stat().st_mode & 0o077:
        found.append(
            Error(
                f"Others on this host can enter {env.home}, which holds keys and sealed shards.",
                hint=f"chmod 700 {env.home}",
                id="holdout.E005",
            )
        )
    broker = urlsplit(env.broker)
    if env.database.startswith("sqlite:") and broker.hostname and not is_loopback(broker.hostname):
        found.append(
            Warning(
                f"The queue is on {broker.hostname}, for several hosts, but the database is a SQLite file on this one.",
                hint="Set HOLDOUT_DATABASE_URL to a PostgreSQL server, or keep web and worker on this host alone.",
                id="holdout.W004",
            )
        )
    return found


def _times(env: Env) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    lease, beat, look = f"{env.lease_seconds} s", f"{env.heartbeat_seconds:g} s", f"{env.reap_seconds:g} s"
    if env.heartbeat_seconds * 3 > env.lease_seconds:
        found.append(
            Error(
                f"A lease of {lease} is over before three heartbeats of {beat} each, so one lost message loses a run.",
                hint="Raise HOLDOUT_LEASE_SECONDS or lower HOLDOUT_HEARTBEAT_SECONDS.",
                id="holdout.E006",
            )
        )
    if env.reap_seconds >= env.lease_seconds:
        found.append(
            Error(
                f"The reaper looks every {look}, and a lease is {lease}: it takes every pause between two looks for an "
                "outage, and never takes a lease back.",
                hint="Raise HOLDOUT_LEASE_SECONDS or lower HOLDOUT_REAP_SECONDS.",
                id="holdout.E007",
            )
        )
    if env.audit_seconds <= WALL_SECONDS:
        found.append(
            Warning(
                f"An audit is started again after {env.audit_seconds} s, but one may last {WALL_SECONDS:g} s: a "
                "busy host audits the same script twice at once.",
                hint=f"Set HOLDOUT_AUDIT_SECONDS to more than {WALL_SECONDS:g}.",
                id="holdout.W005",
            )
        )
    return found


def is_loopback(host: str) -> bool:
    """Return whether a host name means this machine and cannot be reached from another."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _allows(pattern: str, host: str) -> bool:
    if pattern.startswith("."):
        return host == pattern[1:] or host.endswith(pattern)
    return pattern in ("*", host)
