"""Load a competition file: read, judge every key, publish.

What is wrong is reported as `file:line: key: sentence`, all of it at once, and then nothing has changed.
"""

import difflib
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from leaderboard.competitions import kits, services
from leaderboard.competitions.models import Competition
from leaderboard.competitions.schema import CompetitionFile
from leaderboard.competitions.tomllines import Key, line_of
from leaderboard.env import PROJECT

MAX_BYTES = 2**20


class CompetitionFileError(Exception):
    """What is wrong with a file: one `file:line: key: sentence` a line."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True)
class Source:
    """The text of a file, to say where in it a key stands."""

    path: Path
    text: str

    def error(self, *problems: tuple[Key, str]) -> CompetitionFileError:
        places = sorted((line_of(self.text, key), key_text(key), sentence) for key, sentence in problems)
        return CompetitionFileError([f"{self.path}:{line}: {key}: {sentence}" for line, key, sentence in places])


def load(path: Path) -> Competition:
    """Load a competition file and return its competition; see `publish` for what changed."""
    return publish(path).competition


def loaded(path: Path) -> Competition | None:
    """Return the competition of a file's name where the site has one. Raises CompetitionFileError."""
    return Competition.objects.filter(slug=_validated(_read(path)).slug).first()


def publish(path: Path) -> services.Published:
    """Load a competition file, idempotently. Raises CompetitionFileError, having changed nothing in the database."""
    source = _read(path)
    file = _validated(source)
    if problems := file.conflicts():
        raise source.error(*problems)
    policy = _policy(source, file)
    if problems := _never_looked_at(file, policy):
        raise source.error(*problems)
    file = _with_baselines(source, file)
    try:
        kit_sha256 = kits.store(_beside(path, file.kit.path))
    except kits.KitError as error:
        raise source.error((("kit", "path"), str(error))) from None
    try:
        return services.publish(
            file=file, policy=policy, kit_sha256=kit_sha256, file_sha256=sha256(source.text.encode()).hexdigest()
        )
    except services.NotAllowed as error:
        raise source.error(*error.problems) from None


def key_text(key: Key) -> str:
    """Return a key as people write it: `phases[0].budget.seconds`."""
    return re.sub(r"\.(\[\d+\])", r"\1", ".".join(f"[{part}]" if isinstance(part, int) else part for part in key))


def _read(path: Path) -> Source:
    try:
        content = path.read_bytes()
        if len(content) > MAX_BYTES:
            raise CompetitionFileError([f"{path}:1: file: it has more than {MAX_BYTES} bytes"])
        return Source(path, content.decode())
    except OSError as error:
        raise CompetitionFileError([f"{path}:1: file: it cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise CompetitionFileError([f"{path}:{line}: file: it is not UTF-8"]) from None


def _validated(source: Source) -> CompetitionFile:
    try:
        return CompetitionFile.model_validate(tomllib.loads(source.text))
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        line = place[1] if place else source.text.count("\n") + 1
        raise CompetitionFileError([f"{source.path}:{line}: file: it is not TOML: {error}"]) from None
    except ValidationError as error:
        raise source.error(*_problems(error)) from None


def _problems(error: ValidationError) -> Iterator[tuple[Key, str]]:
    for fault in error.errors():
        key = fault["loc"]
        if fault["type"] == "extra_forbidden":
            yield key, "there is no such key" + _did_you_mean(str(key[-1]), _known(key[:-1]))
        elif fault["type"] == "missing":
            yield key, "it is missing"
        else:
            sentence = fault["msg"].removeprefix("Value error, ").replace("Input should", "it must")
            value = fault["input"]
            told = f", and is {value!r}" if isinstance(value, str | int | float) else ""
            yield key, f"{sentence}{told}"


def _known(table: Key) -> list[str]:
    """Return the keys that a table of the file may have."""
    model: Any = CompetitionFile
    for part in table:
        if isinstance(part, str):
            model = _model_in(model.model_fields[part].annotation)
    return list(model.model_fields)


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(_model_in(argument) for argument in annotation.__args__ if argument is not Ellipsis)


def _did_you_mean(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; there are {', '.join(known)}"


def _policy(source: Source, file: CompetitionFile) -> dict[str, Any]:
    from reviewer import Policy, PolicyError
    from reviewer.baselines.frozen import FrozenError, with_texts
    from reviewer.policy import SETTINGS

    def read(name: str) -> str:
        return _beside(source.path, name).read_text(encoding="utf-8")

    table = dict(file.policy)
    try:
        if "sections" in table:  # a policy keeps the sections' texts, so a change of a script beside it is a new policy
            table["sections"] = with_texts(table["sections"], read)
        return Policy.from_mapping(table).to_mapping()
    except FrozenError as error:
        raise source.error((_key("policy.sections", error.key), error.reason)) from None
    except PolicyError as error:
        sentence = str(error).partition(": ")[2] or str(error)
        *above, word = error.key.split(".")
        if "no such" in sentence and not above:
            sentence += _did_you_mean(word, SETTINGS)
        raise source.error((_key("policy", error.key), sentence)) from None


def _key(*dotted: str) -> Key:
    """Return a key from dotted words; a number is a place in a list."""
    return tuple(int(word) if word.isdigit() else word for word in ".".join(dotted).split("."))


def _never_looked_at(file: CompetitionFile, policy: dict[str, Any]) -> list[tuple[Key, str]]:
    """Return the phases that take larger scripts than the audit reads: the place for such a one would be in vain."""
    most = policy["max_bytes"]
    sentence = f"policy.max_bytes is {most:,}, so a script of this size would be taken in and then not looked at"
    return [
        (("phases", index, "limits", "script_bytes"), sentence)
        for index, phase in enumerate(file.phases)
        if phase.limits.script_bytes > most
    ]


def _with_baselines(source: Source, file: CompetitionFile) -> CompetitionFile:
    """Return the file with the hash of every phase's baseline script."""
    phases, problems = list(file.phases), []
    for index, phase in enumerate(phases):
        key: Key = ("phases", index, "probes")
        if phase.probes.baseline_sha256:
            problems.append(((*key, "baseline_sha256"), "it is computed; name the script as `baseline`"))
        elif name := phase.probes.baseline:
            try:
                text = _beside(source.path, name).read_bytes()
            except OSError as error:
                problems.append(((*key, "baseline"), f"{name!r} cannot be read: {error.strerror}"))
                continue
            probes = phase.probes.model_copy(update={"baseline_sha256": sha256(text).hexdigest()})
            phases[index] = phase.model_copy(update={"probes": probes})
    if problems:
        raise source.error(*problems)
    return file.model_copy(update={"phases": tuple(phases)})


def _beside(path: Path, name: str) -> Path:
    """Return what a competition file names: beside the file, else in the project."""
    beside = path.resolve().parent / name
    return beside if beside.exists() else PROJECT / name
