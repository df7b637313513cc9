"""Forms of the pages. They hold what was typed; whether it is right is decided by the services alone."""

from django import forms

from leaderboard.core.errors import Refusal
from leaderboard.submissions.services import READ_AT_MOST

AS_TYPED = {"class": "code", "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"}
# Where the sentence of a refusal belongs; what is not named here stands above the form.
FIELD_OF = {"bad_launch": "launch", "bad_note": "note", "too_large": "script", "empty": "script", "duplicate": "script"}


class UploadForm(forms.Form):
    """A script, as a file or pasted, with its launch command and method note."""

    script = forms.FileField(label="Script: choose a file, or drop it here", required=False, allow_empty_file=True)
    text = forms.CharField(label="or paste it", required=False, strip=False)
    launch = forms.CharField(label="Launch command", required=False)
    note = forms.CharField(label="Method note", required=False, help_text="One line, shown on the board.")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["script"].widget.attrs["accept"] = ".py,text/x-python,text/plain"
        self.fields["text"].widget = forms.Textarea(attrs={**AS_TYPED, "rows": 10})
        self.fields["launch"].widget.attrs.update(AS_TYPED)
        self.fields["note"].widget.attrs.update({"maxlength": 200, "autocomplete": "off"})
        for name in ("text", "launch", "note"):
            self.fields[name].validators = []  # NUL and the like are the services' and the audit's to refuse

    def source(self) -> bytes | None:
        """Return the script's bytes, None when there are none. A chosen file goes before pasted text."""
        file = self.cleaned_data["script"]
        if file is not None:
            return bytes(file.read(READ_AT_MOST))
        # Browsers send text areas with CRLF; the file that was copied from had LF.
        pasted: str = self.cleaned_data["text"]
        return pasted.replace("\r\n", "\n").encode("utf-8", "replace") if pasted else None

    def refuse(self, refusal: Refusal, sent: bytes | None, limit: int) -> None:
        """Put the refusal's sentence where it belongs and keep a chosen file's text, which no browser sends back."""
        self.add_error(FIELD_OF.get(refusal.code), refusal.message)
        if self.files.get("script") and sent is not None and len(sent) <= limit:
            self.data = {**dict(self.data.items()), "text": sent.decode("utf-8", "replace")}


class TokenForm(forms.Form):
    """A token's name and how long it lasts."""

    name = forms.CharField(label="Name", max_length=60, help_text="What it is for, such as the machine it will be on.")
    days = forms.IntegerField(label="Days until it expires", min_value=1, max_value=366, initial=90)


class DeviceForm(forms.Form):
    """The code on a machine's screen, typed."""

    code = forms.CharField(label="Code", max_length=40, help_text="Eight letters, such as BCDF-GHJK.")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["code"].widget.attrs.update({**AS_TYPED, "autofocus": True})


class TeamForm(forms.Form):
    """The name that stands on the board."""

    name = forms.CharField(label="Team name", max_length=40, help_text="Stands on the public board.")
