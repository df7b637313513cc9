"""The hash by which a kit is known, the same for the platform that stores it and the host that runs it."""

import hashlib
from collections.abc import Mapping


def kit_sha256(files: Mapping[str, bytes]) -> str:
    """Return the hash of a kit: name relative to its folder, with "/", -> content.

    SHA-256 over one line per file, `name NUL size NUL sha256-of-content newline`, names in byte order.
    """
    total = hashlib.sha256()
    for name in sorted(files, key=str.encode):
        content = files[name]
        total.update(f"{name}\0{len(content)}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()
