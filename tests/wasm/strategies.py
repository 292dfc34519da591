"""Hypothesis strategies for pods, nodes and configurations."""

import json
import zlib
from typing import Any

from hypothesis import strategies as st

from tests import samples

# What JSON, protobuf and the ABI can carry: no surrogates, and no NUL, which ends a name in a list.
NAMES = st.one_of(
    st.from_regex(r"[a-z]{1,3}-[0-9]{1,3}", fullmatch=True),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20),
)
LABELS = st.dictionaries(st.sampled_from(["zone", "disk", "größe", "a/b"]), st.text(max_size=5), max_size=3)
IMAGES = st.sets(st.sampled_from(["nginx:1", "redis", 'od"d', "büld"]), max_size=3).map(
    lambda names: {name: image_size(name) for name in sorted(names)}
)


def image_size(name: str) -> int:
    """Every node has an image in the same size."""
    return zlib.crc32(name.encode())


def pods() -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(samples.pod, NAMES, labels=LABELS, annotations=st.dictionaries(st.just("n"), st.text()))


def node_named(name: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(samples.node, st.just(name), labels=LABELS, images=IMAGES)


def clusters(max_size: int = 6) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(NAMES, min_size=1, max_size=max_size, unique=True).flatmap(
        lambda names: st.tuples(*map(node_named, names)).map(list)
    )


JSON_CONFIGS = st.dictionaries(
    st.sampled_from(["reverse", "reserved", "closed"]), st.booleans() | st.integers(0, 9) | st.lists(NAMES, max_size=3)
).map(lambda config: json.dumps(config, ensure_ascii=False))
