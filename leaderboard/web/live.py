"""Live parts of a page: a block that asks for itself again until there is nothing more to wait for.

The block's address carries a hash of what the reader has. While that is still so the answer is 204 and htmx leaves the
page alone: no flicker, no lost focus, nothing read out again. In a final state the block comes without a timer.
"""

import hashlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe


@dataclass(frozen=True)
class Block:
    """A rendered live part; `tag` changes when its content does."""

    html: SafeString
    tag: str


def tag_of(stamp: str) -> str:
    """Return the short hash by which an address names what the reader has."""
    return hashlib.sha256(stamp.encode("utf-8", "replace")).hexdigest()[:16]


def block(
    request: HttpRequest,
    name: str,
    template: str,
    context: dict[str, Any],
    *,
    url: str,
    every: float | None,
    stamp: str,
    **known: object,
) -> Block:
    """Render a template as the live part `name`, asking `url` again every so many seconds; None: never again.

    `stamp` is whatever the part is made from, as text: the part has changed when it has. `known` goes along with the
    question.
    """
    body = render_to_string(template, context, request)
    tag = tag_of(stamp)
    if every is None:
        return Block(format_html('<div id="{}">{}</div>', name, mark_safe(body)), tag)  # noqa: S308 - a template's output
    html = format_html(
        '<div id="{}" hx-get="{}?{}" hx-trigger="every {}ms" hx-swap="outerHTML">{}</div>',
        name,
        url,
        urlencode({**known, "seen": tag}),
        round(1000 * every),
        mark_safe(body),  # noqa: S308 - a template's output
    )
    return Block(html, tag)
