"""Hook and import lists of the host against the independently written test guests."""

import pytest

from kubewasp.wasm.core.abi import CLASSIC_IMPORTS, EXTENSION_IMPORTS, WASI_IMPORTS
from kubewasp.wasm.hooks import HOOKS, Answer
from tests import guests


def test_the_host_knows_the_hooks_of_the_contract() -> None:
    assert tuple(HOOKS)[:15] == guests.HOOKS
    assert tuple(HOOKS)[15:] == guests.EXTENSION_HOOKS
    assert [hook.index for hook in HOOKS.values()] == list(range(22))


@pytest.mark.parametrize(
    ("answer", "hooks"),
    [
        (Answer.NOTHING, {"enqueue", "unreserve", "postbind", "clonestate", "selectstate", "dropstate"}),
        (Answer.SCORE, {"score"}),
        (Answer.NOMINATION, {"postfilter"}),
        (Answer.PERMIT, {"permit"}),
    ],
)
def test_hooks_answer_as_the_contract_says(answer: Answer, hooks: set[str]) -> None:
    assert {hook.name for hook in HOOKS.values() if hook.answer is answer} == hooks


def test_signatures_are_written_as_errors_show_them() -> None:
    assert HOOKS["filter"].signature == "() -> (i32)"
    assert HOOKS["score"].signature == "() -> (i64)"
    assert HOOKS["postbind"].signature == "() -> ()"


def test_the_host_provides_the_imports_of_the_contract() -> None:
    provided = {(item.module, item.name, len(item.parameters)) for item in CLASSIC_IMPORTS}
    assert provided == {item for item in guests.IMPORTS if item[0].startswith("k8s.io/")}


def test_the_host_provides_the_imports_of_the_extension() -> None:
    assert [(item.name, len(item.parameters)) for item in EXTENSION_IMPORTS] == list(guests.EXTENSION)
    assert {item.name for item in EXTENSION_IMPORTS if item.result == "i64"} == {"now", "queued_at"}


def test_the_host_answers_output_and_sleep_itself() -> None:
    assert [item.name for item in WASI_IMPORTS] == ["fd_write", "poll_oneoff"]


def test_only_getters_return_something() -> None:
    for item in CLASSIC_IMPORTS:
        is_getter = item.parameters[-2:] == ("buf", "limit") and not item.name.startswith("handle.")
        assert bool(item.result) == (is_getter or item.name == "severity"), item.key
