import json

from kubewasp.wasm.core import profiling
from kubewasp.wasm.core.profiling import CALLS, HOST, FunctionTime
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.limits import Limits
from tests.guests.burning import burner

GUEST = "policy.wasm"


def profile(*stacks: tuple[tuple[str, str], ...]) -> bytes:
    """A profile with one sample for each stack of (module, function), outermost first."""
    texts: list[str] = [HOST, GUEST]
    functions: list[tuple[str, str]] = []
    table: list[tuple[int | None, int]] = []
    samples = []
    for stack in stacks:
        prefix: int | None = None
        for item in stack:
            if item not in functions:
                functions.append(item)
                texts.append(item[1])
            entry = (prefix, functions.index(item))
            if entry not in table:
                table.append(entry)
            prefix = table.index(entry)
        samples.append(prefix)
    thread = {
        "stringArray": texts,
        "resourceTable": {"name": [0, 1]},
        "funcTable": {
            "name": [place + 2 for place in range(len(functions))],
            "resource": [0 if module == HOST else 1 for module, _ in functions],
        },
        "frameTable": {"func": list(range(len(functions)))},
        "stackTable": {"prefix": [item[0] for item in table], "frame": [item[1] for item in table]},
        "samples": {"stack": samples},
    }
    return json.dumps({"threads": [thread]}).encode()


RUN, HOOK, SCAN = (HOST, "run"), (GUEST, "filter"), (GUEST, "scan")


def test_own_and_total_samples_are_counted() -> None:
    found = profiling.read(profile((RUN, HOOK), (RUN, HOOK, SCAN), (RUN, HOOK, SCAN)))
    assert found == [FunctionTime("scan", 2, 2), FunctionTime("filter", 1, 3)]


def test_a_recursive_function_is_counted_once_per_sample() -> None:
    assert profiling.read(profile((HOOK, SCAN, SCAN, SCAN)))[0] == FunctionTime("scan", 1, 1)


def test_the_work_of_the_host_for_an_import_is_that_import() -> None:
    inner = ((HOST, "kubewasp/v1.node_name"), (HOST, "answer_shared"), (HOST, "check"))
    found = profiling.read(profile((RUN, HOOK, *inner), (RUN, HOOK, *inner[:1])))
    assert found[0] == FunctionTime("kubewasp/v1.node_name", 2, 2, is_host=True)
    assert found[1] == FunctionTime("filter", 0, 2)


def test_the_rest_of_the_host_is_one_line() -> None:
    assert profiling.read(profile((RUN,), (RUN, (HOST, "invoke")))) == [FunctionTime(CALLS, 2, 2, is_host=True)]


def test_names_are_those_of_the_author() -> None:
    odd = ((GUEST, "main.__Plugin_.Filter"), (GUEST, "<wasm function 12>"))
    assert {item.name for item in profiling.read(profile(odd))} == {"main.(*Plugin).Filter", "func[12]"}
    assert b"main.(*Plugin).Filter" in profiling.readable(profile(odd))


def test_names_of_rust_are_without_hashes() -> None:
    scan = "kubewasp_sdk::map::Map<T>::get::h58e4a4fb45098bd5"
    odd = ((GUEST, scan), (GUEST, "core[9f8d08631ff90aa5]::str::from_utf8"), (GUEST, "names::had::hash[0]"))
    assert {item.name for item in profiling.read(profile(odd))} == {
        "kubewasp_sdk::map::Map<T>::get",
        "core::str::from_utf8",
        "names::had::hash[0]",
    }


def test_equal_stacks_are_counted_together() -> None:
    found = profiling.stacks(profile((RUN, HOOK, SCAN), (RUN, HOOK, SCAN), (RUN, HOOK), ()))
    assert {tuple(item.name for item in stack): count for stack, count in found.items()} == {
        ("filter", "scan"): 2,
        ("filter",): 1,
    }


def test_instances_outside_of_a_recording_are_not_sampled() -> None:
    module = load_guest_module(burner().read_bytes(), Limits(interruption="epoch"))
    nodes = [{"metadata": {"name": "a"}}]
    with profiling.recording(module, GUEST) as recorded:  # type: ignore[arg-type]
        Guest(module).evaluate({"metadata": {"name": "web"}}, nodes)
    samples = recorded.samples
    assert samples > 0
    Guest(module).evaluate({"metadata": {"name": "web"}}, nodes)
    assert recorded.samples == samples
    assert module.engine.watch is None  # type: ignore[attr-defined]
