"""kill -9 of each process while a submission is under way: it still ends where it should."""

import threading
from typing import Any

import pytest

from tests.e2e.scripts import HANGS
from tests.e2e.site import Site, last_event

SLOW = HANGS.replace(
    "while True:\n        pass", 'torch.save(Bigram().state_dict(), "out/final.pt")\n    import time\n    time.sleep(1)'
)


def ended_while(site: Site, script: str, program: str, state: str) -> dict[str, Any]:
    """Submit, kill `program` when the submission is in `state`, and return the CLI's last event."""
    sent: list[Any] = []
    thread = threading.Thread(target=lambda: sent.append(site.submit(script, name=f"{program}-{state}.py")))
    thread.start()
    killed = False
    while thread.is_alive():
        if not killed and _newest_state(site) == state:
            site.kill(program)
            killed = True
        thread.join(0.05)
    assert killed, f"never seen in {state}"
    return last_event(sent[0])


def _newest_state(site: Site) -> str:
    rows = site.ask("select state from submissions_submission order by id desc limit 1")
    return str(rows[0][0]) if rows else ""


MOMENTS = [
    (program, state) for program in ("web", "worker", "agent", "beat", "valkey") for state in ("running", "scoring")
]


@pytest.mark.parametrize(("program", "state"), [("worker", "auditing"), ("web", "auditing"), *MOMENTS])
def test_a_killed_process_costs_time_and_nothing_else(site: Site, program: str, state: str) -> None:
    event = ended_while(site, SLOW + f"\n# {program} {state}\n", program, state)
    assert event["event"] == "ranked", event
