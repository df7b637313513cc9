"""Files as answers, in pieces: none is ever in memory as a whole."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

PIECE_BYTES = 256 * 1024


def download(request: HttpRequest, path: Path, name: str) -> StreamingHttpResponse:
    """Answer with a file under the name that it is to be kept under."""
    # Django gathers an iterator of the other kind whole before it sends a byte.
    pieces = _later(path) if isinstance(request, ASGIRequest) else _pieces(path)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Length": str(path.stat().st_size)}
    return StreamingHttpResponse(pieces, content_type="application/octet-stream", headers=headers)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


async def _later(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := await sync_to_async(file.read)(PIECE_BYTES):
            yield piece
