"""The agent's Celery application: `celery --app leaderboard.agent.app worker --pool solo`.

One process, one run at a time (`solo`): whoever kills it kills the run with it, and nothing that half-lives can go
on using the hardware. Messages carry an attempt's id and nothing else; they are acknowledged when they arrive,
because the database, not the queue, remembers what is still to be done.
"""

import fcntl
from typing import IO, Any

from celery import Celery
from celery.signals import celeryd_init

from leaderboard.agent.execute import Host, execute_attempt
from leaderboard.agent.platform import Platform
from leaderboard.env import env
from scoring.sandbox import runfolder
from scoring.sandbox.seal import remove_tree
from scoring.sandbox.spec import SandboxError

# No fixups: a DJANGO_SETTINGS_MODULE that happens to be set must not bring the site, and its database, in here.
app = Celery("holdout-agent", broker=env().broker, fixups=[])
app.conf.update(
    task_ignore_result=True,
    task_default_queue=f"hw.{env().agent_hardware}",
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"socket_keepalive": True},
)
_locks: list[IO[str]] = []  # held open as long as this process lives


@celeryd_init.connect  # type: ignore[untyped-decorator]
def claim_this_host(**_: Any) -> None:
    """Make sure that this is the host's only agent, then clear what a killed one may have left.

    Raises SystemExit when another agent lives, since two would share devices and run folders, and when something
    cannot be cleared. (Celery only logs other exceptions from here, and would go on.)
    """
    host = Host.below(env().home)
    try:
        host.prepare()
        lock = (host.folder / "agent.lock").open("w")
    except OSError as error:
        raise SystemExit(f"An agent cannot work in {host.folder}: {error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(f"Another agent already works in {host.folder}.") from None
    _locks.append(lock)
    try:
        runfolder.clear(host.runs_dir)
        half_sealed = (host.folder / "checkpoints").glob(".incoming-*")
        for folder in (host.folder / "jobs", host.folder / "logs", *half_sealed):
            remove_tree(folder)
        host.prepare()
    except (OSError, SandboxError) as error:
        raise SystemExit(f"What an earlier agent left in {host.folder} cannot be cleared: {error}") from error


@app.task(name="agent.execute")  # type: ignore[untyped-decorator]
def execute(attempt_id: int) -> None:
    """Carry out one attempt, if the platform still wants it."""
    host = Host.below(env().home)
    key = (host.folder / "agent.key").read_text().strip()
    with Platform(env().public_url, key) as platform:
        execute_attempt(platform, host, int(attempt_id))
