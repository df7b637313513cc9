"""Forks one limited process for each audit, from one in which the parser and the rules are imported.

It is started by `warm.py`, takes from its line, which is its stdin, three descriptors for each audit (the request,
where the answer goes, where errors go), and says how the process ended that it forked for them. It reads no request,
so no text ever reaches it. It ends when the other end of its line is closed.
"""

from __future__ import annotations

import gc
import os
import socket
import traceback

from reviewer import child


def main() -> int:
    """Serve until nobody holds the other end. Returns the exit status."""
    child.limit_files_and_memory()
    if complaint := child.import_all():
        return complaint
    gc.collect()
    gc.freeze()  # collecting what all forked processes share would only copy it
    with socket.socket(fileno=os.dup(0)) as line:
        while True:
            asked, descriptors, _, _ = socket.recv_fds(line, 1, 3)
            if not asked:
                return 0
            pid = os.fork()
            if pid == 0:
                line.close()
                _audit(descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            _, status = os.waitpid(pid, 0)
            line.send(str(os.waitstatus_to_exitcode(status)).encode())


def _audit(descriptors: list[int]) -> None:
    """Be the limited process, and end."""
    code = 1
    try:
        for place, descriptor in enumerate(descriptors):
            os.dup2(descriptor, place)
            os.close(descriptor)
        child.limit_this_process()
        code = child.serve()
    except BaseException:  # what nobody caught is told on stderr, as an interpreter that ends by it does
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(code)
