"""Runs one audit in a process of its own, under limits.

Theory of operation. The parent checks bytes (`gate.check` cannot crash), then starts this file's `main` in an isolated
interpreter with an empty environment, or has a process forked from such a one (`warm.py`), hands it one line (what is
wanted, policy, launch) and the text on stdin, and reads one JSON answer from stdout: a report or, where a repair is
wanted, the new text. The child limits itself before it reads a byte: CPU seconds, address space, no files, no core. It
never imports or executes the script. A crash, too much processor time or an answer that is no report is a rejection
that says so; the caller never sees an exception for anything that the script's text brought about.

What no text can bring about is the host's and raises ReviewerFault: a signal from outside (the kernel's when memory
runs out, a shutdown's), a parser that cannot be imported, and time on the wall, since a child that gets its share of
the processor reaches the limit of processor time first.
"""

from __future__ import annotations

import hashlib
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from reviewer import gate, warm
from reviewer.context import Context
from reviewer.fix import Fixed
from reviewer.launch import LaunchFacts
from reviewer.policy import Policy
from reviewer.report import Finding, Report
from reviewer.wording import clip

FAULT = 70  # exit status of a child that could not begin
CPU_SECONDS = 20
WALL_SECONDS = 60.0
MEMORY_BYTES = 512 << 20  # address space; a script of 3,700 lines needs 120 MB

_ROOT = str(Path(__file__).resolve().parent.parent)
_START = "import sys; sys.path.insert(0, sys.argv[1]); from reviewer.child import main; sys.exit(main())"
_NURSERY = _START.replace("child", "nursery")

# How a process ends by its own doing: too much time, or a parser that ran into its limits.
OWN_SIGNALS = frozenset(
    {signal.SIGXCPU, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGXFSZ}
)


class ReviewerFault(Exception):
    """This host could not carry out an audit; the sentence is for its operator, and nothing is said of the script."""


def review(
    text: str | bytes,
    policy: Policy | None = None,
    *,
    launch: LaunchFacts | None = None,
    context: Context | None = None,
    isolated: bool = True,
) -> Report:
    """Audit a script and return the Report, whatever the text is.

    Without `launch`, what depends on how the script is started is not judged; without `context`, no version before it.
    `isolated=False` audits in this process, without limits: only for the limited process itself and for tests of
    rules. Raises ReviewerFault where this host is in no state to audit.
    """
    policy = policy or Policy()
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).hexdigest()
    if refused := gate.check(data, policy.max_bytes):
        return _refused(digest, policy, refused)
    if isolated:
        return _in_child(data, digest, policy, launch, context)
    from reviewer.audit import audit  # brings libcst, which the parent never needs

    return audit(data.decode("utf-8"), digest, policy, launch, context)


