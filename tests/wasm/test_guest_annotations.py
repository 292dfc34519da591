"""Annotations of guests: from Reserve and PreBind to the simulated pod, the explanation and the output."""

from pathlib import Path

import pytest

from kubewasp.explain.dry_run import dry_run
from kubewasp.framework.binding_annotations import MOST_ANNOTATIONS
from kubewasp.framework.status import Code
from kubewasp.k8s.codec import decode
from kubewasp.wasm.component import answers
from kubewasp.wasm.component.answers import AnswerError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_runner import no_outcome
from kubewasp.wasm.hooks import HOOKS
from kubewasp.wasm.limits import Limits
from tests.guests.build import wat_text
from tests.simulation.simulating import config, filled, node, pending, pod, profile, settled, wasm


def guest(hooks: str, *, key: str = "gpu", value: str = "2", times: int = 1, status: int = 0) -> Path:
    """A guest that annotates in these hooks; with `times`, keys end with two digits."""
    exports = "\n".join(
        f'(func (export "{hook}") (result i32) (call $all) (i32.const {status}))' for hook in hooks.split()
    )
    digits, length = len(key), len(key) + (2 if times > 1 else 0)
    value_length = 1 if value.startswith("\\") else len(value)
    return wat_text(f"""
        (module
          (import "kubewasp/v1" "result.annotation" (func $annotate (param i32 i32 i32 i32)))
          (memory (export "memory") 1)
          (data (i32.const 0) "{key}")
          (data (i32.const 1024) "{value}")
          (func $all
            (local $n i32)
            (loop $more
              (i32.store8 (i32.const {digits}) (i32.add (i32.const 48) (i32.div_u (local.get $n) (i32.const 10))))
              (i32.store8 (i32.const {digits + 1}) (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10))))
              (call $annotate (i32.const 0) (i32.const {length}) (i32.const 1024) (i32.const {value_length}))
              (br_if $more (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const {times})))))
          {exports}
          (func (export "permit") (result i64) (i64.const 0)))
        """)


def failure(path: Path, hook: str = "reserve") -> str:
    with Guest.load(str(path)).cycle({"metadata": {"name": "web"}}, [node("a")]) as cycle:
        return str(getattr(cycle, hook)("a").reason)


def test_annotations_are_a_result_of_reserve_and_prebind() -> None:
    with Guest.load(str(guest("reserve prebind"))).cycle({"metadata": {"name": "web"}}, [node("a")]) as cycle:
        assert cycle.reserve("a").annotations == {"gpu": "2"}
        assert cycle.prebind("a").annotations == {"gpu": "2"}


def test_a_hook_that_does_not_succeed_has_none() -> None:
    with Guest.load(str(guest("reserve", status=2))).cycle({"metadata": {"name": "web"}}, [node("a")]) as cycle:
        assert (cycle.reserve("a").code, cycle.reserve("a").annotations) == (2, {})


@pytest.mark.parametrize("hook", ["bind", "filter"])
def test_other_hooks_fail(hook: str) -> None:
    with Guest.load(str(guest(hook))).cycle({"metadata": {"name": "web"}}, [node("a")]) as cycle:
        status = cycle.bind("a").status if hook == "bind" else cycle.filter(["a"]).status(0)
    assert status.code == Code.ERROR
    assert "result.annotation: only reserve and prebind may annotate" in status.reason


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (guest("reserve", key="a b"), 'result.annotation: annotation "a b": name part must consist'),
        (guest("reserve", value="\\ff"), "result.annotation: not UTF-8"),
        (guest("reserve", times=MOST_ANNOTATIONS + 1), "result.annotation: more than 64 annotations"),
        (guest("reserve", key="k" * 400), "a key of 400 characters is over the limit of 317"),
    ],
    ids=["key", "encoding", "number", "length"],
)
def test_invalid_annotations_fail_the_hook(made: Path, text: str) -> None:
    assert text in failure(made)


# ---------------------------------------------------------------------- components


def test_a_component_answers_with_an_object() -> None:
    outcome = no_outcome()
    answers.take_one(HOOKS["prebind"], {"annotations": {"gpu": "2"}}, outcome, Limits())
    assert outcome.annotations == {"gpu": "2"}


@pytest.mark.parametrize(
    ("hook", "sent", "text"),
    [
        ("bind", {"gpu": "2"}, "only reserve and prebind may annotate"),
        ("reserve", ["gpu"], "annotations: expected an object"),
        ("reserve", {"gpu": 2}, "annotations: expected a string"),
        ("reserve", {"a b": ""}, "name part must consist"),
        ("reserve", {f"k{n}": "" for n in range(MOST_ANNOTATIONS + 1)}, "more than 64 annotations"),
        ("reserve", {"k": "x" * 300_000}, "annotations size 300001 is larger than limit 262144"),
    ],
)
def test_an_invalid_answer_is_refused(hook: str, sent: object, text: str) -> None:
    with pytest.raises(AnswerError) as error:
        answers.take_one(HOOKS[hook], {"annotations": sent}, no_outcome(), Limits())
    assert text in str(error.value)


# ---------------------------------------------------------------------- scheduled


def test_the_simulated_pod_has_the_annotations_after_its_binding() -> None:
    own = pod("web")
    own["metadata"]["annotations"] = {"own": "kept", "gpu": "replaced"}
    cluster = settled(node("a"), own, config=config(profile(wasm("policy", guest("reserve")))))
    found = cluster.pods["default/web"]
    assert decode("Pod", found.encoded)["metadata"]["annotations"] == {"own": "kept", "gpu": "2"}
    assert cluster.objects.manifests["default/web"]["metadata"]["annotations"] == {"own": "kept", "gpu": "2"}


def test_an_update_of_the_bound_pod_keeps_them() -> None:
    cluster = settled(node("a"), pod("web"), config=config(profile(wasm("policy", guest("reserve")))))
    cluster.apply(pod("web", labels={"new": "label"}))
    assert cluster.objects.manifests["default/web"]["metadata"]["annotations"] == {"gpu": "2"}


def test_two_guests_with_different_values_are_an_error_that_names_both() -> None:
    plugins = (wasm("first", guest("reserve")), wasm("second", guest("prebind", value="3")))
    cluster = settled(node("a"), pod("web"), config=config(profile(*plugins)))
    assert pending(cluster) == {
        "web": 'running PreBind plugin "second": annotation "gpu": plugin "second" has the value "3", '
        'plugin "first" has "2"'
    }


def test_a_dry_run_shows_the_annotations_of_reserve() -> None:
    cluster = filled(node("a"), pod("web"), config=config(profile(wasm("policy", guest("reserve")))))
    found = dry_run(cluster.scheduler, cluster.pods["default/web"])
    assert found.as_dict()["annotations"] == [{"key": "gpu", "value": "2", "plugin": "policy"}]


def test_a_dry_run_says_that_reserve_would_reject_the_pod() -> None:
    cluster = filled(node("a"), pod("web"), config=config(profile(wasm("policy", guest("reserve", status=2)))))
    found = dry_run(cluster.scheduler, cluster.pods["default/web"])
    assert (found.node, found.is_error, list(found.annotations)) == (None, False, [])
