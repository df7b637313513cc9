"""Refusals: what a person gets told.

    Refusal(code, message, status, **data)
      raised by services; the API answers {"code", "message", …data} with the status, pages show the message.

A Refusal's message is always safe to show to whoever caused it. Every other exception is a fault of ours.
"""

from typing import Any


class Refusal(Exception):
    """One clear sentence for the person who asked, with a code for programs and data that go with it."""

    def __init__(self, code: str, message: str, status: int = 400, **data: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.data = code, message, status, data

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, **self.data}
