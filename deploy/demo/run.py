"""`make run`: the whole platform on this machine, with a demo competition and one baseline that trains as you watch.

What is slow is done once and kept in the state folder; a second start only checks it. Everything that was started
ends with this process, however it ends. A competition file of your own can be named on the command line.
"""

import os
import signal
import sys
from pathlib import Path

from people import demo_people
from processes import AlreadyRunning, Processes
from show import show_baseline
from steps import Failed, manage, say

from leaderboard.env import PROJECT, env

COMPETITION = PROJECT / "deploy" / "demo" / "competition.toml"


def prepare(home: Path, competition: Path | None) -> None:
    """Bring the state folder to where the site can start: database, corpus, shards, competition, agent's key.

    A file that was named is loaded. The shipped one is loaded once: an organizer may have loaded another in its place.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    manage("Database", "migrate", "--verbosity", "0")
    manage("Demo corpus", "corpus", "harvest", "--name", "demo")
    manage("Tokenizer and shards", "shards", "build", "--set", "demo", "--corpus", "demo")
    manage(
        "Competition",
        "competition",
        "load",
        *([str(competition)] if competition else [str(COMPETITION), "--unless-there"]),
    )
    manage("This host's agent", "agent", "add", env().agent_name, "--hardware", env().agent_hardware)


def serve(home: Path, port: int, once: bool) -> int:
    """Start every process, show the baseline's way to the board, and stay until Ctrl-C. Return the exit status."""
    url = env().public_url
    say("· Services (web, worker, beat, agent, Valkey: a few seconds)")
    with Processes(home, port) as processes:
        processes.wait_until_ready(url)
        people, token = demo_people(home, url)
        say(f"\nHoldout is at {url}")
        for person in people:
            say(f"  {person.role:<11} {person.username:<6} password {person.password}")
        say("")
        ranked = show_baseline(url, token)
        if once:
            return 0 if ranked else 1
        say(f"\nServing at {url} until Ctrl-C. Logs: {home / 'logs'}")
        processes.wait()
    return 0


def main() -> int:
    """Read PORT and ONCE, then prepare and serve."""
    port, once = int(os.environ.get("PORT", "8000")), os.environ.get("ONCE", "") not in ("", "0")
    os.environ["HOLDOUT_PUBLIC_URL"] = f"http://127.0.0.1:{port}"
    for polite in (signal.SIGTERM, signal.SIGINT):  # a shell's background job is started with SIGINT ignored
        signal.signal(polite, signal.default_int_handler)
    home, competition = env().home, Path(sys.argv[1]) if len(sys.argv) > 1 else None
    try:
        prepare(home, competition)
        return serve(home, port, once)
    except (Failed, AlreadyRunning) as failed:
        say(str(failed), to=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say("\nStopped. `make run` goes on from here.")
        return 130 if once else 0


if __name__ == "__main__":
    sys.exit(main())
