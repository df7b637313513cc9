"""`submit login`, `submit logout`, `submit whoami`: how a token for one server comes to this machine and leaves it."""

from __future__ import annotations

import re
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from leaderboard.cli import show as shows
from leaderboard.cli.answers import maybe, need, rows
from leaderboard.cli.api import Api
from leaderboard.cli.device import DeviceFlow
from leaderboard.cli.errors import CliError, Exit, Interrupted, NotAuthenticated, PlatformFault, Usage
from leaderboard.cli.send import warn_of_plain_http
from leaderboard.cli.settings import Settings, resolve
from leaderboard.cli.tokenfile import remove_token, store_token, stored_token
from leaderboard.cli.words import moment, one_line

_LONGEST_TOKEN = 4096


def login(flags: Mapping[str, str | None], environ: Mapping[str, str], *, read_only: bool, as_json: bool) -> Exit:
    """Get a token by a code that the user types on the site, and keep it for that server alone."""
    settings = _server(flags, environ)
    warn_of_plain_http(settings)
    with Api(replace(settings, token=None)) as api:
        flow = DeviceFlow(api, settings.origin, time)
        try:
            asked = flow.start(_label(), "read" if read_only else "submit")
            if as_json:
                shows.say_json({"event": "device", "user_code": asked.user_code, "url": asked.url})
            else:
                shows.say(f"Open {asked.url} in a browser, log in there, and type this code:\n")
                shows.say(f"    {asked.user_code}\n")
                shows.say(f"It is good for {asked.expires_in // 60} min. Waiting for your answer there …")
            answer = flow.wait(_tell)
        except KeyboardInterrupt as error:
            raise Interrupted("Stopped waiting; nothing is kept here, and the code expires by itself.") from error
    token = _checked(need(answer, "access_token", str))
    _keep(settings, token, need(answer, "user", str), answer, as_json=as_json)
    _tell_if_unheard(_server(flags, environ), token)
    return Exit.OK


def login_with_token(flags: Mapping[str, str | None], environ: Mapping[str, str], *, as_json: bool) -> Exit:
    """Keep a token that was made on the site and comes in on stdin, after asking its server whose it is."""
    settings = _server(flags, environ)
    if not settings.trusted:
        raise Usage(
            f"{settings.named_by} names {settings.base}, and a file that came with a project does not decide where "
            "your token goes; say the server yourself with --url."
        )
    warn_of_plain_http(settings)
    token = _checked(_typed(settings))
    with Api(replace(settings, token=token)) as api:
        answer = api.me()
    _keep(settings, token, need(answer, "user", str), maybe(answer, "token", dict) or {}, as_json=as_json)
    _tell_if_unheard(_server(flags, environ), token)
    return Exit.OK


def logout(flags: Mapping[str, str | None], environ: Mapping[str, str], *, as_json: bool) -> Exit:
    """Delete this machine's token for a server and revoke it there."""
    settings = _server(flags, environ)
    token = stored_token(settings.user_file, settings.origin)
    if token is not None:
        remove_token(settings.user_file, settings.origin)
        _revoke(replace(settings, token=token))
    if as_json:
        shows.say_json({"event": "logged_out", "origin": settings.origin, "was_logged_in": token is not None})
    elif token is None:
        shows.say(f"No token for {settings.origin} is kept in {settings.user_file}.")
    else:
        shows.say(f"The token for {settings.origin} is deleted here and revoked there.")
    if _server(flags, environ).token not in (None, token):
        _tell("another token, from SUBMIT_TOKEN or a project's token file, is still in use.")
    return Exit.OK


def whoami(flags: Mapping[str, str | None], environ: Mapping[str, str], *, as_json: bool) -> Exit:
    """Say who the token at hand acts as."""
    settings = _server(flags, environ)
    settings.need_token()
    with Api(settings) as api:
        answer = api.me()
    user, teams, token = need(answer, "user", str), rows(answer, "teams"), maybe(answer, "token", dict)
    if as_json:
        shows.say_json({**answer, "event": "whoami", "origin": settings.origin})
        return Exit.OK
    shows.say(f"{one_line(user)} at {settings.origin}")
    if token:
        shows.say(f"token: {one_line(token.get('name'))}, for {_may(token)}{_until(token)}")
    for team in teams:
        shows.say(f"team in {one_line(team.get('competition'))}: {one_line(team.get('team'))}")
    return Exit.OK


def _server(flags: Mapping[str, str | None], environ: Mapping[str, str]) -> Settings:
    return resolve(flags, environ, {}, Path.cwd(), Path.home())


def _keep(settings: Settings, token: str, user: str, facts: Mapping[str, Any], *, as_json: bool) -> None:
    store_token(settings.user_file, settings.origin, token, url=settings.base)
    if as_json:
        shows.say_json({"event": "logged_in", "origin": settings.origin, "user": user, "expires": facts.get("expires")})
    else:
        kept = f"the token, for {_may(facts)}, is kept in {settings.user_file}{_until(facts)}"
        shows.say(f"Logged in to {settings.origin} as {one_line(user)}; {kept}.")


def _tell_if_unheard(settings: Settings, token: str) -> None:
    if settings.token != token:
        _tell("SUBMIT_TOKEN is heard before the token that was just kept.")


def _tell(sentence: str) -> None:
    sys.stderr.write(f"submit: {sentence}\n")


def _revoke(settings: Settings) -> None:
    try:
        with Api(settings) as api:
            api.revoke()
    except NotAuthenticated:
        pass  # it is of no use any more, which is what was wanted
    except CliError as error:
        raise PlatformFault(
            f"The token is deleted here, but not revoked there: {error.sentence} Do that on the site under Tokens.",
            code=error.code,
        ) from error


def _typed(settings: Settings) -> str:
    try:
        if sys.stdin.isatty():
            from getpass import getpass

            return getpass(f"Token for {settings.origin} (not shown): ")
        return sys.stdin.readline(_LONGEST_TOKEN + 2)
    except (UnicodeDecodeError, EOFError) as error:
        raise Usage("No token came in on stdin; copy one from the site under Tokens.") from error


def _checked(text: str) -> str:
    token = text.strip()
    if not token:
        raise Usage("No token came in on stdin; copy one from the site under Tokens.")
    if not re.fullmatch(r"[\x21-\x7e]+", token) or len(token) > _LONGEST_TOKEN:
        raise NotAuthenticated("That is no token: it has characters that none has; copy it again.")
    return token


def _label() -> str:
    """Return what this machine calls itself on the site, in the letters that the site takes."""
    plain = re.sub(r"[^A-Za-z0-9 ._@-]+", "-", socket.gethostname())[:40].lstrip(" ._@-").rstrip()
    return plain or "a machine"


def _may(facts: Mapping[str, Any]) -> str:
    says = {"read": "reading", "submit": "reading and submitting", "all": "everything"}
    return says.get(str(facts.get("scope")), one_line(facts.get("scope", "what the site allows")))


def _until(facts: Mapping[str, Any]) -> str:
    until = moment(facts.get("expires"), year=True)
    return f" until {until}" if until else ""
