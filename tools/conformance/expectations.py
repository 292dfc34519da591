"""Expected answers of the guests of kube-scheduler-wasm-extension, from their sources and that project's tests.

One table, in the order of the checkout's folders.
"""

from __future__ import annotations

from typing import Final

from tools.conformance.cases import NODE, Case, Object, pod

REPOSITORY: Final = "kubernetes-sigs/kube-scheduler-wasm-extension"
COMMIT: Final = "9b2791f1bbea8ad75871433ca0a201d03edee714"

_LOWEST, _HIGHEST = -(2**31), 2**31 - 1
_REAL_POD, _REAL_NODE = "scheduler/test/testdata/yaml/pod.yaml", "scheduler/test/testdata/yaml/node.yaml"
_REAL_NODE_NAME = "gke-sanposhiho-default-pool-1d5a4320-eklb"
_NUMBERED = ("node-1", "node-2", "node-a")
_MATCH, _NO_MATCH = "event PreScore: match lastNumber", "event PreScore: not match lastNumber"


def _number_scores(first: int, second: int, letter: int) -> dict[str, str]:
    scores = zip(_NUMBERED, (first, second, letter), strict=True)
    return {f"score {node}": f"Success; score {score}" for node, score in scores}


def _node_number(guest: str, *, by_node_name: bool, events: bool, is_reversible: bool = True) -> list[Case]:
    """Nodes whose last digit is that of the pod (or of its spec.nodeName) get 10, others 0; without a digit, all."""

    def numbered(text: str) -> Object:
        return pod(node=f"node-{text}") if by_node_name else pod(f"web-{text}")

    what = "spec.nodeName" if by_node_name else "the pod's name"
    match, no_match = (f"Success; {_MATCH}", f"Success; {_NO_MATCH}") if events else ("Success", "Success")
    registered = {"enqueue": "events Node Add"}
    return [
        Case(
            guest,
            f"a digit at the end of {what}",
            {**registered, "prescore": match, **_number_scores(10, 0, 0)},
            pod=numbered("1"),
            nodes=_NUMBERED,
        ),
        Case(
            guest,
            f"no digit at the end of {what}",
            {"prescore": no_match, **_number_scores(10, 10, 10)},
            pod=numbered("x"),
            nodes=_NUMBERED,
        ),
        Case(
            guest,
            "reversed by its configuration",
            {"prescore": match, **_number_scores(0, 10, 10)},
            pod=numbered("1"),
            nodes=_NUMBERED,
            config='{"reverse": true}',
            known={} if is_reversible else {"load": "wasm: _start error: panic: reflect: unimplemented: …"},
            note="" if is_reversible else "the committed binary panics in TinyGo's reflect, which decodes the JSON",
        ),
        Case(guest, "a configuration that is no JSON", load_error="wasm: _start error: …", config="reverse"),
    ]


_EXAMPLES: Final = [
    *_node_number("examples/advanced/main", by_node_name=True, events=True),
    Case(
        "examples/imagelocality/main",
        "an image of 114 MB on the only node",
        {f"score {_REAL_NODE_NAME}": "Success; score 8"},
        pod=pod(images=("test-image:v1",)),
        nodes=(_REAL_NODE,),
    ),
    Case(
        "examples/imagelocality/main",
        "another image",
        {f"score {_REAL_NODE_NAME}": "Success; score 0"},
        pod=pod(images=("other",)),
        nodes=(_REAL_NODE,),
    ),
    Case(
        "examples/imagelocality/main",
        "two nodes",
        {f"score {_REAL_NODE_NAME}": "Success; score 3", "score other": "Success; score 0"},
        pod=pod(images=("test-image:v1",)),
        nodes=(_REAL_NODE, "other"),
        known={"score other": 'Error: failed to get node "other"; score 0'},
        note="the committed binary is not built from this source, which lacks that text; it finds the first node only",
    ),
    *_node_number("examples/nodenumber/main", by_node_name=False, events=True),
    Case(
        "examples/nodenumber/main",
        "hooks that the plugin does not implement",
        {
            "prefilter": "Success",
            f"addpod {NODE}": "Success",
            f"removepod {NODE}": "Success",
            f"filter {NODE}": "Success",
            "postfilter": "Success; mode 0",
            "normalizescore": f"Success; scores {NODE}=7",
            f"reserve {NODE}": "Success",
            f"unreserve {NODE}": "Success",
            f"permit {NODE}": "Success; timeout 0 ms",
            f"prebind {NODE}": "Success",
            f"bind {NODE}": "Success",
            f"postbind {NODE}": "Success",
        },
        scores={NODE: 7},
    ),
    *_node_number(
        "internal/e2e/scheduler_perf/wasm/nodenumber/main", by_node_name=False, events=False, is_reversible=False
    ),
]

