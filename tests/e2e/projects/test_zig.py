"""Guests in Zig that link the C SDK: the example, and the code of the page."""

import re
from pathlib import Path

import pytest

from kubewasp import Guest
from kubewasp.wasm.errors import GuestLoadError
from tests.guests.build import EXAMPLES, ROOT, zig_guest


@pytest.fixture(scope="module")
def guest() -> Guest:
    return Guest.load(zig_guest(EXAMPLES / "nodenumber.zig"))


def test_zig_reads_pods_and_nodes(guest: Guest) -> None:
    found = guest.evaluate({"metadata": {"name": "web-3"}}, [{"metadata": {"name": f"node-{n}"}} for n in (1, 3)])
    assert found.scores == {"node-1": 0, "node-3": 10}


def test_the_code_of_the_page_reads_labels_and_rejects_with_a_reason(tmp_path: Path) -> None:
    [code] = re.findall(r"^```zig\n(.*?)^```", (ROOT / "docs" / "sdk-c.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "page.zig").write_text(code)
    nodes = [{"metadata": {"name": "node-3"}}, {"metadata": {"name": "node-4", "labels": {"closed": "yes"}}}]
    found = Guest.load(zig_guest(tmp_path / "page.zig")).evaluate({"metadata": {"name": "web-3"}}, nodes)
    assert list(found.rejected) == ["node-4"]
    assert found.rejected["node-4"].reason == "node node-4 is closed"


def test_a_configuration_is_refused_with_a_reason() -> None:
    with pytest.raises(GuestLoadError, match="config: reserved"):
        Guest.load(zig_guest(EXAMPLES / "nodenumber.zig"), config='{"reserved": "many"}')


def test_only_what_is_used_is_in_the_guest(guest: Guest) -> None:
    assert guest.module.size < 10_000
    assert ("kubewasp/v1", "waiting_pods") not in guest.module.imports
