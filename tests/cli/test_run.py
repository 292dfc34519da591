"""Options of `kubewasp run`; tests/e2e runs it on a cluster."""

from pathlib import Path

import pytest

from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.live.recording.recorder import Recording
from kubewasp.server.http_server import Address
from tests.cli.conftest import Kubewasp


def test_address_hosts_and_kubeconfig_go_to_the_server(kubewasp: Kubewasp, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[object] = []

    async def serve(settings: SchedulerConfig, _source: object, *given: object, decisions: float, **_: object) -> None:
        served.extend((settings.client_connection.kubeconfig, *given, decisions))

    monkeypatch.setattr("kubewasp.cli.run._serve", serve)
    hosts = ("--allowed-host", "a", "--allowed-host", "b")
    ended = kubewasp("run", "--listen", "[::]:1", *hosts, "--kubeconfig", "clusters/other")
    assert ended.code == 0
    assert served == ["clusters/other", Address("::", 1), ("a", "b"), 0.01]


@pytest.mark.parametrize("command", ["run", "extender"])
def test_a_host_that_no_request_can_name_is_wrong_usage(kubewasp: Kubewasp, command: str) -> None:
    told = kubewasp(command, "--allowed-host", "http://site.example").usage_error
    expected = "expected a host name such as scheduler.example, or *, got 'http://site.example'"
    assert told.startswith(f"invalid value for --allowed-host: {expected}")


def test_a_recording_goes_to_its_folder_within_its_size(
    kubewasp: Kubewasp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[object] = []

    async def serve(*_given: object, recording: Recording, **_: object) -> None:
        made.extend((recording.writer.folder, recording.writer._limit))

    monkeypatch.setattr("kubewasp.cli.run._serve", serve)
    ended = kubewasp("run", "--record", tmp_path / "recording", "--record-size", "64Mi", "--kubeconfig", "other")
    assert ended.code == 0
    assert made == [tmp_path / "recording", 64 << 20]


def test_a_folder_that_cannot_be_recorded_to_is_an_error(kubewasp: Kubewasp, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = kubewasp("run", "--record", tmp_path / "file", "--kubeconfig", "other")
    assert ended.code == 1
    assert ended.err.startswith(f"error: {tmp_path / 'file'}: cannot be used for a recording: ")
