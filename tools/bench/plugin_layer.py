"""Plugin layer: cost of a policy in every form (loading, cycles over all nodes, time breakdown, memory, fuel).

Repetitions take turns over the forms, each in its own process, so that all of them see the same machine. A cycle
is a whole evaluation: guests sign no pods, pods differ, and no answer is remembered.

An HTTP process counts as loaded at its first answer; its memory is that of the whole process. The memory of other forms
is the growth of a process that holds the cluster. A component is almost only the interpreter: it is compiled with one
policy. TinyGo's form is measured where `tinygo` is on the PATH or its guests are given.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from tools.bench import guests
from tools.bench.forms.catalogue import COMPILED, COMPONENTS, FORMS, GUESTS, SLOW
from tools.bench.guests import TINYGO, Unavailable
from tools.bench.model import Measurement, Skipped
from tools.bench.peers import peer_layer
from tools.bench.policies.policy_list import POLICIES
from tools.bench.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SIZES: Final = (100, 1000, 5000, 20_000)
# The size of measurements that need only one.
HEADLINE: Final = 5000
_QUICK_SIZES: Final = (1000,)
_UNITS: Final = {
    "load": "ms",
    "load_cold": "ms",
    "load_cached": "ms",
    "first_cycle": "µs",
    "unchanged_cycle": "µs",
    "changed_cycle": "µs",
    "guest_memory": "bytes",
    "host_memory": "bytes",
}
# The language of the guest of each form.
_LANGUAGES: Final = {name: name for name in GUESTS} | dict.fromkeys(
    ("callbacks", "extender-full", "extender-names"), "wat"
)


class UnknownFormError(KubewaspError):
    """An unknown form."""


@dataclass(frozen=True, slots=True)
class Task:
    """One process: one or more figures of one form."""

    name: str
    policy: str
    form: str
    nodes: int

    @property
    def text(self) -> str:
        what = {"cycles": "cycles of", "compiling": "compiling", "places": "where the time goes in", "fuel": "fuel of"}
        return f"{what[self.name]} {self.policy}, {self.form}, {self.nodes:,} nodes"


@dataclass(frozen=True, slots=True)
class Plan:
    """Guest builds, then groups of tasks; each group becomes measurements at its end."""

    nodes: tuple[int, ...]
    guests: tuple[tuple[str, str], ...]
    groups: tuple[tuple[Task, ...], ...]

    @classmethod
    def of(cls, *, quick: bool, forms: Sequence[str], nodes: Sequence[int]) -> Plan:
        """All forms and sizes, or the named ones. Peers have a layer of their own, see tools.bench.peers."""
        known = (*FORMS, *peer_layer.FORMS)
        unknown = [form for form in forms if form not in known]
        if unknown:
            raise UnknownFormError(f"there is no form {', '.join(unknown)}; there are {', '.join(known)}")
        chosen = [name for name in FORMS if name in forms or (not forms and (name != TINYGO or guests.has_tinygo()))]
        sizes = sorted(set(nodes)) or list(_QUICK_SIZES if quick else SIZES)
        headline = HEADLINE if HEADLINE in sizes else sizes[-1]

        def turns(name: str, policy: str, size: int, of: Sequence[str]) -> tuple[Task, ...]:
            most = 2 if quick else 5
            slow = 1 if quick and name == "compiling" else min(most, 3)
            return tuple(
                Task(name, policy, form, size)
                for turn in range(most)
                for form in of
                if turn < (slow if form in SLOW else most)
            )

        compiled = [form for form in chosen if form in COMPILED]
        in_sandbox = [form for form in chosen if form in GUESTS]
        groups = [turns("cycles", policy, size, chosen) for size in sizes for policy in POLICIES]
        groups += [
            turns("compiling", policy, headline, [form for form in compiled if form not in COMPONENTS or not number])
            for number, policy in enumerate(POLICIES)
        ]
        groups += [turns("places", policy, headline, in_sandbox) for policy in POLICIES]
        groups += [tuple(Task("fuel", policy, form, headline) for form in in_sandbox) for policy in POLICIES]
        languages = dict.fromkeys(_LANGUAGES[form] for form in chosen if form in _LANGUAGES)
        return cls(
            tuple(sizes),
            tuple((policy, language) for language in languages for policy in POLICIES),
            tuple(group for group in groups if group),
        )


def steps(plan: Plan) -> int:
    """Number of `step` calls of `measure`."""
    return len(plan.guests) + sum(map(len, plan.groups))


def measure(step: Callable[[str], None], plan: Plan) -> Iterator[Measurement | Skipped]:
    """All measurements; `step` gets the name of the next task."""
    with Worker() as worker:
        missing = _built(plan, worker, step)
        skipped: dict[tuple[str, str], str] = {}
        for group in plan.groups:
            values: dict[Task, list[dict[str, float]]] = defaultdict(list)
            for task in group:
                step(task.text)
                case = task.policy, task.form
                reason = missing.get((task.policy, _LANGUAGES.get(task.form, "")))
                if reason is None and case not in skipped:
                    try:
                        found = worker.ask(task.name, *case, task.nodes)
                        values[task].append(found)
                    except Unavailable as error:
                        reason = str(error)
                if reason is not None and case not in skipped:
                    skipped[case] = reason
                    yield Skipped("plugin", f"{task.form}, {task.policy}", reason)
            for task, figures in values.items():
                yield from _measurements(task, figures)


def _built(plan: Plan, worker: Worker, step: Callable[[str], None]) -> dict[tuple[str, str], str]:
    """Builds and compiles all guests; returns the reasons of failed ones."""
    missing = {}
    for policy, language in plan.guests:
        step(f"building {policy}, {language}")
        try:
            guests.guest(policy, language)
            worker.ask("warming", policy, language, 1)
        except Unavailable as error:
            missing[policy, language] = str(error)
    return missing


def _measurements(task: Task, repetitions: list[dict[str, float]]) -> Iterator[Measurement]:
    case: dict[str, str | int] = {"policy": task.policy, "form": task.form, "nodes": task.nodes}
    for name in repetitions[0]:
        values = tuple(figures[name] for figures in repetitions)
        if task.name == "fuel":
            yield Measurement("plugin", case | {"cycle": name}, "fuel", "units", values, exact=True)
        elif task.name == "places":
            cycle, part = name.split()
            yield Measurement("plugin", case | {"cycle": cycle}, f"where_{part}", "µs", values)
        else:
            yield Measurement("plugin", case, name, _UNITS[name], values)