_NO_OP_BINDING: Final = {f"{hook} {NODE}": "Success" for hook in ("prebind", "bind", "postbind")}
_CYCLE: Final = {
    "prefilter": "Success",
    f"filter {NODE}": "Success",
    "postfilter": "Success; mode 0",
    "prescore": "Success",
    f"score {NODE}": "Success; score 0",
    "normalizescore": f"Success; scores {NODE}=7",
    f"reserve {NODE}": "Success",
    f"permit {NODE}": "Success; timeout 0 ms",
    **_NO_OP_BINDING,
    f"unreserve {NODE}": "Success",
}

_NO_REFLECTION: Final = {f"filter {NODE}": "Error: wasm: filter error: panic: not implemented"}
_NO_REFLECTION_CAUSE: Final = "GetWaitingPod of the guest's SDK unmarshals a Pod type whose ProtoReflect panics"

_TEST_GUESTS: Final = [
    Case("guest/testdata/bind/main", "no argument", _NO_OP_BINDING),
    *(
        Case(
            "guest/testdata/bind/main",
            hook,
            {f"{hook.lower()} good": "Success", f"{hook.lower()} bad": "Error: name is bad"},
            args=("test", hook),
            nodes=("good", "bad"),
        )
        for hook in ("preBind", "bind")
    ),
    Case(
        "guest/testdata/bind/main",
        "postBind",
        {"postbind good": "Success", "postbind bad": "Error: wasm: postbind error: panic: name is bad"},
        args=("test", "postBind"),
        nodes=("good", "bad"),
    ),
    Case("guest/testdata/cyclestate/main", "two cycles: state is kept within, and reset between", _CYCLE,
         scores={NODE: 7}, cycles=2),
    Case("guest/testdata/cyclestate/main", "filter before prefilter",
         {f"filter {NODE}": "Error: wasm: filter error: panic: didn't cache pod from pre-filter"}),
    *(
        Case("guest/testdata/cyclestate/main", f"{count} cluster events", {"enqueue": events}, args=("test", count))
        for count, events in (
            ("0", "events any"),
            ("1", "events PersistentVolume Delete"),
            ("2", "events Node Add, PersistentVolume Delete"),
        )
    ),
    Case("guest/testdata/cyclestate/main", "an unknown number of events",
         load_error="wasm: _start error: panic: unsupported count", args=("test", "3")),
    Case(
        "guest/testdata/filter/main",
        "no argument, with the manifests of the checkout",
        {"prefilter": "Success", f"filter {_REAL_NODE_NAME}": "Success", "postfilter": "Success; mode 0",
         f"addpod {_REAL_NODE_NAME}": "Success", f"removepod {_REAL_NODE_NAME}": "Success"},
        pod=_REAL_POD,
        nodes=(_REAL_NODE,),
    ),
    Case("guest/testdata/filter/main", "preFilter, with spec.nodeName", {"prefilter": f"Success; nodes {NODE}"},
         args=("test", "preFilter")),
    Case("guest/testdata/filter/main", "preFilter, without", {"prefilter": "Success"}, args=("test", "preFilter"),
         pod=pod()),
    Case("guest/testdata/filter/main", "filter, with spec.nodeName",
         {f"filter {NODE}": "Success", "filter bad-node": f"Unschedulable: {NODE} != bad-node"},
         args=("test", "filter"), nodes=(NODE, "bad-node")),
    Case("guest/testdata/filter/main", "filter, without", {"filter bad-node": "Success"}, args=("test", "filter"),
         pod=pod(), nodes=("bad-node",)),
    Case("guest/testdata/filter/main", "postFilter, a node that passed",
         {"postfilter": f"Success; nominates {NODE}; mode 1"}, args=("test", "postFilter"), statuses={NODE: 0}),
    Case("guest/testdata/filter/main", "postFilter, a node that was rejected",
         {"postfilter": f"UnschedulableAndUnresolvable: {NODE} is unschedulable; nominates {NODE}; mode 0"},
         args=("test", "postFilter"), statuses={NODE: 2}),
    *(
        Case("guest/testdata/filter/main", f"preFilterExtensions, {hook}",
             {f"{hook} {NODE}": "Success", f"{hook} bad": "Error: Node name is bad and PodInfo name is bad-pod"},
             args=("test", "preFilterExtensions"), nodes=(NODE, "bad"), target=pod("bad-pod"))
        for hook in ("addpod", "removepod")
    ),
    Case("guest/testdata/handle/main", "no argument", {"prefilter": "Success", f"filter {NODE}": "Success"}),
    Case("guest/testdata/handle/main", "rejectWaitingPod, no pod waits", {f"filter {NODE}": "Success"},
         args=("test", "rejectWaitingPod")),
    Case("guest/testdata/handle/main", "rejectWaitingPod, the pod waits",
         {f"filter {NODE}": "Skip: UID is handle-test"}, args=("test", "rejectWaitingPod"),
         pod=pod(uid="handle-test"), waits=True),
    Case("guest/testdata/handle/main", "getWaitingPod, no pod waits",
         {f"filter {NODE}": "Error: No waiting pod found for UID: 384900cd-dc7b-41ec-837e-9c4c1762363e"},
         args=("test", "getWaitingPod"), known=_NO_REFLECTION, note=_NO_REFLECTION_CAUSE),
    Case("guest/testdata/handle/main", "getWaitingPod, the pod waits", {f"filter {NODE}": "Success"},
         args=("test", "getWaitingPod"), pod=pod(uid="handle-test"), waits=True, known=_NO_REFLECTION,
         note=_NO_REFLECTION_CAUSE),
    Case("guest/testdata/permit/main", "by the node's name",
         {"permit good": "Success; timeout 0 ms", "permit bad": "Error: name is bad; timeout 0 ms",
          "permit wait": "Wait: name is wait; timeout 10000 ms"}, nodes=("good", "bad", "wait")),
    Case("guest/testdata/reserve/main", "reserve and unreserve",
         {"reserve good": "Success", "unreserve good": "Success", "reserve bad": "Error: name is bad"},
         nodes=("good", "bad")),
    Case("guest/testdata/reserve/main", "unreserve alone",
         {f"unreserve {NODE}": "Error: wasm: unreserve error: panic: unreserve failed"}),
    Case("guest/testdata/score/main", "no argument",
         {"prescore": "Success", f"score {NODE}": "Success; score 0", "normalizescore": f"Success; scores {NODE}=7"},
         scores={NODE: 7}),
    *(
        Case("guest/testdata/score/main", f"preScore, {len(nodes)} nodes", {"prescore": status},
             args=("test", "preScore"), nodes=nodes)
        for nodes, status in (((), "Success"), ((NODE,), "Error"), ((NODE, "b"), "Unschedulable"))
    ),
    Case("guest/testdata/score/main", "score",
         {f"score {NODE}": "Success; score 100", "score bad-node": "Success; score 0"}, args=("test", "score"),
         nodes=(NODE, "bad-node")),
    Case("guest/testdata/score/main", "scoreExtensions", {"normalizescore": f"Success; scores {NODE}=100"},
         args=("test", "scoreExtensions"), scores={NODE: 1}),
]  # fmt: skip

