"""Agreement of the forms of a policy: equal answers before and after changes of nodes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tools.bench.forms.catalogue import FORMS
from tools.bench.forms.form import FormError, told
from tools.bench.policies.clusters import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.bench.forms.form import Form

    Told = dict[str, tuple[int, int, str]]

# Nodes and seeds of the compared clusters.
_CLUSTERS: Final = ((1, 1), (7, 2), (150, 3), (150, 4))


@contextmanager
def loaded(name: str, policy: str, cluster: Cluster) -> Iterator[Form]:
    form = FORMS[name](policy, cluster)
    form.prepare()
    form.load()
    try:
        yield form
    finally:
        form.close()


def story(form: Form) -> list[Told]:
    """Answers for some pods on a cluster that changes three times."""
    found = []
    for change in range(4):
        if change:
            form.change(change)
        found += [told(form, form.cycle(pod)) for pod in (change, change + 10, change + 7)]
    return found


def check(name: str, policy: str) -> None:
    """FormError where the form and the built-in one differ."""
    for size, seed in _CLUSTERS:
        cluster = Cluster(size, seed, moving=True)
        with loaded(name, policy, cluster) as form, loaded("builtin", policy, cluster) as reference:
            for number, (found, expected) in enumerate(zip(story(form), story(reference), strict=True)):
                for node, answer in expected.items():
                    if found.get(node) != answer:
                        raise FormError(
                            f"{policy}, {name}: {size} nodes, cycle {number}, {node}: {found.get(node)}, "
                            f"the built-in form says {answer}"
                        )
