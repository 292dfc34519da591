"""Usage errors: exit code 2, and a text with the expected usage."""

import pytest

from kubewasp.cli import main
from tests.cli.conftest import Kubewasp
from tests.guests import SINGLE_HOOKS
from tests.guests.build import wat, wat_text


def usage_error(kubewasp: Kubewasp, *arguments: object) -> str:
    return kubewasp("plugin", "call", wat("filter"), *arguments).usage_error


def test_unknown_hook(kubewasp: Kubewasp) -> None:
    told = usage_error(kubewasp, "filter", "fliter")
    assert told == "invalid value for HOOK: unknown hook 'fliter'; did you mean filter?"
    told = usage_error(kubewasp, "nothing")
    assert told == f"invalid value for HOOK: unknown hook 'nothing'; there are {', '.join(SINGLE_HOOKS)}"


def test_hook_that_the_guest_does_not_export(kubewasp: Kubewasp) -> None:
    ended = kubewasp("plugin", "call", wat("postfilter"), "filter", "score")
    assert ended.usage_error.endswith("does not export score; exported: filter, postfilter")


def test_missing_arguments(kubewasp: Kubewasp) -> None:
    assert usage_error(kubewasp) == "missing argument HOOK"
    for command in ("call", "inspect", "bench"):
        assert "missing argument" in kubewasp("plugin", command).usage_error


@pytest.mark.parametrize("option", ["--limit", "--global", "--score", "--node-status"])
@pytest.mark.parametrize("given", ["name", "=1", ""])
def test_assignment_without_name_or_value(kubewasp: Kubewasp, option: str, given: str) -> None:
    told = usage_error(kubewasp, "filter", option, given)
    assert told == f"invalid value for {option}: expected NAME=VALUE, got {given!r}"


@pytest.mark.parametrize("option", ["--global", "--score", "--node-status"])
@pytest.mark.parametrize("value", ["", "many", "1.5", "08", str(2**63)])
def test_value_that_is_no_integer(kubewasp: Kubewasp, option: str, value: str) -> None:
    told = usage_error(kubewasp, "filter", option, f"name={value}")
    assert told.startswith(f"invalid value for {option}: name: expected a 64-bit integer")
    assert told.endswith(f"got {value!r}")


def test_unknown_status_name(kubewasp: Kubewasp) -> None:
    told = usage_error(kubewasp, "filter", "--node-status", "a=Nope")
    assert "one of Success, Error, Unschedulable, UnschedulableAndUnresolvable, Wait, Skip" in told


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("speed=1", "limits.speed: unknown limit; there are memory, callTimeout, startTimeout"),
        ("call_timeout=1s", "limits.call_timeout: unknown limit"),
        ("memory=1", "limits.memory: expected a size from 64Ki to 4Gi, got 1 bytes"),
        ("memory=lots", "limits.memory: 'lots' is not a quantity"),
        ("callTimeout=soon", "limits.callTimeout: "),
        ("callTimeout=1h", "limits.callTimeout: expected a duration from 10ms to 10m0s, got 1h0m0s"),
    ],
)
@pytest.mark.parametrize("command", ["call", "inspect", "bench"])
def test_limit_that_makes_no_sense(kubewasp: Kubewasp, command: str, limit: str, told: str) -> None:
    hooks = ["filter"] if command == "call" else []
    ended = kubewasp("plugin", command, wat("filter"), *hooks, "--limit", limit)
    assert f"invalid value for --limit: {told}" in ended.usage_error


@pytest.mark.parametrize("option", ["--config", "--arg", "--score", "--node-status"])
def test_text_that_is_not_utf8(kubewasp: Kubewasp, option: str) -> None:
    told = usage_error(kubewasp, "filter", option, "\udcff=1")
    assert told == f"invalid value for {option}: expected UTF-8 text, got '\\udcff=1'"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--nodes", "0"], "invalid value for --nodes: expected 1 to 100000, got 0"),
        (["--pods", "0"], "invalid value for --pods: expected 1 to 1000000, got 0"),
        (["--nodes", "x"], "invalid value for --nodes: expected an integer, got 'x'"),
        (["-o", "xml"], "invalid value for --output: expected table, json or yaml, got 'xml'"),
        (["--what"], "no such option: --what"),
    ],
)
def test_wrong_options_of_bench(kubewasp: Kubewasp, arguments: list[str], told: str) -> None:
    assert kubewasp("plugin", "bench", wat("filter"), *arguments).usage_error.startswith(told)


def test_only_the_commands_that_are_named_are_built() -> None:
    narrowed = main.app.narrowed(["plugin", "push", "a", "b"])
    [plugin] = narrowed.registered_groups
    assert plugin.typer_instance is not None
    assert [command.name for command in plugin.typer_instance.registered_commands] == ["push"]
    assert narrowed.registered_commands == []
    assert len(main.app.registered_groups) > 1  # itself as before


@pytest.mark.parametrize("words", [[], ["--version"], ["unknown"], ["-h"]])
def test_without_a_known_command_all_are_built(words: list[str]) -> None:
    assert main.app.narrowed(words) is main.app


def test_unknown_command(kubewasp: Kubewasp) -> None:
    assert "no such command 'plug'" in kubewasp("plug").usage_error
    assert "no such command 'run'" in kubewasp("plugin", "run").usage_error


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("other=1", 'guest does not export a global "other"'),
        ("filter=1", 'guest does not export a global "filter"'),
        ("fixed=1", 'the exported global "fixed" is not mutable'),
        ("share=1", 'global "share" cannot be set to 1'),
    ],
)
def test_global_that_cannot_be_set_is_the_guests_matter(kubewasp: Kubewasp, setting: str, told: str) -> None:
    guest = wat_text("""
        (module
          (memory (export "memory") 1)
          (global (export "fixed") i32 (i32.const 0))
          (global (export "share") (mut f32) (f32.const 0))
          (func (export "filter") (result i32) (i32.const 0)))
    """)
    ended = kubewasp("plugin", "call", guest, "filter", "--global", setting)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: {guest}: wasm: {told}")


@pytest.mark.parametrize("form", [["-o=json"], ["-ojson"], ["-o", "json"], ["--output=json"]])
def test_a_short_option_takes_its_value_in_every_form(kubewasp: Kubewasp, form: list[str]) -> None:
    assert kubewasp("plugin", "inspect", wat("filter"), *form).out.startswith("{")


def test_a_value_that_looks_like_a_short_option_stays_a_value(kubewasp: Kubewasp) -> None:
    told = kubewasp("plugin", "inspect", wat("filter"), "-o", "-o=json").usage_error
    assert told.endswith("expected table, json or yaml, got '-o=json'")
    assert "cannot load -o=json: " in kubewasp("plugin", "inspect", "--", "-o=json").err


def test_an_empty_value_after_an_equals_sign_is_named(kubewasp: Kubewasp) -> None:
    told = kubewasp("plugin", "inspect", wat("filter"), "-o=").usage_error
    assert told.startswith("invalid value for --output: expected table, json or yaml, got ''")


def test_a_group_with_options_of_its_own_takes_them_too(kubewasp: Kubewasp) -> None:
    assert kubewasp("extender", "-v=x").usage_error == kubewasp("extender", "-v", "x").usage_error
