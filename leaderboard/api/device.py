"""Logging in a machine without a browser: RFC 8628's two addresses. The person's side is a page of the site."""

from typing import Any

from django.http import HttpRequest
from ninja import Form, Router

from leaderboard.accounts import device
from leaderboard.api import shapes
from leaderboard.env import env

router = Router(tags=["device"], auth=None)
PAGE = "/device"


@router.post("start", response=shapes.answers(shapes.DeviceStarted, 400, 429))
def start(request: HttpRequest, label: Form[str], scope: Form[str] = "submit") -> dict[str, Any]:
    """Begin a login: a secret for the machine, and a short code that its person types at `verification_url`.

    `label` is what the machine calls itself, `scope` is `submit` or `read`.
    """
    started = device.start(label=label, scope=scope, address=request.META.get("REMOTE_ADDR", ""))
    return {**vars(started), "verification_url": env().public_url + PAGE}


@router.post("token", response=shapes.answers(shapes.DeviceToken, 400))
def token(request: HttpRequest, device_code: Form[str]) -> dict[str, Any]:
    """Ask for the token: `authorization_pending` until the person has answered, `slow_down` when asked too soon."""
    granted = device.redeem(device_code=device_code)
    return {
        "access_token": granted.token,
        "token_type": "bearer",
        "scope": granted.scope,
        "name": granted.name,
        "expires": granted.expires,
        "user": granted.user.get_username(),
    }
