"""Which server an address means. A token is recorded with one origin and never leaves for another."""

from __future__ import annotations

from urllib.parse import urlsplit

from leaderboard.cli.errors import Usage

_DEFAULT_PORT = {"http": 80, "https": 443}


def parse_url(url: str, source: str) -> tuple[str, str]:
    """Return (base, origin) of a server's address.

    `base` keeps a path prefix and has no trailing slash; `origin` is `scheme://host:port`, lower case, port explicit.
    `localhost` and `127.0.0.1` are different origins: names are compared, never resolved.
    Raises Usage, naming `source`, for anything that is not a plain http or https address.
    """
    wrong = f"{source}: `{url}` is not a server's address; write it as https://host or http://host:port."
    if any(ord(character) <= 32 or ord(character) > 126 for character in url):
        raise Usage(wrong)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Usage(wrong) from error
    scheme, host = parts.scheme.lower(), parts.hostname
    if scheme not in _DEFAULT_PORT or not host or parts.query or parts.fragment or "\\" in url:
        raise Usage(wrong)
    if "@" in parts.netloc:
        raise Usage(f"{source}: an address must hold no user name or password; tokens are kept apart from it.")
    host = f"[{host}]" if ":" in host else host.rstrip(".")
    origin = f"{scheme}://{host}:{port if port is not None else _DEFAULT_PORT[scheme]}"
    return f"{scheme}://{host}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}", origin


def is_loopback(origin: str) -> bool:
    """Say whether the origin is this machine, so that plain http and no proxy are right for it."""
    host = origin.split("://", 1)[1].rsplit(":", 1)[0]
    return host in {"localhost", "[::1]"} or (host.startswith("127.") and host.replace(".", "").isdigit())
