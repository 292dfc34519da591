"""Commands and output of docs/first-plugin.md."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.test_docs import PLAIN, ROOT, commands, skeleton

PAGE = (ROOT / "docs" / "first-plugin.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BIN = Path(sys.executable).parent


def same_units(text: str) -> list[str]:
    """Lines without units of time: cached builds take milliseconds, not seconds."""
    return [line.replace("# ms", "# s") for line in skeleton(text)]


def test_the_page_is_true(tmp_path: Path) -> None:
    cache = str(ROOT / ".build" / "compiled")
    environment = PLAIN | {"PATH": f"{BIN}{os.pathsep}{PLAIN['PATH']}", "KUBEWASP_CACHE_DIR": cache}
    ran = 0
    for _, file, body in FENCE.findall(PAGE):
        if file:
            assert (tmp_path / "team-nodes" / file).exists(), "a file that `plugin new` makes is replaced"
            (tmp_path / "team-nodes" / file).write_text(body, encoding="utf-8")
            continue
        for command, shown in commands(body):
            words = shlex.split(command)
            done = subprocess.run(
                [BIN / words[0], *words[1:]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr + done.stdout
            wanted = same_units(shown)
            if wanted[-1] == "…":
                assert same_units(done.stdout)[: len(wanted) - 1] == wanted[:-1]
            else:
                assert same_units(done.stdout) == wanted
            ran += 1
    assert ran == 5
