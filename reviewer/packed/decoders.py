"""The library's decoders, each with a bound on what comes out: a bomb ends before it has gone off."""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import lzma
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_BYTES = 4_194_304  # of one unpacked text; no policy takes larger files
_MOST_MEMORY = 128 << 20  # for a dictionary, which the payload's header may ask for
_MOST_DICTIONARY = 64 << 20
_MOST_STREAMS = 64  # one after the other in one payload; empty ones cost time and give nothing

MODULES = frozenset({"base64", "binascii", "bz2", "codecs", "gzip", "io", "lzma", "zlib"})
CONSTANTS: dict[str, int] = {
    **{f"lzma.{n}": getattr(lzma, n) for n in dir(lzma) if n.startswith(("FORMAT_", "FILTER_", "PRESET_", "MODE_"))},
    "zlib.MAX_WBITS": zlib.MAX_WBITS,
}


class Unreadable(Exception):
    """What a shell carries cannot be unpacked; the text says why, as the rest of a sentence."""


@dataclass(eq=False)
class Stream:
    """Bytes to be read as from a file, once: a second time there is nothing left, which no text is packed for."""

    data: bytes
    spent: bool = False

    def read(self) -> bytes:
        """Return all of it. Raises Unreadable where it has been read."""
        if self.spent:
            raise Unreadable("what it decodes is read twice, and the second time it is empty")
        self.spent = True
        return self.data


@dataclass(eq=False)
class Decompressor:
    """An object that decompresses one payload, and no other after it."""

    unpack: Callable[[bytes], bytes]
    spent: bool = False

    def decompress(self, data: bytes) -> bytes:
        """Return what a payload holds. Raises Unreadable for a second one."""
        if self.spent:
            raise Unreadable("one decompressor is used twice, and the second time it gives something else")
        self.spent = True
        return self.unpack(data)


def _raw(data: str | bytes) -> bytes:
    return data.encode("ascii") if isinstance(data, str) else bytes(data)


