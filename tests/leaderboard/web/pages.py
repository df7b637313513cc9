"""Reads pages as people do: what stands in an element, without its tags."""

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

from django.test import Client

VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])


def browser(user: Any = None) -> Client:
    """Return a client, logged in as `user`, that checks CSRF tokens as a site does."""
    client = Client(enforce_csrf_checks=False)
    if user is not None:
        client.force_login(user)
    return client


def text(response: Any) -> str:
    """Return the page's text with single blanks."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", response.content.decode(), flags=re.DOTALL)
    body = re.sub(r"</?(a|b|code|em|span|strong|time)\b[^>]*>", "", body)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


class Outline(HTMLParser):
    """Checks that elements close in order and ids are given once; keeps tags and their attributes."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(markup)
        self.close()
        self.faults += [f"<{tag}> is never closed" for tag in self.open]
        ids = [attrs["id"] for _, attrs in self.tags if "id" in attrs]
        self.faults += [f"id {name!r} stands twice" for name in {i for i in ids if ids.count(i) > 1}]
        fors = [attrs["for"] for tag, attrs in self.tags if tag == "label"]
        self.faults += [f"a label is for {name!r}, which is not there" for name in fors if name not in ids]
        described = [i for _, attrs in self.tags for i in (attrs.get("aria-describedby") or "").split()]
        self.faults += [f"{name!r} describes and is not there" for name in described if name not in ids]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else, line {self.getpos()[0]}")

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def outline(response: Any) -> Outline:
    return Outline(response.content.decode())
