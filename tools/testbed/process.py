"""Servers on loopback as child processes: start until ready, stop, kill, restart on the same port."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self

from tools.testbed.waiting import wait_until

# Below the ephemeral ports: an outgoing connection could take the port of a stopped server, and even reach itself.
_PORTS: Final = range(20_000, 32_000)
_START_SECONDS: Final = 90.0
_LOG_LINES: Final = 30
_ROOT: Final = Path(__file__).parents[2]


def importable(*folders: Path) -> dict[str, str]:
    """The environment of a Python process, in any folder, that imports `tools` and the packages of these folders."""
    inherited = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join([*map(str, (_ROOT, *folders)), *filter(None, [inherited])])}


def free_port() -> int:
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"no port of {_PORTS} is free")


class Server:
    """A process that counts as started once `ready` holds. Use it in a `with` block, or start and stop it."""

    name: ClassVar[str]
    stop_seconds: ClassVar = 30.0  # then it is killed

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self.log = folder / f"{self.name}.log"
        self.start_seconds = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str | Path]:
        raise NotImplementedError

    def ready(self) -> bool:
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """Additional variables of its environment."""
        return {}

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError(f"{self.name} is not running")
        return self._process.pid

    def start(self) -> Self:
        """Starts the server and waits until it is ready."""
        if self.running:
            raise RuntimeError(f"{self.name} is running already")
        began = time.monotonic()
        with self.log.open("ab") as log:
            # In its own session: Ctrl-C ends the tests, and they stop the server.
            self._process = subprocess.Popen(
                [str(part) for part in self.command()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, **self.environment()},
                start_new_session=True,
            )
        # Killed tests cannot stop anything, but their end of this pipe closes in any case.
        self._guard = subprocess.Popen(
            ["sh", "-c", f"read -r _; kill -9 {self._process.pid}"], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            wait_until(self._up, _START_SECONDS, f"{self.name} to be ready", self.log_tail)
        except BaseException:
            self.kill()
            raise
        self.start_seconds = time.monotonic() - began
        return self

    def stop(self) -> None:
        """Terminates the server; kills it after `stop_seconds`."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(self.stop_seconds)
        self.kill()

    def kill(self) -> None:
        """Kills the server, as in a crash."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._process = None
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None

    def restart(self, *, crash: bool = False) -> None:
        """On the same port with the same data."""
        if crash:
            self.kill()
        else:
            self.stop()
        self.start()

    def log_tail(self, lines: int = _LOG_LINES) -> str:
        last = self.log.read_text(errors="replace").splitlines()[-lines:] if self.log.exists() else []
        return "\n".join([f"the end of {self.log}:", *last])

    def cpu_seconds(self) -> float:
        """CPU seconds used so far, user and system."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Resident bytes."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def peak_memory(self) -> int:
        """Peak of resident bytes."""
        return peak_memory(self.pid)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.close()

    def close(self) -> None:
        """Closes connections to the server after its last stop."""

    def _up(self) -> bool:
        if not self.running:
            code = self._process.returncode if self._process else None
            raise RuntimeError(f"{self.name} ended with code {code}; {self.log_tail()}")
        return self.ready()


def peak_memory(process: int | str) -> int:
    """Peak of resident bytes of a process, or of this one (`self`)."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])