def _bounded(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise Unreadable(f"unpacked it has more than {MOST_BYTES:,} bytes")
    return data


def _streams(data: bytes, make: Callable[[], Any], *, strict: bool = False) -> bytes:
    """Decompress streams that follow each other. What follows the last one is ignored, unless `strict`."""
    out = b""
    for _ in range(_MOST_STREAMS):
        if not data:
            return out
        stream = make()
        try:
            out = _bounded(out + stream.decompress(data, MOST_BYTES + 1))
        except (OSError, lzma.LZMAError, zlib.error):
            if out and not strict:
                return out
            raise
        if not stream.eof:
            raise Unreadable("its payload ends too early")
        data = stream.unused_data.lstrip(b"\0") if strict else stream.unused_data
    if data:
        raise Unreadable(f"its payload is made of more than {_MOST_STREAMS} streams")
    return out


def inflate(data: bytes, /, wbits: int = zlib.MAX_WBITS, bufsize: int = 0) -> bytes:
    """Do what `zlib.decompress` does."""
    stream = zlib.decompressobj(wbits)
    out = _bounded(stream.decompress(data, MOST_BYTES + 1))
    if not stream.eof:
        raise Unreadable("its payload ends too early")
    return out


def gunzip(data: bytes) -> bytes:
    """Do what `gzip.decompress` does."""
    return _streams(data, lambda: zlib.decompressobj(16 + zlib.MAX_WBITS), strict=True)


def unbzip(data: bytes) -> bytes:
    """Do what `bz2.decompress` does."""
    return _streams(data, bz2.BZ2Decompressor)


def unlzma(
    data: bytes, format: int = lzma.FORMAT_AUTO, memlimit: int | None = None, filters: Sequence[Any] | None = None
) -> bytes:
    """Do what `lzma.decompress` does, with dictionaries of at most 64 MiB."""
    if filters is not None:
        wanted = list(map(_filter, filters))
        return _streams(data, lambda: lzma.LZMADecompressor(format, None, wanted))
    most = _MOST_MEMORY if memlimit is None else min(memlimit, _MOST_MEMORY)
    return _streams(data, lambda: lzma.LZMADecompressor(format, most))


def _filter(one: Mapping[str, int]) -> Mapping[str, int]:
    if one.get("dict_size", 0) > _MOST_DICTIONARY or one.get("preset", 6) & 0x1F > 9:
        raise Unreadable(f"its filter asks for a dictionary of more than {_MOST_DICTIONARY >> 20} MiB")
    return one


def _lzma_object(
    format: int = lzma.FORMAT_AUTO, memlimit: int | None = None, filters: Sequence[Any] | None = None
) -> Decompressor:
    return Decompressor(lambda data: unlzma(data, format, memlimit, filters))


def _zlib_object(wbits: int = zlib.MAX_WBITS) -> Decompressor:
    return Decompressor(lambda data: inflate(data, wbits))


def _open(source: Stream | None = None, mode: str = "rb", *, fileobj: Stream | None = None) -> Stream:
    stream = fileobj if fileobj is not None else source
    if not isinstance(stream, Stream) or mode not in ("r", "rb"):
        raise Unreadable("its payload is not in the file")
    return stream


def _unpacking(unpack: Callable[[bytes], bytes]) -> Callable[..., Stream]:
    """Return what does as `gzip.open` and its like do with bytes in memory."""
    return lambda *args, **options: Stream(unpack(_open(*args, **options).read()))


_CODECS: dict[str, Callable[[Any], Any]] = {
    "base64": lambda data: binascii.a2b_base64(data),
    "hex": lambda data: binascii.unhexlify(data),
    "zlib": inflate,
    "bz2": unbzip,
    "rot13": lambda data: codecs.decode(data, "rot13"),
    "uu": lambda data: codecs.decode(data, "uu"),
    "quopri": lambda data: codecs.decode(data, "quopri"),
    "utf8": lambda data: data.decode("utf-8"),
    "utf_8_sig": lambda data: data.decode("utf-8-sig"),
    "utf_16": lambda data: data.decode("utf-16"),
    "utf_32": lambda data: data.decode("utf-32"),
    "ascii": lambda data: data.decode("ascii"),
    "latin1": lambda data: data.decode("latin-1"),
}
_SPELLED = {
    "base_64": "base64", "zip": "zlib", "rot_13": "rot13", "quoted_printable": "quopri", "quotedprintable": "quopri",
    "utf_8": "utf8", "u8": "utf8", "utf": "utf8", "utf16": "utf_16", "utf32": "utf_32", "us_ascii": "ascii",
    "646": "ascii", "latin_1": "latin1", "latin": "latin1", "l1": "latin1", "iso_8859_1": "latin1",
    "iso8859_1": "latin1",
}  # fmt: skip


def _plain(name: str) -> str:
    """Return the one spelling of a codec's name that is known here."""
    plain = name.lower().replace("-", "_").replace(" ", "_").removesuffix("_codec")
    return _SPELLED.get(plain, plain)


def _codec(name: str) -> Callable[[Any], Any]:
    if (found := _CODECS.get(_plain(name))) is None:
        raise Unreadable(f"nothing here decodes {name[:40]!r}")
    return found


def _decode(data: Any, encoding: str = "utf-8") -> Any:
    return _codec(encoding)(data)


def _decode_text(data: bytes, encoding: str = "utf-8") -> str:
    text = _codec(encoding)(data)
    if not isinstance(text, str):
        raise TypeError
    return text


def _encode(text: str, encoding: str = "utf-8") -> bytes:
    if _plain(encoding) not in ("utf8", "ascii", "latin1"):
        raise Unreadable(f"nothing here encodes {encoding[:40]!r}")
    return text.encode(encoding)


def _replace(text: Any, old: Any, new: Any, /) -> Any:
    if len(text) + (text.count(old) if old else len(text) + 1) * len(new) > MOST_BYTES:
        raise Unreadable(f"unpacked it has more than {MOST_BYTES:,} bytes")
    return text.replace(old, new)


def _join(between: Any, parts: Sequence[Any], /) -> Any:
    if sum(map(len, parts)) + len(between) * len(parts) > MOST_BYTES:
        raise Unreadable(f"unpacked it has more than {MOST_BYTES:,} bytes")
    return between.join(parts)


def _str(data: Any, encoding: str | None = None) -> str:
    if encoding is None and isinstance(data, str):
        return data
    return _decode_text(data, encoding or "")


def _bytes(data: Any, encoding: str | None = None) -> bytes:
    if isinstance(data, str):
        return _encode(data, encoding or "")
    if not isinstance(data, bytes | list) or encoding is not None:
        raise TypeError
    return bytes(data)


def _int(text: str, base: int = 10) -> int:
    if not isinstance(text, str) or len(text) > 64:
        raise TypeError
    return int(text, base)


def _ord(char: Any) -> int:
    return ord(char)


def _range(*ends: int) -> list[int]:
    if len(numbers := range(*ends)) > MOST_BYTES:
        raise Unreadable("unpacking it would take too long")
    return list(numbers)


def _to_bytes(number: int, length: int = 1, byteorder: Any = "big") -> bytes:
    if not 0 <= length <= MOST_BYTES:
        raise Unreadable(f"unpacked it has more than {MOST_BYTES:,} bytes")
    return number.to_bytes(length, byteorder)


def _translate(text: str, table: Any, /) -> str:
    """Do what `str.translate` does with a dict."""
    if not isinstance(table, dict):
        raise TypeError
    longest = max((len(value) for value in table.values() if isinstance(value, str)), default=1)
    if len(text) * max(longest, 1) > MOST_BYTES:
        raise Unreadable(f"unpacked it has more than {MOST_BYTES:,} bytes")
    return text.translate(table)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "base64.b64decode": base64.b64decode,
    "base64.standard_b64decode": base64.standard_b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.b32decode": base64.b32decode,
    "base64.b32hexdecode": base64.b32hexdecode,
    "base64.b16decode": base64.b16decode,
    "base64.a85decode": base64.a85decode,
    "base64.b85decode": base64.b85decode,
    "base64.decodebytes": base64.decodebytes,
    "binascii.a2b_base64": binascii.a2b_base64,
    "binascii.a2b_hex": binascii.a2b_hex,
    "binascii.a2b_qp": binascii.a2b_qp,
    "binascii.unhexlify": binascii.unhexlify,
    "builtins.bytes": _bytes,
    "builtins.bytearray": _bytes,
    "builtins.bytearray.fromhex": bytes.fromhex,
    "builtins.bytes.fromhex": bytes.fromhex,
    "builtins.bytes.maketrans": bytes.maketrans,
    "builtins.chr": chr,
    "builtins.int": _int,
    "builtins.len": len,
    "builtins.list": list,
    "builtins.ord": _ord,
    "builtins.range": _range,
    "builtins.str": _str,
    "builtins.str.maketrans": str.maketrans,
    "bz2.decompress": unbzip,
    "codecs.decode": _decode,
    "bz2.BZ2File": _unpacking(unbzip),
    "bz2.open": _unpacking(unbzip),
    "gzip.GzipFile": _unpacking(gunzip),
    "gzip.decompress": gunzip,
    "gzip.open": _unpacking(gunzip),
    "lzma.LZMAFile": _unpacking(unlzma),
    "lzma.open": _unpacking(unlzma),
    "io.BytesIO": lambda data: Stream(_raw(data)),
    "bz2.BZ2Decompressor": lambda: Decompressor(unbzip),
    "lzma.LZMADecompressor": _lzma_object,
    "lzma.decompress": unlzma,
    "zlib.decompress": inflate,
    "zlib.decompressobj": _zlib_object,
}

# What these do before the first byte comes out: they make room for what they may have to remember.
COSTLY = ("bz2.", "gzip.", "lzma.", "zlib.", "codecs.")

_KEEPING = (
    "strip",
    "lstrip",
    "rstrip",
    "split",
    "splitlines",
    "removeprefix",
    "removesuffix",
    "lower",
    "upper",
    "swapcase",
)

METHODS: dict[tuple[type, str], Callable[..., Any]] = {
    (str, "encode"): _encode,
    (str, "translate"): _translate,
    (bytes, "decode"): _decode_text,
    (bytes, "translate"): bytes.translate,
    (int, "to_bytes"): _to_bytes,
    (Stream, "read"): Stream.read,
    (Decompressor, "decompress"): Decompressor.decompress,
    (Decompressor, "flush"): lambda one: b"",  # the whole payload has come out, or nothing has gone in
    **{((kind, name)): method for kind in (str, bytes) for name, method in (("replace", _replace), ("join", _join))},
    **{(kind, name): getattr(kind, name) for kind in (str, bytes) for name in _KEEPING},
}
