"""What was kept, on disk: so that undo outlasts the program, and files that belong together change together.

Each change that is kept has a record in a folder of the user's own: what its files held before, and digests of what
they hold after. It is there before the first file is written, under a name that says that writing has begun. A program
that is killed between two files leaves such a record, and the next start takes back what was half done.

The folder is `XDG_STATE_HOME`'s, not that of the data: what is found there is written into files, so nobody else may
put anything into it, and folders of data are shared, read-only, or under version control.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from perf_views.kept_changes import KeptChange, content, digest, put
from perfcore.base.errors import InputError, PerfError
from perfcore.base.files import write_bytes

__all__ = ["Journal", "state_folder"]

_Found = TypeVar("_Found")

_KEPT, _BEGUN = ".json", ".begun"
_MOST_RECORDS = 100  # of all subjects together
_MOST_BYTES = 64 << 20  # of all records together; a model of 1,000 categories takes 2 MB


class Journal:
    """The records of what was kept while certain files were open.

    Parameters
    ----------
    folder : Path
        It is made when the first change is kept.
    opened : sequence of str
        What the user opened: places of changes are places in a page of just these.

    Attributes
    ----------
    remarks : list of str
        What the user must know of, such as files that were mended.
    """

    def __init__(self, folder: Path, opened: Sequence[str]) -> None:
        self._folder = folder
        names = [str(Path(name).resolve()) for name in opened]
        self._key = hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self.remarks: list[str] = []

    def mend(self) -> None:
        """Take back what a program that was killed had written in part, whatever it had open."""
        self._look(self._mend_all)

    def changes(self) -> list[KeptChange]:
        """What can still be taken back, oldest first; what cannot is forgotten, and the remarks say why."""
        return self._look(self._reachable) or []

    @contextlib.contextmanager
    def keeping(self, change: KeptChange) -> Iterator[None]:
        """Around the writing of a change's files; where that is refused, the record goes."""
        with self._begun(change) as record:
            yield
            if record is not None:
                with contextlib.suppress(OSError):  # the next start finds that all was written
                    record.replace(record.with_suffix(_KEPT))
                    self._prune()

    @contextlib.contextmanager
    def undoing(self, change: KeptChange) -> Iterator[None]:
        """Around the writing of what a change's files held before."""
        with self._begun(change) as record:
            yield
            if record is not None:
                with contextlib.suppress(OSError):  # the next start finds that all was taken back
                    record.with_suffix(_KEPT).unlink(missing_ok=True)
                    record.unlink()

    @contextlib.contextmanager
    def _begun(self, change: KeptChange) -> Iterator[Path | None]:
        """The record under the name that says that writing has begun; None where it cannot be written."""
        record = self._folder / f"{self._key}-{change.number}{_BEGUN}"
        with contextlib.ExitStack() as stack:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                stack.enter_context(self._locked())
                write_bytes(record, msgspec.json.encode(change))
            except (OSError, InputError) as error:
                # A home that is full or read-only must not keep anybody from saving a model.
                self.remarks.append(f"undo ends with this program, since its record cannot be written: {error}")
                yield None
                return
            try:
                yield record
            except PerfError:
                if len({digest(content(Path(file.path))) == file.after for file in change.files}) == 1:
                    record.unlink(missing_ok=True)
                raise  # where files do not belong together, on a disk that is full, the next start mends them

    def _look(self, look: Callable[[], _Found]) -> _Found | None:
        """What looking at the records alone gives; where they cannot be read, the page opens without them."""
        if not self._folder.is_dir():
            return None
        try:
            with self._locked():
                return look()
        except (OSError, InputError) as error:
            self.remarks.append(f"what was kept before cannot be looked at, nor undone: {error}")
            return None

    def _reachable(self) -> list[KeptChange]:
        changes: list[KeptChange] = []
        holds: dict[str, str | None] = {}  # each file, once the changes found so far are taken back
        records = sorted(self._folder.glob(f"{self._key}-*{_KEPT}"), reverse=True)
        for index, record in enumerate(records):
            change = _read(record)
            files = () if change is None else change.files
            other = [f.path for f in files if holds.get(f.path, digest(content(Path(f.path)))) != f.after]
            if change is None or other:
                if change is not None and not changes:
                    self.remarks.append(f"{change.summary}: cannot be undone, {other[0]} was changed since")
                for each in records[index:]:
                    each.unlink(missing_ok=True)
                break
            holds |= {f.path: digest(f.before) for f in files}
            changes.append(change)
        return changes[::-1]

    def _mend_all(self) -> None:
        for record in sorted(self._folder.glob(f"*{_BEGUN}")):
            change = _read(record)
            if change is not None:
                self._mend(record, change)

    def _mend(self, record: Path, change: KeptChange) -> None:
        now = {file.path: digest(content(Path(file.path))) for file in change.files}
        changed = [file for file in change.files if now[file.path] != digest(file.before)]
        if all(now[file.path] == file.after for file in change.files):
            record.replace(record.with_suffix(_KEPT))  # all was written; or, of an undo, nothing
            return
        names = ", ".join(now)
        if any(now[file.path] != file.after for file in changed):
            text = f"{change.summary}: the program was stopped while it wrote {names}, and a file was changed since"
            self.remarks.append(f"{text}; look whether they belong together")
        elif changed:
            for file in changed:
                put(Path(file.path), file.before)
            text = f"{change.summary}: the program was stopped while it wrote {names}"
            self.remarks.append(f"{text}; they hold again what they held before")
        record.with_suffix(_KEPT).unlink(missing_ok=True)
        record.unlink()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among all programs of the user; the lock of one that is killed goes with it."""
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _prune(self) -> None:
        """Forget the oldest records of all subjects where there are too many or they are too large."""
        records = sorted(self._folder.glob(f"*{_KEPT}"), key=lambda path: path.stem.rpartition("-")[2], reverse=True)
        room = _MOST_BYTES
        for number, record in enumerate(records):
            room -= record.stat().st_size
            if number >= _MOST_RECORDS or room < 0:
                record.unlink()


def state_folder() -> Path:
    """Where records are: below ``XDG_STATE_HOME``, by default ``~/.local/state``."""
    configured = Path(os.environ.get("XDG_STATE_HOME", ""))
    # The XDG base directory specification has relative ones ignored.
    base = configured if configured.is_absolute() else Path("~/.local/state").expanduser()
    return base / "perfcore" / "explore"


def _read(record: Path) -> KeptChange | None:
    """A record; None where it is none of this version's."""
    try:
        return msgspec.json.decode(record.read_bytes(), type=KeptChange)
    except (OSError, msgspec.DecodeError):
        return None
