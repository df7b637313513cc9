"""Where Python is, outside and inside.

Inside, the interpreter keeps its own path (its libpython is found by that path) and the site-packages of this
environment appear as a small virtual environment at /opt/venv. Editable-install hooks are masked: they cost start-up
time and name the folder of the clone.
"""

import sys
import sysconfig
from functools import cache
from pathlib import Path

from scoring.sandbox.spec import Bind, Data, Link, Mount

VENV = "/opt/venv"
PYTHON = f"{VENV}/bin/python"


def _base() -> Path:
    return Path(sys.base_prefix).resolve()


@cache
def mounts() -> tuple[Mount, ...]:
    """Return the mounts that make PYTHON run with this environment's packages."""
    base = _base()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found: list[Mount] = []
    if not base.is_relative_to("/usr"):
        found.append(Bind(base, str(base)))
    binary = base / "bin" / version
    site = Path(sysconfig.get_path("purelib"))
    inside = f"{VENV}/lib/{version}/site-packages"
    found += [
        Bind(site, inside),
        Data(f"home = {base / 'bin'}\ninclude-system-site-packages = false\n".encode(), f"{VENV}/pyvenv.cfg"),
        Link(str(binary), PYTHON),
        Link("python", f"{VENV}/bin/python3"),
    ]
    found += [Bind(Path("/dev/null"), f"{inside}/{hook.name}") for hook in sorted(site.glob("__editable__*"))]
    return tuple(found)


def environment(threads: int) -> dict[str, str]:
    """Return the whole environment of a program inside; nothing of the host's own is in it.

    Spinning is off everywhere: a barrier that spins on a shared core once cost ten times the foreign load's share.
    """
    count = str(threads)
    return {
        "PATH": f"{VENV}/bin:/usr/bin:/bin",
        "HOME": "/tmp",  # noqa: S108 the sandbox's own
        "TMPDIR": "/tmp",  # noqa: S108
        "USER": "holdout",
        "LOGNAME": "holdout",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "OMP_WAIT_POLICY": "PASSIVE",
        "OMP_DYNAMIC": "FALSE",
        "GOMP_SPINCOUNT": "0",
        "KMP_BLOCKTIME": "0",
        "GLOO_SOCKET_IFNAME": "lo",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
    }
