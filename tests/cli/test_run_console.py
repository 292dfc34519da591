"""Options of the console of `kubewasp run`: access by default, and combinations that are refused before the start."""

from pathlib import Path
from typing import Any

import pytest

from kubewasp.cli.options import ConsoleAccess
from kubewasp.cli.run_console import ConsoleOptions, RunConsole
from kubewasp.console.authorities import ConsoleAccessError
from tests.cli.conftest import Kubewasp

LOCAL, ANY = ("127.0.0.1", 0), ("0.0.0.0", 0)
TLS = {"certificate": "cert.pem", "key": "key.pem"}


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("0123456789abcdefghij")
    return file


def options(listen: tuple[str, int] = LOCAL, **more: Any) -> ConsoleOptions:
    return ConsoleOptions(listen, **more)


def test_access_is_local_on_loopback_and_by_token_elsewhere(token: Path) -> None:
    assert options().chosen_access is ConsoleAccess.LOCAL
    assert options(token=token).chosen_access is ConsoleAccess.TOKEN
    assert options(ANY).chosen_access is ConsoleAccess.TOKEN
    assert options(access=ConsoleAccess.KUBERNETES).chosen_access is ConsoleAccess.KUBERNETES


def test_a_token_is_made_and_printed_once_if_none_is_given(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    RunConsole(options(ANY, **TLS))
    printed = capsys.readouterr().err
    assert printed.startswith("Token of the console, for this process only: ")
    assert len(printed.split()[-1]) == 43
    assert caplog.text == ""


def test_a_given_token_is_not_printed(capsys: pytest.CaptureFixture[str], token: Path) -> None:
    RunConsole(options(ANY, token=token, **TLS))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"listen": ANY}, "needs TLS on 0.0.0.0:0: give --console-cert and --console-key"),
        ({"listen": ANY, "access": ConsoleAccess.LOCAL, **TLS}, "open to everybody"),
        ({"access": ConsoleAccess.KUBERNETES, "listen": ANY}, "needs TLS"),
    ],
)
def test_unsafe_combinations_are_refused(more: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConsoleAccessError, match=complaint):
        RunConsole(options(**more))


def test_tokens_with_another_access_are_refused(token: Path) -> None:
    with pytest.raises(ConsoleAccessError, match="no use with --console-access kubernetes"):
        RunConsole(options(token=token, access=ConsoleAccess.KUBERNETES))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--console-listen", "127.0.0.1:0"), "give --console as well"),
        (("--console-access", "token"), "give --console as well"),
        (("--console", "--console-listen", "nowhere"), "cannot listen on 'nowhere'"),
        (("--console", "--console-cert", "a.pem"), "--console-cert and --console-key go together"),
        (("--console", "--console-access", "all"), "expected local, token or kubernetes"),
    ],
)
def test_wrong_options_are_usage_errors(kubewasp: Kubewasp, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in kubewasp("run", *arguments).usage_error


def test_a_missing_token_file_is_one_line(kubewasp: Kubewasp, tmp_path: Path) -> None:
    ended = kubewasp("run", "--console", "--console-token", tmp_path / "none")
    assert ended.code == 1
    assert ended.err == f"error: {tmp_path / 'none'}: cannot be read: No such file or directory\n"
