"""Reasons of a failed build of a peer's program."""

import re

import pytest

from kubewasp.projects import go
from kubewasp.projects.toolchain import BuildError
from tools.bench.peers import go_extension, go_programs, wazero_host
from tools.bench.peers.go_programs import UnavailableError

REFUSED = """\
example.dev/module@v1: invalid version: reading https://proxy.example/cache/example.dev/module/@v/v1.info: 403 Forbidden
\tserver response: it is not available.
"""
UNREACHABLE = 'Get "https://proxy.example/@v/list": dial tcp: lookup proxy.example on 192.0.2.1:53: no such host'


def test_a_refusal_is_told_in_one_line_without_the_proxy() -> None:
    assert go_programs.shortened(REFUSED) == (
        "example.dev/module@v1: invalid version: reading the module proxy: 403 Forbidden; "
        "server response: it is not available."
    )


@pytest.mark.parametrize("said", [REFUSED, UNREACHABLE, "open /home/someone/module/go.mod: permission denied"])
def test_what_only_this_machine_is_called_is_left_out(said: str) -> None:
    assert not re.search(r"proxy\.example|192\.0|home|someone|\n", go_programs.shortened(said))


def test_the_name_of_a_module_is_kept() -> None:
    assert "example.dev/module@v1" in go_programs.shortened(REFUSED)


def test_a_long_complaint_is_cut() -> None:
    assert len(go_programs.shortened("no! " * 1000)) == 300


def test_a_machine_without_go_has_no_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> go.Go:
        raise BuildError("there is no Go\nanywhere")

    monkeypatch.setattr(go, "find", none)
    with pytest.raises(UnavailableError, match=r"^there is no Go; anywhere$"):
        wazero_host.program()


def test_a_module_that_cannot_be_had_is_what_the_go_tool_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOFLAGS", "-modcacherw")
    with pytest.raises(
        UnavailableError, match=r"^the Go tool said: .*kube-scheduler-wasm-extension/scheduler.*GOPROXY"
    ):
        go_programs.program_with("go_extension", go_extension.MODULE, "v0.0.1-none")
    with pytest.raises(UnavailableError, match=r"^the Go tool said: .*kube-scheduler-wasm-extension/examples.*GOPROXY"):
        go_programs.published(go_extension.EXAMPLES, "v0.0.1-none", go_extension.GUEST)
