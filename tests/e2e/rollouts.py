"""Versions of the plugin `policy` in `kubewasp run`: its profile, its rollout, and the nodes that it prefers."""

import json
from typing import Any, Final

from tests.e2e.commands import run
from tests.e2e.kubewasp import SOON, ours, wait_node
from tools.testbed.client import Object
from tools.testbed.cluster import Cluster
from tools.testbed.kubewasp import Kubewasp, profile
from tools.testbed.waiting import wait_until

PLUGIN: Final = "policy"


def with_guest(url: str, *, rollout: Object | None = None, **fields: Any) -> Object:
    """A profile in which the guest's scores decide."""
    args = {"guestURL": url, **({"rollout": rollout} if rollout else {})}
    enabled = {"multiPoint": {"enabled": [{"name": PLUGIN, "weight": 1000}]}}
    return profile(plugins=enabled, pluginConfig=[{"name": PLUGIN, "args": args}], **fields)


def status(scheduler: Kubewasp) -> Object:
    return dict(json.loads(scheduler.get("/rollout")))


def plugin(scheduler: Kubewasp) -> Object:
    [found] = status(scheduler)["plugins"]
    return dict(found)


def wait_digest(scheduler: Kubewasp, other_than: str) -> str:
    return wait_until(
        lambda: digest if (digest := str(plugin(scheduler)["digest"])) != other_than else "",
        SOON,
        "another version to be in use",
        scheduler.log_tail,
    )


def wait_failure(scheduler: Kubewasp) -> str:
    """The failure of a reload."""
    return wait_until(
        lambda: str(status(scheduler)["reloads"]["lastFailure"] or ""), SOON, "a failure", scheduler.log_tail
    )


def rollout(scheduler: Kubewasp, *words: str) -> str:
    """Output of `kubewasp rollout` on the process."""
    return run("rollout", *words, "--server", f"http://127.0.0.1:{scheduler.port}").output


def place(cluster: Cluster, name: str, count: int = 5) -> set[str]:
    """Creates pods; returns the last characters of their nodes' names."""
    names = [f"{name}-{number}" for number in range(count)]
    cluster.create_all(ours(item, cpu="10m") for item in names)
    return {wait_node(cluster, item)[-1] for item in names}
