"""Ledger of versions: the last good one of each plugin and those judged bad, in a small file that survives restarts.

The file is in the cache folder of the user, and not used if another user may write to it. A missing or damaged one is
an empty ledger, and one that cannot be written is a warning: a scheduler must start and run without a disk.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp import user_cache
from kubewasp.rollout.release import ReleaseKey

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)
_FORMAT: Final = 1
_MAX_BYTES: Final = 1 << 20
_MOST_PLUGINS: Final = 1000
_MOST_BAD: Final = 20  # per plugin
_MAX_WASM: Final = 1 << 30
_WASM: Final = ".wasm"
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class GoodVersion:
    """A version that has stood its trial. `reference` is what its address meant."""

    key: ReleaseKey
    reference: str


@dataclass(frozen=True, slots=True)
class BadVersion:
    """A version that was rolled back, and the reason."""

    key: ReleaseKey
    reference: str
    reason: str
    time: float


def ledger_file(config: str) -> Path:
    """The file of a process, by its configuration file: several processes may share the cache folder."""
    name = hashlib.sha256(str(Path(config).absolute()).encode() if config else b"").hexdigest()[:16]
    return user_cache.directory() / "rollout" / f"{name}.json"


class Ledger:
    """Good and bad versions. Used by one thread at a time."""

    def __init__(self, path: Path | None) -> None:
        """Without a path it is in memory only."""
        self._path = path
        self._good: dict[str, GoodVersion] = {}
        self._bad: dict[str, list[BadVersion]] = {}
        self._unproven: set[str] = set()
        self._has_warned = False
        if path is not None:
            self._read(path)

    @property
    def place(self) -> str:
        return "the ledger in memory" if self._path is None else str(self._path)

    def good(self, plugin: str) -> GoodVersion | None:
        return self._good.get(plugin)

    def bad(self, plugin: str, key: ReleaseKey) -> BadVersion | None:
        return next((item for item in self._bad.get(plugin, ()) if item.key == key), None)

    def all_bad(self) -> Iterator[tuple[str, BadVersion]]:
        """Of all plugins, the oldest first. Safe from any thread."""
        for plugin, found in list(self._bad.items()):
            for item in found:
                yield plugin, item

    def keep(self, digest: str, wasm: bytes) -> None:
        """Keeps the content of a version whose source has no versions; until others are good, or it is bad."""
        if self._path is not None and digest not in self._unproven:
            self._unproven.add(digest)
            self._write(_wasm_name(self._path, digest), wasm, replace=False)

    def accept(self, plugin: str, key: ReleaseKey, reference: str) -> None:
        """Notes a good version."""
        if self._good.get(plugin) == GoodVersion(key, reference):
            return
        self._good[plugin] = GoodVersion(key, reference)
        self._bad[plugin] = [item for item in self._bad.get(plugin, ()) if item.key != key]
        self._unproven.discard(key.digest)
        self._save()

    def condemn(self, plugin: str, version: BadVersion) -> None:
        self._unproven.discard(version.key.digest)
        others = [item for item in self._bad.get(plugin, ()) if item.key != version.key]
        self._bad[plugin] = [*others, version][-_MOST_BAD:]
        self._save()

    def forgive(self) -> None:
        """Forgets all bad versions: they may be tried again."""
        if any(self._bad.values()):
            self._bad = {}
            self._save()

    def wasm(self, digest: str) -> bytes | None:
        """The kept wasm of a good version, if its content is still that."""
        if self._path is None or not _DIGEST.fullmatch(digest):
            return None
        content = self._content(self._path, _wasm_name(self._path, digest), _MAX_WASM)
        return content if f"sha256:{hashlib.sha256(content).hexdigest()}" == digest else None

    # ------------------------------------------------------------------ file

    def _read(self, path: Path) -> None:
        content = self._content(path, path.name, _MAX_BYTES)
        if not content:
            return
        try:
            self._parse(orjson.loads(content))
        except (ValueError, KeyError, TypeError, AttributeError):
            self._good, self._bad = {}, {}
            logger.warning("Damaged ledger of versions ignored", extra={"path": str(path)})

    def _content(self, path: Path, name: str, most: int) -> bytes:
        """A file beside the ledger; empty if it is missing, too large, or not of this user alone."""
        try:
            with user_cache.opened_folder(path.parent) as folder, user_cache.open_file(folder, name) as file:
                content = file.read(most + 1)
        except FileNotFoundError:
            return b""
        except OSError as error:
            logger.warning(
                "Ledger of versions not read", extra={"path": str(path), "err": error.strerror or str(error)}
            )
            return b""
        return content if len(content) <= most else b""

    def _parse(self, document: Any) -> None:
        if document["format"] != _FORMAT:
            raise ValueError("unknown format")
        for plugin, entry in list(document["plugins"].items())[:_MOST_PLUGINS]:
            good = entry.get("good")
            if good is not None:
                self._good[str(plugin)] = GoodVersion(_key(good), str(good["reference"]))
            bad = [
                BadVersion(_key(item), str(item["reference"]), str(item["reason"]), float(item["time"]))
                for item in entry.get("bad", ())[:_MOST_BAD]
            ]
            if bad:
                self._bad[str(plugin)] = bad

    def _save(self) -> None:
        if self._path is None:
            return
        plugins: dict[str, dict[str, Any]] = {}
        for plugin, good in self._good.items():
            plugins.setdefault(plugin, {})["good"] = {**_entry(good.key), "reference": good.reference}
        for plugin, bad in self._bad.items():
            if bad:
                plugins.setdefault(plugin, {})["bad"] = [
                    {**_entry(item.key), "reference": item.reference, "reason": item.reason, "time": item.time}
                    for item in bad
                ]
        document = {"format": _FORMAT, "plugins": plugins}
        self._write(self._path.name, orjson.dumps(document, option=orjson.OPT_INDENT_2))

    def _write(self, name: str, content: bytes, *, replace: bool = True) -> None:
        """Writes a file beside the ledger, as a whole; removes kept wasm of versions that are not needed any more."""
        if self._path is None:
            return
        digests = {good.key.digest for good in self._good.values()} | self._unproven
        kept = {_wasm_name(self._path, digest) for digest in digests}
        try:
            with user_cache.opened_folder(self._path.parent, make=True) as folder:
                user_cache.write_file(folder, name, [content], replace=replace)
                for found in user_cache.names(folder):
                    if found.startswith(f"{self._path.stem}-") and found.endswith(_WASM) and found not in kept:
                        with suppress(OSError):
                            os.unlink(found, dir_fd=folder)
        except OSError as error:
            if not self._has_warned:
                self._has_warned = True
                fields = {"path": str(self._path), "err": error.strerror or str(error)}
                logger.warning("Ledger of versions not written: lost with the process", extra=fields)


def _wasm_name(path: Path, digest: str) -> str:
    return f"{path.stem}-{digest.removeprefix('sha256:')}{_WASM}"


def _key(entry: Any) -> ReleaseKey:
    digest = str(entry["digest"])
    if not _DIGEST.fullmatch(digest):
        raise ValueError("not a digest")
    return ReleaseKey(digest, str(entry["settings"]))


def _entry(key: ReleaseKey) -> dict[str, str]:
    return {"digest": key.digest, "settings": key.settings}
