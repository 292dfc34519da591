"""Both schedulers, one after the other on the same cluster, with the same rights and the same profile."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.e2e.parity import reference
from tests.e2e.parity.probing import RIGHTS, Key, Verdict, ask
from tests.e2e.parity.reference import Scored
from tests.e2e.parity.settings import Profile
from tests.e2e.parity.world import World, found_world
from tools.testbed.client import Object
from tools.testbed.kubewasp import Kubewasp
from tools.testbed.servers import KubeScheduler, Servers

_KUBE_SCHEDULER: Final = "alice"
_KUBEWASP: Final = "bob"


@dataclass(slots=True)
class Schedulers:
    """`folder` makes a new folder for each process."""

    servers: Servers
    world: World
    folder: Callable[[str], Path]

    def ask_kube_scheduler(self, probes: Sequence[Object], profile: Profile) -> tuple[list[Verdict], dict[Key, Scored]]:
        """Verdicts from the API server, and decisions from the log."""
        api = self.servers.api
        config = reference.config(api, _KUBE_SCHEDULER, profile)
        with KubeScheduler(self.folder("kube-scheduler"), api, config=config, flags=reference.FLAGS) as scheduler:
            verdicts = ask(self.world, probes)
        scored = reference.read_log(scheduler.log)
        for verdict in verdicts:
            found = scored[verdict.key]
            found.chosen = found.chosen or verdict.expected  # volumes were refused before the bind
        return verdicts, scored

    def ask_kubewasp(self, probes: Sequence[Object], profile: Profile) -> list[Verdict]:
        with Kubewasp(self.folder("kubewasp"), self.servers.api, user=_KUBEWASP, profiles=[profile]):
            return ask(self.world, probes)


@contextmanager
def both(servers: Servers, folder: Callable[[str], Path]) -> Iterator[Schedulers]:
    world = found_world(servers.api.client())
    for user in (_KUBE_SCHEDULER, _KUBEWASP):
        world.homes[0].allow(user, RIGHTS)
    try:
        yield Schedulers(servers, world, folder)
    finally:
        world.clear()
        for home in world.homes:
            home.remove()
