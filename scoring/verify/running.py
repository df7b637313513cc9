"""Runs one text for three steps in a sandbox, and reads what was noted of it.

Whatever the text does, this ends: when time or memory is up, or when both its output and the channel of the proof are
closed, which the end of the sandbox does to both.
"""

import json
import os
import select
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scoring.sandbox import box, interpreter
from scoring.sandbox.bwrap import HARNESS_INSIDE
from scoring.sandbox.meter import Meter
from scoring.sandbox.spec import Caps, Spec
from scoring.verify.place import Place

SECONDS = 300.0  # for one text; three steps of a large model on a CPU take their time
_MOST_SAID = 1 << 22
_LOOK_SECONDS = 0.5
_MEMORY = min(16 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4)
_CAPS = Caps(_MEMORY, 256, 1024, 1 << 30, 1 << 28, 1 << 30)


class Ended(Exception):
    """A text that did not come to its third step; the sentence says how it ended."""


@dataclass(frozen=True)
class Seen:
    """What was noted of one text: hashes, and for a model without an answer the kind of its error."""

    losses: tuple[str, ...]
    parameters: str
    training: tuple[str, ...]
    evaluation: tuple[str, ...]

    @classmethod
    def of(cls, said: bytes) -> "Seen":
        """Read what came through the channel. Raises ValueError for anything else: the text can write there."""
        try:
            found = json.loads(said)
            answers = found["answers"]
            return cls(
                _texts(found["losses"]), _text(found["parameters"]), _texts(answers["training"]),
                _texts(answers["evaluation"]),
            )  # fmt: skip
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError("this is no proof") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("this is no text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("this is no list")
    return tuple(map(_text, value))


def observed(place: Place, script: bytes, args: tuple[str, ...], env: Mapping[str, str], seconds: float) -> Seen:
    """Run one text for three steps and return what was noted. Raises Ended, and SandboxError for the host."""
    read, write = os.pipe()
    try:
        spec = Spec(
            name=f"verify.{uuid.uuid4().hex[:8]}",
            slot="trainer",
            argv=(interpreter.PYTHON, f"{HARNESS_INSIDE}/prove.py", str(write), *args),
            mounts=(*interpreter.mounts(), *place.mounts(script)),
            env={**interpreter.environment(1), **env},
            caps=_CAPS,
            cpus=(min(os.sched_getaffinity(0)),),
            keep_fds=(write,),
        )
        sandbox = box.start(spec)
        try:
            os.close(write)
            write = -1
            meter = Meter(sandbox, spec.cpus, time.monotonic())
            sandbox.go()
            said, log = _heard(read, sandbox.output, meter, seconds)
        finally:
            sandbox.close()
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)
    if not said:
        last = log.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise Ended("ended before its third step" + (f"; the last that it said: {last[0][:200]}" if last else ""))
    try:
        return Seen.of(said)
    except ValueError:
        raise Ended("wrote something else where its proof belongs") from None


def _heard(channel: int, output: int, meter: Meter, seconds: float) -> tuple[bytes, bytes]:
    """Read the proof and the end of the log until both are closed. Raises Ended when time or memory is up."""
    said: dict[int, bytes] = {channel: b"", output: b""}
    waiting, until = {channel, output}, time.monotonic() + seconds
    look = 0.0
    while waiting:
        now = time.monotonic()
        if now >= until:
            raise Ended(f"did not come to a third step within {seconds:.0f} s")
        if now >= look:
            look = now + _LOOK_SECONDS
            if meter.memory_now() > _MEMORY:
                raise Ended(f"needs more than {_MEMORY >> 30} GB")
        for fd in select.select(list(waiting), [], [], _LOOK_SECONDS)[0]:
            chunk = os.read(fd, 65_536)
            if not chunk:
                waiting.discard(fd)
            said[fd] = (said[fd] + chunk)[-_MOST_SAID if fd == channel else -4096 :]
    return said[channel], said[output]
