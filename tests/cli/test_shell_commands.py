import shutil
import subprocess

import pytest

from tests.cli.conftest import Kubewasp

SHELLS = {
    "bash": "complete -o default -F _kubewasp_completion kubewasp",
    "zsh": "compdef _kubewasp_completion kubewasp",
    "fish": "complete --command kubewasp",
    "powershell": "Register-ArgumentCompleter -Native -CommandName kubewasp",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_script_of_a_shell_asks_the_command(kubewasp: Kubewasp, shell: str) -> None:
    ended = kubewasp("completion", shell)
    assert (ended.code, ended.err) == (0, "")
    assert SHELLS[shell] in ended.out
    assert "_KUBEWASP_COMPLETE" in ended.out
    assert f"complete_{shell}" in ended.out


def test_script_of_bash_is_valid(kubewasp: Kubewasp) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    script = kubewasp("completion", "bash").out
    ended = subprocess.run([bash, "-c", f"{script}\ncomplete -p kubewasp"], capture_output=True, text=True)
    assert ended.returncode == 0
    assert "_kubewasp_completion" in ended.stdout


def test_completion_is_a_command_only(kubewasp: Kubewasp) -> None:
    assert "--show-completion" not in kubewasp("--help").out
    assert kubewasp("--show-completion").usage_error.startswith("no such option: --show-completion")
