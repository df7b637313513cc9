"""O601 packed-code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script


class PackedCode(Rule):
    """Sends packed scripts to a person, and what is in them to all rules.

    What it looks for
        A file that only decodes a text and executes it: base64 and its relatives, hex, zlib, gzip, bz2 and lzma, as
        deep as four times, with the payload in a literal, a variable, a sum or a list. It is unpacked without being
        run, and the text inside is judged by every rule; those findings count lines of the unpacked text.

    Why it is refused
        Whoever reads the file on the board reads nothing. What cannot be unpacked is refused as code made during the
        run (S401): a payload that is incomplete, too large, or decoded by anything but the library's own decoders,
        and a file that does more than unpack.

    Do instead
        Send the script unpacked. Its size in bytes is no criterion here.
    """

    code = "O601"

    VALID: ClassVar = (
        "import base64, zlib\nx = zlib.decompress(base64.b64decode('eJwDAAAAAAE='))\n",
        "import lzma\nexec(lzma.decompress(open('out/a', 'rb').read()))\n",
        "import base64\nP = 'not base64'\nexec(base64.b85decode(P))\nprint(P)\n",
        "exec('x = 1')\nimport base64\n",
    )
    INVALID: ClassVar = (
        "import base64\nexec(base64.b64decode('eCA9IDEK'))  # !\n",
        "import base64 as B\nP = b'eCA9' + b'IDEK'\nexec(compile(B.b64decode(P).decode(), 'train.py', 'exec'))  # !\n",
        "exec(bytes.fromhex(''.join(['78203d', '20310a'])).decode('utf-8'), globals())  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        if script.shell is not None:
            what = "The script is packed, so nobody can read it as it is; its unpacked text has been judged."
            yield Found(script.shell, what, "Send it unpacked, and its findings have the lines of your file.")
