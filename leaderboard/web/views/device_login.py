"""Confirming a machine: type the code it shows, see what asks, say yes or no.

No address and no field is filled in for anybody: who is led here with a code in hand has to type it, and reads first
what it would let in. A GET shows the empty form and changes nothing.
"""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.accounts import device
from leaderboard.core.errors import Refusal
from leaderboard.web.forms import DeviceForm
from leaderboard.web.views.shell import member

SALT = "web.device"


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def code(request: HttpRequest) -> HttpResponse:
    """Ask for the code; after a right one show what asks. What the answer carries on is signed for this person."""
    user, status = member(request), 200
    form = DeviceForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                login = device.find(
                    typed=form.cleaned_data["code"], user=user, address=request.META.get("REMOTE_ADDR", "")
                )
            except Refusal as refusal:
                form.add_error("code", refusal.message)
                status = refusal.status
            else:
                seal = signing.dumps([login.pk, user.pk], salt=SALT)
                until = timezone.now() + device.TOKEN_LIFE
                context = {"login": login, "seal": seal, "until": until, "days": device.TOKEN_LIFE.days}
                return render(request, "web/device_confirm.html", context)
    return render(request, "web/device_login.html", {"form": form}, status=status)


@login_required
@never_cache
@require_POST
def answer(request: HttpRequest) -> HttpResponse:
    """Let the machine in or send it away; whatever is no answer of this person to what they were shown is neither."""
    user = member(request)
    said = request.POST.get("answer")
    try:
        login_id, shown_to = signing.loads(request.POST.get("seal", ""), salt=SALT, max_age=device.LIFE)
        if shown_to != user.pk or said not in ("confirm", "refuse"):
            raise signing.BadSignature
        login = device.answer(login_id=login_id, user=user, confirm=said == "confirm")
    except signing.BadSignature:
        messages.error(request, "That was no answer to a code you typed; start again.")
        return redirect("web:device")
    except Refusal as refusal:
        messages.error(request, refusal.message)
        return redirect("web:device")
    if said == "confirm":
        messages.success(request, f"{login.label} may act as you now. Its token stands here and can be revoked.")
    else:
        messages.success(request, f"{login.label} was refused; it gets no token.")
    return redirect("web:tokens")
