"""Messages to the queues: a task's name and one id, sent after the transaction that made them true.

A message may be lost and may come twice. Losing one is repaired by the reaper, which reads the database; a second one
finds nothing left to do. So a broker that is down never fails the request that wanted to send.
"""

import logging
from functools import partial

from django.db import transaction

PLATFORM = "platform"
log = logging.getLogger(__name__)


def send(task: str, pk: int, *, queue: str = PLATFORM) -> bool:
    """Send one message now and return whether the broker took it."""
    from leaderboard.celery import app

    try:
        app.send_task(task, args=[pk], queue=queue, retry=False, ignore_result=True)
    except Exception as error:  # every broker library has its own kinds; whatever it is, the reaper sends again
        log.warning("%s [%s] was not sent to %s, the reaper will: %s", task, pk, queue, error)
        return False
    return True


def send_after_commit(task: str, pk: int, *, queue: str = PLATFORM) -> None:
    """Send one message when the surrounding transaction has committed; at once where there is none."""
    transaction.on_commit(partial(send, task, pk, queue=queue))
