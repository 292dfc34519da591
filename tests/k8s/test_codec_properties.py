"""Properties of the codec, for every message of the wire table and any input."""

from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewasp.k8s import codec
from kubewasp.k8s.errors import ManifestError, WireError
from kubewasp.k8s.wire_table import Field, messages
from kubewasp.k8s.wire_values import VALUE_TYPES

TIMES = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)).map(  # noqa: DTZ001
    lambda moment: moment.replace(tzinfo=UTC).isoformat()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda values: (
        st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), values, max_size=3)
    ),
    max_leaves=8,
)
PLAIN_JSON = st.dictionaries(st.text(max_size=5), st.integers(0, 9) | st.text(max_size=5) | st.none(), max_size=3)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=10),
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "bytes": st.just("aGk="),
    # No fractions of a binary unit: 312.5Ki is written as 320000, which is read and written again as 320k.
    "api.resource.Quantity": st.from_regex(
        r"-?[0-9]{1,9}([KMG]i|(\.[0-9]{1,3})?([numkMGTPE]?|e[0-9]))", fullmatch=True
    ),
    "apis.meta.v1.Time": TIMES | st.just("0001-01-01T00:00:00Z"),
    "apis.meta.v1.MicroTime": TIMES | st.just("0001-01-01T00:00:00Z"),
    "util.intstr.IntOrString": st.integers(-(2**31), 2**31 - 1) | st.text(max_size=5),
    "apis.meta.v1.FieldsV1": PLAIN_JSON,
    "runtime.RawExtension": st.binary(max_size=10),
}
quick = settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@cache
def values_of(name: str) -> st.SearchStrategy[Any]:
    if name in VALUES:
        return VALUES[name]
    objects: st.SearchStrategy[Any] = st.just({})
    own = {field.name: values_of_field(field) for field in messages()[name] if field.in_json and not field.inline}
    if own:
        names = st.sets(st.sampled_from(sorted(own)), max_size=4)
        objects = names.flatmap(lambda names: st.fixed_dictionaries({name: own[name] for name in sorted(names)}))
    for field in messages()[name]:
        if field.inline:
            objects = st.builds(lambda outer, inner: outer | inner, objects, values_of(field.type))
    return objects


def values_of_field(field: Field) -> st.SearchStrategy[Any]:
    values = st.deferred(lambda: values_of(field.type))
    if field.repeated:
        return st.lists(values, max_size=2)
    if field.is_map:
        return st.dictionaries(st.text(max_size=5), values, max_size=3)
    return values


@pytest.mark.parametrize("name", sorted(messages()))
@quick
@given(data=st.data())
def test_object_survives_the_wire(name: str, data: st.DataObject) -> None:
    written = data.draw(values_of(name))
    wire = codec.encode_message(name, written)
    assert codec.encode_message(name, codec.decode_message(name, wire)) == wire


@pytest.mark.parametrize("name", sorted(messages()))
@quick
@given(data=st.data())
def test_junk_is_at_worst_a_manifest_error(name: str, data: st.DataObject) -> None:
    manifest: Any = data.draw(JSON)
    if name not in VALUE_TYPES:
        names = [field.name for field in messages()[name]]
        manifest = data.draw(st.dictionaries(st.sampled_from(names), JSON, max_size=4)) if names else manifest
    try:
        wire = codec.encode_message(name, manifest)
    except ManifestError as error:
        str(error).encode()  # printable, whatever the value was
    else:
        assert codec.encode_message(name, codec.decode_message(name, wire)) == wire


@settings(quick, max_examples=300)
@given(st.binary(max_size=60), st.sampled_from(["Pod", "Node", "PersistentVolume", "Lease", "ReplicationController"]))
def test_random_bytes_are_at_worst_a_wire_error(data: bytes, kind: str) -> None:
    with suppress(WireError):
        assert isinstance(codec.decode(kind, data), dict)