_ERRORS: Final = "scheduler/test/testdata/error"
_TESTS: Final = "scheduler/test/testdata/test"
_NO_MAIN_HOOK: Final = "wasm: filter, score, reserve, permit or bind must be exported"


def _panics(name: str, *calls: str) -> Case:
    """A guest that writes `panic!` and traps, in each of these hooks."""
    ends = {"permit": "; timeout 0 ms", "postfilter": "; mode 0", "score": "; score 0", "normalizescore": "; scores -"}
    expected = {}
    for call in calls:
        hook = call.partition(" ")[0]
        expected[call] = f"Error: wasm: {hook} error: panic!{ends.get(hook, '')}"
    return Case(f"{_ERRORS}/panic_on_{name}", "panic", expected)


def _from_globals(name: str, *calls: str) -> list[Case]:
    """A guest that returns the number in its global as the status."""
    ends = {"permit": "; timeout 0 ms", "postfilter": "; mode 0", "score": "; score 0", "normalizescore": "; scores -"}
    return [
        Case(
            f"{_TESTS}/{name}_from_global",
            f"status {code}",
            {call: f"code {code}{ends.get(call.partition(' ')[0], '')}" for call in calls},
            globals={"status_code_global": code},
        )
        for code in (_LOWEST, _HIGHEST)
    ]


