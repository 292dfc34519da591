"""Columns: read-only views."""

import numpy as np
import pytest

from tests.plugins.building import make_node, make_table


def test_columns_are_read_only_for_readers() -> None:
    table = make_table([make_node("a", {"zone": "x"})])
    counts = table.pods.counts("all", lambda _namespace, _labels: True, with_terminating=True)
    derived = table.cache.get("key", lambda rows: rows.astype(np.int64))
    columns = [*table.allocatable.values(), *table.requested.values(), *table.non_zero.values()]
    columns += [table.max_pods, table.pod_count, table.taint_ids, table.is_unschedulable, table.order()]
    for column in (*columns, table.label("zone").ids, table.volumes.attachable, counts, derived):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
