from __future__ import annotations

from tests.plugins.building import make_node, make_pod, make_table
from tests.plugins.storage_building import claiming


def test_claims_and_volumes_are_counted_while_their_pods_are_there() -> None:
    first = claiming("c", "d", ephemeral=["v"], node="n")
    second = claiming("c", inline=[{"cinder": {"volumeID": "x"}}, {"nfs": {"path": "/"}}], node="n")
    table = make_table([make_node("n")], [first, second, make_pod(node="n")])
    assert table.volumes.claims == {("default", "c"): 2, ("default", "d"): 1}
    assert table.volumes.attachable[0] == 5
    table.remove_pod(first)
    assert table.volumes.claims == {("default", "c"): 1}
    assert table.volumes.attachable[0] == 2
    table.remove_node("n")
    assert table.volumes.claims == {}
    assert table.volumes.attachable[0] == 0


def test_pods_with_exclusive_disks_are_known_by_their_rows() -> None:
    disk = {"iscsi": {"iqn": "q"}}
    pods = [claiming(inline=[disk], node=f"n{number}") for number in range(40)]
    table = make_table((make_node(f"n{number}") for number in range(50)), pods)
    [(spec, counts)] = table.volumes.with_disks.items()
    assert spec is pods[0].spec
    assert counts.rows().tolist() == list(range(40))
    table.put_node(make_node("one more"))
    for pod in pods[1:]:
        table.remove_pod(pod)
    assert table.volumes.with_disks[spec].rows().tolist() == [0]
    table.remove_pod(pods[0])
    assert table.volumes.with_disks == {}