_TEST_DATA: Final = [
    Case(f"{_ERRORS}/not_plugin", "no hook", load_error="wasm: guest does not export any plugin functions"),
    _panics("bind", f"bind {NODE}"),
    Case(f"{_ERRORS}/panic_on_enqueue", "panic", {"enqueue": "panic of the host"},
         known={"load": "wasm: enqueue error: panic!"}, note="here it is a load error, not a panic of the scheduler"),
    _panics("filter", f"filter {NODE}"),
    Case(f"{_ERRORS}/panic_on_get_config", "no configuration", {"prefilter": "Error: wasm: prefilter error: …"}),
    Case(f"{_ERRORS}/panic_on_get_config", "panic with the configuration as its text",
         {"prefilter": "Error: wasm: prefilter error: hello"}, config="hello"),
    _panics("permit", f"permit {NODE}"),
    _panics("postbind", f"postbind {NODE}"),
    _panics("postfilter", "postfilter"),
    _panics("prebind", f"prebind {NODE}"),
    _panics("prefilter", "prefilter"),
    _panics("prefilterextensions", f"addpod {NODE}"),
    _panics("prefilterextensions", f"removepod {NODE}"),
    _panics("prescore", "prescore"),
    _panics("reserve", f"reserve {NODE}"),
    _panics("score", f"score {NODE}"),
    _panics("scoreextensions", "normalizescore"),
    Case(f"{_ERRORS}/panic_on_start", "panic", load_error="wasm: instantiate error: panic!",
         known={"load": "wasm: _start error: panic!"}, note="here the error names the start function"),
    Case(f"{_ERRORS}/prescore_without_score", "prescore alone", load_error=_NO_MAIN_HOOK),
    Case(f"{_ERRORS}/scoreextensions_without_score", "normalizescore alone", load_error=_NO_MAIN_HOOK),
    Case(f"{_TESTS}/all_noop", "postfilter with an i32 result",
         load_error="wasm: guest exports the wrong signature for func[postfilter]. should be () -> (i64)"),
    *_from_globals("bind", f"bind {NODE}"),
    *_from_globals("filter", f"filter {NODE}"),
    *_from_globals("permit", f"permit {NODE}"),
    Case(f"{_TESTS}/permit_from_global", "the longest timeout",
         {f"permit {NODE}": "Wait; timeout 4294967295 ms"}, globals={"status_code_global": 4, "timeout_global": -1}),
    *(
        Case(f"{_TESTS}/{hook}_from_global", f"flag {flag}", {f"{called} {NODE}": answer},
             globals={"flag_global": flag})
        for hook, called in (("postbind", "postbind"), ("reserve", "unreserve"))
        for flag, answer in ((0, "Success"), (1, f"Error: wasm: {called} error: …"))
    ),
    *_from_globals("postfilter", "postfilter"),
    *(
        Case(f"{_TESTS}/postfilter_from_global", f"mode {mode}", {"postfilter": f"Success; mode {mode}"},
             globals={"nominating_mode_global": mode})
        for mode in (_LOWEST, _HIGHEST)
    ),
    *_from_globals("prebind", f"prebind {NODE}"),
    *_from_globals("prefilter", "prefilter"),
    *_from_globals("prefilterextensions", f"addpod {NODE}", f"removepod {NODE}"),
    *_from_globals("prescore", "prescore"),
    *_from_globals("reserve", f"reserve {NODE}"),
    *_from_globals("score", f"score {NODE}"),
    *(
        Case(f"{_TESTS}/score_from_global", f"score {score}", {f"score {NODE}": f"Success; score {score}"},
             globals={"score_global": score})
        for score in (_LOWEST, _HIGHEST)
    ),
    *_from_globals("scoreextensions", "normalizescore"),
]  # fmt: skip

CASES: Final = (*_EXAMPLES, *_TEST_GUESTS, *_TEST_DATA)