def answer(
    text: str | bytes, policy: Policy, launch: LaunchFacts | None, also: Collection[str], *, isolated: bool
) -> Fixed:
    """Repair a script; `fix.py` says how. Raises ReviewerFault."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    given = data.decode("utf-8", "replace")
    if refused := gate.check(data, policy.max_bytes):
        return Fixed(given, (), (refused,))
    if not isolated:
        from reviewer.repairs.repair import repair

        return repair(given, policy, launch, also)
    said = _ask({"verb": "fix", "also": sorted(also), **_terms(policy, launch, None)}, data)
    if isinstance(said, Finding):
        return Fixed(given, (), (said,))
    try:
        return Fixed.from_json(said)
    except (ValueError, KeyError, TypeError):
        return Fixed(given, (), (_garbled(),))


def _in_child(data: bytes, digest: str, policy: Policy, launch: LaunchFacts | None, context: Context | None) -> Report:
    said = _ask({"verb": "review", **_terms(policy, launch, context)}, data)
    if isinstance(said, Finding):
        return _refused(digest, policy, said)
    try:
        report = Report.from_json(said)
    except (ValueError, KeyError, TypeError, RecursionError):
        report = None
    if report is None or report.script_sha256 != digest:
        return _refused(digest, policy, _garbled())
    return report


def _refused(digest: str, policy: Policy, finding: Finding) -> Report:
    return Report.of(script_sha256=digest, findings=[finding], policy=policy.version)


def _terms(policy: Policy, launch: LaunchFacts | None, context: Context | None) -> dict[str, Any]:
    return {
        "policy": policy.to_mapping(),
        "launch": None if launch is None else launch.to_mapping(),
        "context": (context or Context()).to_mapping(),
    }


def _ask(terms: dict[str, Any], data: bytes) -> Any:
    """Return what the limited process answers, or the finding that its end is. Raises ReviewerFault."""
    request = json.dumps(terms).encode() + b"\n" + data
    try:
        done = warm.run(_start, request, WALL_SECONDS)
    except OSError as error:
        raise ReviewerFault(f"the audit's process cannot be started: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise ReviewerFault(f"the audit got no answer within {WALL_SECONDS:.0f} s; this host is overloaded") from error
    if done.returncode == FAULT:
        raise ReviewerFault(f"the audit cannot begin: {done.stderr.decode('utf-8', 'replace').strip()}")
    if done.returncode < 0 and -done.returncode not in OWN_SIGNALS:
        raise ReviewerFault(f"the audit's process was ended by {signal.Signals(-done.returncode).name}")
    if done.returncode == -signal.SIGXCPU:
        return _too_slow(f"{CPU_SECONDS} s of processor time")
    if done.returncode != 0:
        return _crashed(done.returncode, done.stderr)
    try:
        return json.loads(done.stdout)
    except (ValueError, RecursionError):
        return _garbled()


def _garbled() -> Finding:
    message = "The audit of this file gave no readable answer.\nSimplify the file; if it is plain, tell the organizer."
    return gate.refusal("G014", message)


def _start() -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(_command(_START), stdin=pipe, stdout=pipe, stderr=pipe, env={}, cwd="/")


def _command(program: str) -> list[str]:
    return [sys.executable, "-I", "-c", program, _ROOT]


def keep_ready() -> None:
    """Keep what the next audits need imported, for programs that live long; others start a process for each."""
    warm.keep(_command(_NURSERY))


def _too_slow(limit: str) -> Finding:
    return gate.refusal("G012", f"The audit of this file did not finish within {limit}.\nSimplify or shorten the file.")


def _crashed(code: int, errors: bytes) -> Finding:
    if code < 0:
        reason = f"by {signal.Signals(-code).name}"
    else:
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        reason = clip(lines[-1] if lines else f"with code {code}", 120)
    return gate.refusal("G013", f"The audit of this file ended {reason}.\nSimplify the file, or tell the organizer.")


def limit_this_process() -> None:
    """Give up the right to more CPU, memory, files and core dumps."""
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)  # a parent may have had it ignored, and then SIGKILL would follow
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    limit_files_and_memory()


def limit_files_and_memory() -> None:
    """Give up the right to more memory, files and core dumps."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def import_all() -> int:
    """Import the parser and the rules before any text is read, so that a failure is not the text's."""
    try:
        import reviewer.audit
        import reviewer.repairs.repair
        import reviewer.rules

        reviewer.rules.load()
    except Exception as error:  # half an installation, no memory to begin with: nothing that a text brought about
        sys.stderr.write(f"{type(error).__name__}: {error}")
        return FAULT
    return 0


def serve() -> int:
    """Read policy, launch and script from stdin, write the report, or the repaired text, to stdout."""
    import gc

    gc.disable()  # one short-lived tree; collecting it costs a third of the parse
    with open(0, "rb", closefd=False) as stdin:
        line, _, data = stdin.read().partition(b"\n")
    terms = json.loads(line)
    launch = None if terms["launch"] is None else LaunchFacts.of(terms["launch"])
    policy, context = Policy.from_mapping(terms["policy"]), Context.of(terms["context"])
    said: Report | Fixed
    if terms["verb"] == "fix":
        said = answer(data, policy, launch, terms["also"], isolated=False)
    else:
        said = review(data, policy, launch=launch, context=context, isolated=False)
    sys.stdout.write(json.dumps(said.to_json()))
    sys.stdout.flush()
    return 0


def main() -> int:
    """Audit or repair one text."""
    try:
        limit_this_process()
    except (OSError, ValueError) as error:  # the host allows less than the limits already
        sys.stderr.write(f"its limits cannot be set: {error}")
        return FAULT
    return import_all() or serve()
