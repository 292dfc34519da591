"""A guest of the AssemblyScript compiler's default build, which imports `env.abort`."""

import pytest

from kubewasp import Guest
from tests.guests.build import ROOT, assemblyscript_guest


@pytest.fixture(scope="module")
def guest() -> Guest:
    source = ROOT / "tests" / "e2e" / "guests" / "assemblyscript" / "policy.ts"
    return Guest.load(assemblyscript_guest(source), name="policy")


def evaluated(guest: Guest, *names: str):  # noqa: ANN201
    return guest.evaluate({"metadata": {"name": "web"}}, [{"metadata": {"name": name}} for name in names])


def test_the_default_build_loads_and_runs(guest: Guest) -> None:
    found = evaluated(guest, "node-3", "closed-1", "node-7")
    assert ("env", "abort") in guest.module.imports
    assert found.rejected["closed-1"].reason == "node closed-1 is closed"
    assert found.scores == {"node-3": 3, "node-7": 7}


def test_an_exception_names_message_file_and_line(guest: Guest) -> None:
    found = evaluated(guest, "spare")
    assert "abort: a node without a number: spare at policy.ts:27:" in str(found)
