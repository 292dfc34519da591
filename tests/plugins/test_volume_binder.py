from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.plugins.volume_binder import BIND_CONFLICT, VolumeBinder
from kubewasp.state.object_kinds import PERSISTENT_VOLUME
from tests.plugins.building import FakeHandle, make_node, make_table
from tests.plugins.storage_building import claim, claiming, storage_class, volume

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NODES = {"a": {HOST: "a", ZONE: "1"}, "b": {HOST: "b", ZONE: "1"}, "c": {HOST: "c", ZONE: "2"}, "d": {}}

_AFFINITIES = st.sampled_from(
    [
        None,
        {HOST: ["a"]},
        {HOST: ["b", "c"]},
        {ZONE: ["1"]},
        {ZONE: ["2", "1"]},
        {ZONE: ["1"], HOST: ["b"]},
        {HOST: ["nowhere"]},
    ]
)
_VOLUMES = st.lists(
    st.fixed_dictionaries(
        {
            "size": st.sampled_from(["1Gi", "2Gi", "3Gi", "3Gi"]),
            "storage_class": st.sampled_from(["s", "s", "t"]),
            "affinity": _AFFINITIES,
            "phase": st.sampled_from(["Available", "Available", "Available", "Bound"]),
            "claim": st.sampled_from(["", "", "", "c0", "c1", "stranger"]),
        }
    ),
    max_size=8,
)
_CLAIMS = st.lists(
    st.fixed_dictionaries({"size": st.sampled_from(["1Gi", "2Gi"]), "storage_class": st.sampled_from(["s", "s", "t"])}),
    min_size=1,
    max_size=3,
)


def expected(labels: dict[str, str], volumes: list[Any], claims: list[Any]) -> list[tuple[str, str | None]]:
    """Which claim gets which volume on one node, found one by one."""
    got: list[tuple[str, str | None]] = []
    for wanted in sorted(claims, key=lambda item: item.size.nanos):
        taken = {name for _, name in got}
        fitting = [
            item
            for item in volumes
            if item.storage_class == wanted.storage_class
            and item.name not in taken
            and (item.claim is None or item.is_bound_to(wanted))
            and item.capacity.nanos >= wanted.size.nanos
        ]

        def is_reached(item: Any) -> bool:
            return item.affinity is None or any(term.matches("", labels) for term in item.affinity)

        meant = [item for item in fitting if item.claim is not None]
        if meant:
            got.append((wanted.name, meant[0].name if is_reached(meant[0]) else None))
            continue
        free = [item for item in fitting if item.phase == "Available" and is_reached(item)]
        best = min(free, key=lambda item: item.capacity.nanos, default=None)
        got.append((wanted.name, None if best is None else best.name))
    return got


@settings(deadline=None)
@given(_VOLUMES, _CLAIMS, st.booleans())
def test_all_nodes_at_once_get_what_they_would_get_one_by_one(
    volumes: list[dict[str, Any]], claims: list[dict[str, Any]], repeats: bool
) -> None:
    names = [f"c{number}" for number in range(len(claims))]
    handle = FakeHandle(
        make_table(make_node(name, labels) for name, labels in NODES.items()),
        [
            storage_class("s"),
            storage_class("t"),
            *(volume(f"v{number}", **fields) for number, fields in enumerate(volumes)),
            *(claim(name, **fields) for name, fields in zip(names, claims, strict=True)),
        ],
    )
    binder = VolumeBinder(handle.store)
    pod = claiming(*names, *names[:1] if repeats else ())
    wanted = binder.claims_of(pod)
    rows = handle.table.order()
    findings = binder.find(wanted, handle.table, rows)
    stored = list(handle.store.all(PERSISTENT_VOLUME))
    for index, row in enumerate(rows.tolist()):
        found = []
        for item, choice in findings.matches:
            place = int(choice[index])
            found.append((item.name, wanted.candidates[item.storage_class][place].name if place >= 0 else None))
        reference = expected(dict(handle.table.node(row).labels), stored, [item for item, _ in wanted.delayed])
        assert found == reference
        assert findings.reasons[index] == (BIND_CONFLICT if any(name is None for _, name in reference) else 0)
