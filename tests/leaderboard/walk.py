"""Every address that the site answers, read from its URL conf and its OpenAPI document, so that none is forgotten."""

import re
from collections.abc import Iterator
from typing import Any

from django.test import Client
from django.urls import get_resolver

from leaderboard.api.root import api

_CONVERTER = re.compile(r"<(?:\w+:)?(\w+)>")
_GROUP = re.compile(r"\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)")
# A form's token, which is new in every answer; a hash is of lower case.
_CSRF = re.compile(r"(?<![0-9A-Za-z])[0-9A-Za-z]{64}(?![0-9A-Za-z])(?<![0-9a-f]{64})")


def patterns() -> list[str]:
    """Return every pattern with its parameters as {name}."""
    found = [*_conf(get_resolver().url_patterns, "/"), *api.get_openapi_schema()["paths"]]
    return sorted(set(found))


def addresses(**values: list[Any]) -> list[str]:
    """Return every address with all of these values for parameters of their names. Fails on a name without values."""
    found: list[str] = []
    for pattern in patterns():
        made = [pattern]
        for name in re.findall(r"\{(\w+)\}", pattern):
            assert name in values, f"the walk has no value for {name} of {pattern}"
            made = [each.replace(f"{{{name}}}", str(value)) for each in made for value in values[name]]
        found += made
    return found


def _conf(urls: Any, prefix: str) -> Iterator[str]:
    for url in urls:
        here = prefix + _plain(str(url.pattern))
        if hasattr(url, "url_patterns"):
            yield from _conf(url.url_patterns, here)
        else:
            yield here


def _plain(pattern: str) -> str:
    text = _GROUP.sub(r"{\1}", _CONVERTER.sub(r"{\1}", pattern))
    return text.removeprefix("^").removesuffix("$")


def read(client: Client, address: str, queries: tuple[str, ...]) -> dict[str, str]:
    """Return status, headers and body of an address with each of these query strings, as text by address."""
    found = {}
    for query in queries:
        response = client.get(address + query)
        body = b"".join(response.streaming_content) if response.streaming else response.content
        response.close()
        head = "\n".join(f"{name}: {value}" for name, value in sorted(response.headers.items()) if name != "Expires")
        text = f"{response.status_code}\n{head}\n\n{body.decode('utf-8', 'replace')}"
        found[address + query] = _CSRF.sub("a token", text)
    return found
