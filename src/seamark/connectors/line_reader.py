r"""Complete lines from a file that grows, with exact byte positions.

Lines end with ``\n``, ``\r\n`` or ``\r``, as for Java. What follows the last line end stays unread; so does a ``\r`` at
the very end, since a ``\n`` may follow. Bytes that are not UTF-8 become U+FFFD, as in Java's decoder.
"""

from __future__ import annotations

import os
import stat

from seamark.errors import ConnectError

CHUNK_SIZE = 4 * 1024 * 1024


class LineReader:
    """An open file and a position in it.

    Raises:
        FileNotFoundError: there is no such file (yet).
        ConnectError: it cannot be read, or is shorter than the position.
    """

    def __init__(self, file: str, position: int, *, chunk_size: int = CHUNK_SIZE) -> None:
        self.file = file
        self.position = position
        """Bytes before the next line that `read` returns."""
        self._chunk_size = chunk_size
        self._fd = _open(file)
        self._lines: list[bytes] = []
        self._next_line = 0
        self._line_ends: list[bytes] | None = None
        self._unfinished_size = -1
        try:
            self._identity = self._stat()
        except ConnectError:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; may be called again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self, limit: int) -> list[str]:
        """Up to `limit` complete lines without their ends; empty if there is none at the moment."""
        if self._next_line >= len(self._lines) and not self._fill():
            return []
        first, last = self._next_line, self._next_line + limit
        lines = self._lines[first:last]
        self._next_line += len(lines)
        self.position += sum(map(len, lines))
        self.position += len(lines) if self._line_ends is None else sum(map(len, self._line_ends[first:last]))
        return decode_lines(lines)

    def has_line(self) -> bool:
        """Whether `read` would return something, as far as one chunk tells."""
        size = self._size()
        complete = _complete(os.pread(self._fd, min(self._chunk_size, size - self.position), self.position))
        return complete > 0 or size - self.position > self._chunk_size

    def was_replaced(self) -> bool:
        """Whether another file has the name now, while this one has nothing more to give."""
        if self._next_line < len(self._lines) or self._size() > max(self.position, self._unfinished_size):
            return False
        try:
            found = os.stat(self.file)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) != self._identity

    def _fill(self) -> bool:
        """Read the next chunk; True if it holds a complete line."""
        size = self._size()
        if size == self.position or size == self._unfinished_size:
            return False
        length = self._chunk_size
        while True:
            data = os.pread(self._fd, min(length, size - self.position), self.position)
            complete = _complete(data)
            if complete > 0:
                break
            if len(data) >= size - self.position or not data:
                self._unfinished_size = size  # look again when the file has grown
                return False
            length *= 2  # a line longer than the chunk
        if b"\r" in data:
            ended = data[:complete].splitlines(keepends=True)
            self._lines = [line.rstrip(b"\r\n") for line in ended]
            self._line_ends = [line[len(text) :] for line, text in zip(ended, self._lines, strict=True)]
        else:
            self._lines = data[: complete - 1].split(b"\n")
            self._line_ends = None
        self._next_line = 0
        return True

    def _size(self) -> int:
        size = os.fstat(self._fd).st_size
        if size < self.position:
            raise ConnectError(
                f"File {self.file} has {size} bytes, but {self.position} were read already: it was truncated or "
                f"replaced. Restore it, or stop the connector and alter or reset its offset to say where to go on."
            )
        return size

    def _stat(self) -> tuple[int, int]:
        found = os.fstat(self._fd)
        if not stat.S_ISREG(found.st_mode):
            kind = "a directory" if stat.S_ISDIR(found.st_mode) else "not a regular file"
            raise ConnectError(f"Error while trying to open file {self.file}: it is {kind}")
        self._size()
        return found.st_dev, found.st_ino


def _open(file: str) -> int:
    try:
        # not blocking: opening a pipe that nobody writes to would wait for ever
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConnectError(f"Error while trying to open file {file}: {error.strerror}") from error


def _complete(data: bytes) -> int:
    """How many bytes of the data end with a line end that is surely whole."""
    after_newline = data.rfind(b"\n") + 1
    after_return = data.rfind(b"\r", after_newline, len(data) - 1) + 1 if data else 0
    return max(after_newline, after_return)


def decode_lines(lines: list[bytes]) -> list[str]:
    """The lines as text; decoded in one go, which is several times faster than line by line."""
    try:
        return b"\n".join(lines).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return [line.decode("utf-8", "replace") for line in lines]
