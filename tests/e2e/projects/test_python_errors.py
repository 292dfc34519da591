"""Python plugins that cannot be built, with the real compiler."""

from pathlib import Path

import pytest

from kubewasp.projects import python
from kubewasp.projects.toolchain import BuildError
from tests.projects.test_python import PLUGIN


def test_an_exception_while_it_is_imported_is_shown_as_python_says_it(tmp_path: Path) -> None:
    project = tmp_path / "mine"
    project.mkdir()
    (project / "tables.py").write_text("PRICES = {}\nCHEAPEST = min(PRICES.values())\n")
    (project / "plugin.py").write_text(f"{PLUGIN}\nfrom tables import CHEAPEST\n")
    with pytest.raises(BuildError) as raised:
        python.build(project, tmp_path / "out.wasm")
    assert str(raised.value) == (
        "mine cannot be built:\n"
        "Traceback (most recent call last):\n"
        '  File "plugin.py", line 9, in <module>\n'
        "    from tables import CHEAPEST\n"
        '  File "tables.py", line 2, in <module>\n'
        "    CHEAPEST = min(PRICES.values())\n"
        "ValueError: min() iterable argument is empty"
    )
    assert not (tmp_path / "out.wasm").exists()
