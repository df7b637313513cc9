"""Runs on this host: one runner process, its events read as they come.

The runner dies with the thread that started it (it asks the kernel for that), so start runs from the main thread of a
process that lives as long as the run should.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

HOST_FAULT = "the host could not carry out the run"
HOST_FULL = 4  # exit status of a runner that found no room on the disk
STDERR_KEPT = 4000


@dataclass
class LocalRun:
    """A runner process on this host."""

    process: subprocess.Popen[str]
    receipt: dict[str, Any] | None = None
    _events: "queue.SimpleQueue[dict[str, Any]]" = field(default_factory=queue.SimpleQueue)
    _errors: str = ""
    _readers: list[threading.Thread] = field(default_factory=list)

    @classmethod
    def start(cls, job_path: Path, signing_key: str) -> Self:
        """Start the runner on a job file; the signing key (hex) goes over standard input, never through a file."""
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "scoring.runner", "--parent", str(os.getpid()), str(job_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        run = cls(process)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(signing_key + "\n")
        process.stdin.close()
        for read, stream in ((run._read_events, process.stdout), (run._read_errors, process.stderr)):
            reader = threading.Thread(target=read, args=(stream,), daemon=True)
            reader.start()
            run._readers.append(reader)
        return run

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether the run has ended and everything it said has been read."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        for reader in self._readers:
            reader.join(5)
        return True

    def take_events(self) -> list[dict[str, Any]]:
        """Return the events that came since the last call, oldest first."""
        taken = []
        while not self._events.empty():
            taken.append(self._events.get())
        return taken

    def cancel(self) -> None:
        """Ask the runner to stop; it still writes a receipt."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Make sure that nothing is left; harmless after a proper end."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def outcome(self) -> dict[str, Any]:
        """Return `{"receipt", "signature"}`, or `{"fault": sentence}` when there is none. Call after the end.

        A fault whose `cause` is known goes with that outcome's code.
        """
        if self.receipt is not None:
            return {"receipt": self.receipt["receipt"], "signature": self.receipt["signature"]}
        said = self._errors.strip().splitlines()
        fault = {"fault": said[-1][:500] if said else f"{HOST_FAULT} (exit {self.process.returncode})"}
        return fault | ({"cause": "host_full"} if self.process.returncode == HOST_FULL else {})

    def _read_events(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                event = json.loads(line)
                if event.get("event") == "receipt":
                    self.receipt = event
                self._events.put(event)

    def _read_errors(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._errors = (self._errors + line)[-STDERR_KEPT:]
