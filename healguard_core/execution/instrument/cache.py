"""Instrumented bytecode on disk. Imports nothing of ours.

One entry per source file, interpreter and optimisation level. An entry names the source it was made from twice: by
modification time (nanoseconds) and size, which saves reading the source, and by a hash of its content, which decides
when time or size differ. A time is believed only when it was already old when the entry was written: a file that is
changed again within the clock's granularity, at the same size, could otherwise go unnoticed. Entries are written to a
file of their own and renamed, so that several processes can share a directory. Anything wrong with an entry means
that there is none.
"""

import binascii
import importlib.util
import marshal
import os
import struct
import sys
import threading
import time
from types import CodeType
from typing import Any, Callable, NamedTuple, Optional

_SETTLED = 2 * 10**9  # nanoseconds: coarser than the time stamps of every common file system

_HEADER = struct.Struct("<4s4sIqQ8sBI")  # mark, interpreter, version, mtime, size, hash, settled, path
_SUM = struct.Struct("<I")  # of header and body
_START = _HEADER.size + _SUM.size
_MARK = b"heal"

_open = open
_replace = os.replace
_unlink = os.unlink
_makedirs = os.makedirs
_getpid = os.getpid
_get_ident = threading.get_ident
_time_ns = time.time_ns
_source_hash = importlib.util.source_hash
_crc32 = binascii.crc32


class Stamp(NamedTuple):
    """Modification time in nanoseconds and size in bytes of a source file."""

    mtime: int
    size: int


class Entry(NamedTuple):
    """What a cache gave back: the code, the hash of its source."""

    code: CodeType
    digest: bytes


class Cache:
    """Entries below ``directory``, made by rewriter ``version``.

    ``complain`` is called once, with a message, when entries cannot be written.
    """

    def __init__(self, directory: str, version: int, complain: Callable[[str], None]) -> None:
        self.directory = directory
        self._version = version
        self._complain = complain
        self._writable = True

    def load(self, path: str, stamp: Stamp, read: Callable[[], bytes]) -> Optional[Entry]:
        """The code made from the file at ``path`` as it is now, or None. ``read`` gives the file's content."""
        name = self._name(path)
        try:
            with _open(name, "rb") as file:
                content = file.read()
        except OSError:
            return None
        fields = self._fields(content, path)
        if fields is None:
            return None
        mtime, size, digest, settled = fields
        believed = settled and (mtime, size) == stamp
        if not believed and (size != stamp.size or _source_hash(read()) != digest):
            return None
        code = _unmarshal(content)
        if code is None:
            return None
        if not believed:
            self.store(path, stamp, digest, code)
        return Entry(code, digest)

    def store(self, path: str, stamp: Stamp, digest: bytes, code: CodeType) -> None:
        """Keep ``code`` for later runs, unless Python was told not to write bytecode."""
        if sys.dont_write_bytecode or not self._writable:
            return
        body = marshal.dumps(code)
        header = _HEADER.pack(
            _MARK, importlib.util.MAGIC_NUMBER, self._version, stamp.mtime, stamp.size, digest,
            _time_ns() - stamp.mtime > _SETTLED, _crc32(os.fsencode(path)),
        )
        name = self._name(path)
        temporary = "{}.{}-{}".format(name, _getpid(), _get_ident())
        try:
            _makedirs(self.directory, exist_ok=True)
            try:
                with _open(temporary, "wb") as file:
                    file.write(header + _SUM.pack(_crc32(body, _crc32(header))) + body)
                _replace(temporary, name)
            except BaseException:
                _discard(temporary)
                raise
        except OSError as error:
            self._writable = False
            self._complain(
                "instrumented bytecode is not kept, so every run compiles anew: {}; "
                "make the directory writable or choose another".format(error)
            )

    def _name(self, path: str) -> str:
        stem = os.path.splitext(os.path.basename(path))[0]
        key = _source_hash(os.fsencode(path)).hex()
        level = sys.flags.optimize
        tag = sys.implementation.cache_tag or "python"
        return os.path.join(self.directory, "{}-{}.{}-{}.heal".format(stem, key, tag, level))

    def _fields(self, content: bytes, path: str) -> Any:
        """Time, size, hash and whether the time can be believed; None when the entry is not for us."""
        if len(content) < _START:
            return None
        mark, magic, version, mtime, size, digest, settled, path_sum = _HEADER.unpack_from(content)
        if (mark, magic, version) != (_MARK, importlib.util.MAGIC_NUMBER, self._version):
            return None
        (total,) = _SUM.unpack_from(content, _HEADER.size)
        view = memoryview(content)
        if path_sum != _crc32(os.fsencode(path)) or total != _crc32(view[_START:], _crc32(view[: _HEADER.size])):
            return None
        return mtime, size, digest, bool(settled)


def _unmarshal(content: bytes) -> Optional[CodeType]:
    try:
        code = marshal.loads(memoryview(content)[_START:])
    except (ValueError, EOFError, TypeError):
        return None  # written by another build of the same version: not readable, made anew
    return code if isinstance(code, CodeType) else None


def _discard(path: str) -> None:
    try:
        _unlink(path)
    except OSError:
        pass  # it was not made, or has been renamed already
