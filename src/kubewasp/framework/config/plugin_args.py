"""Plugin args: fields, defaults and validation, with the error texts of kube-scheduler.

Args keep the form of the file, with defaults, so that built-in and Python plugins receive the same.
More than 400 lines: one reader per plugin and their shared fields.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.fields import Problems, Section
from kubewasp.framework.config.guest_urls import in_folder
from kubewasp.framework.config.model import API_VERSION, WasmPluginSettings
from kubewasp.framework.config.rollout_reading import read_rollout
from kubewasp.k8s.duration import format_duration
from kubewasp.k8s.names import name_problems, value_problems
from kubewasp.registry.errors import InvalidReferenceError
from kubewasp.registry.references import Reference, is_reference
from kubewasp.registry.settings import PULL_POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from kubewasp.framework.config.model import FailurePolicy
    from kubewasp.registry.settings import PullPolicy

    Args = dict[str, Any]
    LimitsCheck = Callable[[Mapping[str, Any]], str]

LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO = STRATEGIES = (
    "LeastAllocated",
    "MostAllocated",
    "RequestedToCapacityRatio",
)
GUEST_URL: Final = "guestURL"
_MAX_SHAPE_SCORE: Final = 10
_SHA256: Final = re.compile(r"(sha256:)?[0-9a-fA-F]{64}")
_GUEST_URL: Final = re.compile(r"(?:file|https?|oci)://.+|(?!\w+://).+", re.IGNORECASE | re.DOTALL)
_FAILURE_POLICIES: Final[tuple[FailurePolicy, ...]] = ("Fail", "Ignore")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


def has_args(plugin: str) -> bool:
    """Whether the name is a built-in plugin with args."""
    return plugin in _READERS


def default_args(plugin: str) -> Args:
    return read_args(plugin, Section({}, "", Problems()))


def read_args(plugin: str, section: Section) -> Args:
    """The args of a built-in plugin with defaults; problems are added to the section."""
    _check_type(plugin, section)
    args = _READERS[plugin](section)
    section.refuse_unknown()
    return args


def check_enabled(plugin: str, args: Args, path: str, problems: Problems) -> None:
    """Validation at instantiation, as in kube-scheduler: it does not apply to disabled plugins."""
    check = _CHECKS_OF_ENABLED.get(plugin)
    if check is not None:
        check(args, path, problems)


def ignore_resources(args: Mapping[str, Args], resources: Sequence[str]) -> None:
    """Excludes resources that are managed by extenders from the fit check."""
    if "NodeResourcesFit" in args:
        args["NodeResourcesFit"]["ignoredResources"] = list(resources)


def _check_resources_fit(args: Args, path: str, problems: Problems) -> None:
    _check_names(args["ignoredResources"], f"{path}.ignoredResources", problems)
    groups = f"{path}.ignoredResourceGroups"
    for index, group in enumerate(args["ignoredResourceGroups"]):
        if "/" in group:
            problems.invalid(f"{groups}[{index}]", group, "resource group name can't contain '/'")
    _check_names(args["ignoredResourceGroups"], groups, problems)
    strategy, path = args["scoringStrategy"], f"{path}.scoringStrategy"
    if strategy["type"] not in STRATEGIES:
        problems.unsupported(f"{path}.type", strategy["type"], STRATEGIES)
    for index, resource in enumerate(strategy["resources"]):
        if not 0 < resource["weight"] <= 100:
            text = f"resource weight of {resource['name']} not in valid range (0, 100]"
            problems.invalid(f"{path}.resources[{index}].weight", resource["weight"], text)
    ratio = strategy.get("requestedToCapacityRatio")
    path += ".requestedToCapacityRatio"
    if strategy["type"] != REQUESTED_TO_CAPACITY_RATIO:
        if ratio is not None:
            problems.forbidden(path, "must be nil when type is not RequestedToCapacityRatio")
    elif ratio is None:
        problems.required(path, "must be specified when type is RequestedToCapacityRatio")
    else:
        _check_shape(ratio["shape"], f"{path}.shape", problems)


def read_wasm_settings(section: Section, check_limits: LimitsCheck | None, folder: Path | None) -> WasmPluginSettings:
    """The args of a wasm plugin; a relative guest URL starts at `folder`.

    `check_limits` returns the problem of limits as `limits.NAME: problem`, or "".
    """
    problems = section.problems
    section.text("apiVersion")
    section.text("kind")
    url = section.text(GUEST_URL)
    settings = WasmPluginSettings(
        guest_url=url if folder is None else in_folder(url, folder),
        guest_config=section.text("guestConfig"),
        log_severity=section.integer("logSeverity"),
        args=tuple(section.texts("args")),
        sha256=section.text("sha256") or None,
        limits=section.mapping("limits"),
        failure_policy=_failure_policy(section),
        rollout=read_rollout(section, "rollout"),
        image_pull_policy=read_pull_policy(section),
    )
    section.refuse_unknown()
    if not url:
        problems.required(section.at(GUEST_URL))
    elif not _GUEST_URL.fullmatch(url):
        problems.invalid(section.at(GUEST_URL), url, "must be a path or a file://, http://, https:// or oci:// address")
    elif is_reference(url) and (problem := reference_problem(url)):
        problems.add(section.at(GUEST_URL), problem)  # without the value, which may have a password
    if settings.sha256 and not _SHA256.fullmatch(settings.sha256):
        problems.invalid(section.at("sha256"), settings.sha256, "must be 64 hexadecimal digits")
    wrong_limit = check_limits(settings.limits) if check_limits else ""
    if wrong_limit:
        path, _, text = wrong_limit.partition(": ")
        problems.add(f"{section.path}.{path}", text)
    return settings


def reference_problem(url: str) -> str:
    """The problem of an `oci://` address, without passwords in it; empty if it is valid."""
    try:
        Reference.parse(url)
    except InvalidReferenceError as error:
        return str(error)
    return ""


def read_pull_policy(section: Section) -> PullPolicy | None:
    """`imagePullPolicy`; None if it is not given."""
    given = section.text("imagePullPolicy")
    if not given:
        return None
    for policy in PULL_POLICIES:
        if policy == given:
            return policy
    section.problems.unsupported(section.at("imagePullPolicy"), given, PULL_POLICIES)
    return None


def _failure_policy(section: Section) -> FailurePolicy:
    given = section.text("failurePolicy", "Fail")
    for policy in _FAILURE_POLICIES:
        if policy == given:
            return policy
    section.problems.unsupported(section.at("failurePolicy"), given, _FAILURE_POLICIES)
    return "Fail"


def _check_type(plugin: str, section: Section) -> None:
    """`apiVersion` and `kind` of args are optional, but must match if present."""
    group = API_VERSION.partition("/")[0]
    expected = f"{plugin}Args"
    kind = section.text("kind") or expected
    api_version = section.text("apiVersion") or API_VERSION
    if kind != expected or api_version.rpartition("/")[0] != group:
        got = f"{kind}.{api_version.rpartition('/')[0]}".rstrip(".")
        text = f"args for plugin {plugin} were not of type {expected}.{group}, got {got}"
        section.problems.add(section.at("kind"), text)
    elif api_version != API_VERSION:
        section.problems.add(section.at("apiVersion"), f"expected {API_VERSION}, got {api_version}")


# ---------------------------------------------------------------------- plugins


def _default_preemption(section: Section) -> Args:
    share, count = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
    args = {share: section.integer(share, 10), count: section.integer(count, 100)}
    invalid = section.problems.invalid
    if not 0 <= args[share] <= 100:
        invalid(section.at(share), args[share], "not in valid range [0, 100]")
    if args[count] < 0:
        invalid(section.at(count), args[count], "not in valid range [0, inf)")
    if args[share] == 0 == args[count]:
        for one, other in ((share, count), (count, share)):
            invalid(section.at(one), 0, f"cannot be zero at the same time as {other}")
    return args


def _inter_pod_affinity(section: Section) -> Args:
    weight = section.integer("hardPodAffinityWeight", 1)
    if not 0 <= weight <= 100:
        section.problems.invalid(section.at("hardPodAffinityWeight"), weight, "not in valid range [0, 100]")
    ignored = section.boolean("ignorePreferredTermsOfExistingPods")
    return {"hardPodAffinityWeight": weight, "ignorePreferredTermsOfExistingPods": ignored}


def _node_resources_fit(section: Section) -> Args:
    args: Args = {
        "ignoredResources": section.texts("ignoredResources"),
        "ignoredResourceGroups": section.texts("ignoredResourceGroups"),
    }
    # The type has a default only as part of a missing strategy.
    default_type = "" if section.has("scoringStrategy") else LEAST_ALLOCATED
    given = section.section("scoringStrategy")
    strategy: Args = {"type": given.text("type", default_type), "resources": _resources(given)}
    has_ratio = given.has("requestedToCapacityRatio")
    ratio = given.section("requestedToCapacityRatio")
    if has_ratio:
        strategy["requestedToCapacityRatio"] = {"shape": _shape(ratio)}
        ratio.refuse_unknown()
    given.refuse_unknown()
    args["scoringStrategy"] = strategy
    return args


def _balanced_allocation(section: Section) -> Args:
    resources = _resources(section)
    seen: set[str] = set()
    for index, resource in enumerate(resources):
        path = f"{section.at('resources')}[{index}]"
        if resource["name"] in seen:
            section.problems.duplicate(f"{path}.name", f'"{resource["name"]}"')
        seen.add(resource["name"])
        if resource["weight"] != 1:
            section.problems.invalid(f"{path}.weight", resource["weight"], "must be 1")
    return {"resources": resources}


def _pod_topology_spread(section: Section) -> Args:
    kinds = ("System", "List")
    constraints = [_spread_constraint(item) for item in section.sections("defaultConstraints")]
    kind = section.text("defaultingType") or "System"
    path = section.at("defaultingType")
    if kind not in kinds:
        section.problems.unsupported(path, kind, kinds)
    elif kind == "System" and constraints:
        section.problems.invalid(path, kind, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for index, item in enumerate(constraints):
        key = item["topologyKey"], item["whenUnsatisfiable"]
        if key in seen:
            section.problems.duplicate(f"{section.at('defaultConstraints')}[{index}]", f'"{{{key[0]}, {key[1]}}}"')
        seen.add(key)
    return {"defaultConstraints": constraints, "defaultingType": kind}


def _spread_constraint(section: Section) -> Args:
    problems = section.problems
    constraint: Args = {
        "maxSkew": section.integer("maxSkew"),
        "topologyKey": section.text("topologyKey"),
        "whenUnsatisfiable": section.text("whenUnsatisfiable"),
    }
    optional = {
        "minDomains": section.optional_integer("minDomains"),
        "nodeAffinityPolicy": section.text("nodeAffinityPolicy"),
        "nodeTaintsPolicy": section.text("nodeTaintsPolicy"),
        "matchLabelKeys": section.texts("matchLabelKeys"),
    }
    if constraint["maxSkew"] <= 0:
        problems.invalid(section.at("maxSkew"), constraint["maxSkew"], "not in valid range (0, inf)")
    if constraint["topologyKey"]:
        _check_names([constraint["topologyKey"]], section.at("topologyKey"), problems, numbered=False)
    else:
        problems.required(section.at("topologyKey"), "can not be empty")
    actions = ("DoNotSchedule", "ScheduleAnyway")
    if not constraint["whenUnsatisfiable"]:
        problems.required(section.at("whenUnsatisfiable"), "can not be empty")
    elif constraint["whenUnsatisfiable"] not in actions:
        problems.unsupported(section.at("whenUnsatisfiable"), constraint["whenUnsatisfiable"], actions)
    if section.take("labelSelector") is not None:
        text = "constraint must not define a selector, as they deduced for each pod"
        problems.forbidden(section.at("labelSelector"), text)
    section.refuse_unknown()
    return constraint | {name: value for name, value in optional.items() if value not in (None, "", [])}


def _volume_binding(section: Section) -> Args:
    timeout = section.integer("bindTimeoutSeconds", 600, bits=64)
    if timeout < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        section.problems.invalid(section.at("bindTimeoutSeconds"), timeout, text)
    if section.has("shape"):
        text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        section.problems.invalid(section.at("shape"), _shape(section), text)
    else:
        section.take("shape")
    return {"bindTimeoutSeconds": timeout}


def _dynamic_resources(section: Section) -> Args:
    filtering, binding = section.seconds("filterTimeout", 10.0), section.seconds("bindingTimeout", 600.0)
    args = {"filterTimeout": format_duration(filtering), "bindingTimeout": format_duration(binding)}
    if filtering < 0:
        section.problems.invalid(section.at("filterTimeout"), args["filterTimeout"], "must be zero or positive")
    if binding < 1:
        section.problems.invalid(section.at("bindingTimeout"), args["bindingTimeout"], "must be at least 1 second")
    return args


def _node_affinity(section: Section) -> Args:
    if not section.has("addedAffinity"):
        section.take("addedAffinity")
        return {}
    affinity = section.section("addedAffinity")
    required, preferred = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))
    added: Args = {}
    has_required = affinity.has(required)
    selector = affinity.section(required)
    if has_required:
        added[required] = {"nodeSelectorTerms": [_node_term(term) for term in selector.sections("nodeSelectorTerms")]}
        selector.refuse_unknown()
    terms = affinity.sections(preferred)
    if terms:
        added[preferred] = [_preferred_term(term) for term in terms]
    affinity.refuse_unknown()
    return {"addedAffinity": added}


def _preferred_term(section: Section) -> Args:
    weight = section.integer("weight")
    # A term without a weight has no effect and is not validated.
    term = {"weight": weight, "preference": _node_term(section.section("preference"), checked=weight != 0)}
    section.refuse_unknown()
    return term


def _node_term(section: Section, *, checked: bool = True) -> Args:
    term: Args = {}
    for name, check in (("matchExpressions", _check_expression), ("matchFields", _check_field)):
        requirements = section.sections(name)
        if requirements:
            term[name] = [_requirement(item, check if checked else None) for item in requirements]
    section.refuse_unknown()
    return term


def _requirement(section: Section, check: Callable[[Section, Args], None] | None) -> Args:
    requirement: Args = {
        "key": section.text("key"),
        "operator": section.text("operator"),
        "values": section.texts("values"),
    }
    section.refuse_unknown()
    if check:
        check(section, requirement)
    if not requirement["values"]:
        del requirement["values"]
    return requirement


def _check_expression(section: Section, requirement: Args) -> None:
    problems = section.problems
    key, operator, values = requirement["key"], requirement["operator"], requirement["values"]
    path = section.at("values")
    if operator not in _OPERATORS:
        problems.unsupported(section.at("operator"), operator, _OPERATORS)
        return
    _check_names([key], section.at("key"), problems, numbered=False)
    if operator in ("In", "NotIn"):
        if not values:
            problems.invalid(path, values, "for 'in', 'notin' operators, values set can't be empty")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            problems.invalid(path, values, "values set must be empty for exists and does not exist")
    elif len(values) != 1:
        problems.invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required")
    elif not _INTEGER.fullmatch(values[0]) or not -(2**63) <= int(values[0][:30]) < 2**63:
        problems.invalid(f"{path}[0]", values[0], "for 'Gt', 'Lt' operators, the value must be an integer")
    for index, value in enumerate(values):
        for text in value_problems(value):
            problems.invalid(f"{path}[{index}]", value, text)


def _check_field(section: Section, requirement: Args) -> None:
    if requirement["operator"] not in _OPERATORS[:2]:
        section.problems.unsupported(section.at("operator"), requirement["operator"], _OPERATORS[:2])
    elif len(requirement["values"]) != 1:
        section.problems.invalid(section.at("values"), requirement["values"], "must have one element")


_READERS: Final[Mapping[str, Callable[[Section], Args]]] = {
    "DefaultPreemption": _default_preemption,
    "DynamicResources": _dynamic_resources,
    "InterPodAffinity": _inter_pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced_allocation,
    "NodeResourcesFit": _node_resources_fit,
    "PodTopologySpread": _pod_topology_spread,
    "VolumeBinding": _volume_binding,
}
_CHECKS_OF_ENABLED: Final[Mapping[str, Callable[[Args, str, Problems], None]]] = {
    "NodeResourcesFit": _check_resources_fit
}


# ---------------------------------------------------------------------- shared fields


def _resources(section: Section) -> list[Args]:
    """Resources with weights: CPU and memory by default, weight 1 if missing or 0."""
    found: list[Args] = []
    for item in section.sections("resources"):
        found.append({"name": item.text("name"), "weight": item.integer("weight", bits=64) or 1})
        item.refuse_unknown()
    return found or [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def _shape(section: Section) -> list[Args]:
    points: list[Args] = []
    for item in section.sections("shape"):
        points.append({"utilization": item.integer("utilization"), "score": item.integer("score")})
        item.refuse_unknown()
    return points


def _check_shape(shape: Sequence[Mapping[str, int]], path: str, problems: Problems) -> None:
    if not shape:
        problems.required(path, "at least one point must be specified")
    for index in range(1, len(shape)):
        utilization = shape[index]["utilization"]
        if shape[index - 1]["utilization"] >= utilization:
            where, before = f"{path}[{index}].utilization", f"{path}[{index - 1}].utilization"
            problems.invalid(where, utilization, "values must be sorted in increasing order", also=[before])
            break
    for index, point in enumerate(shape):
        for name, highest in (("utilization", 100), ("score", _MAX_SHAPE_SCORE)):
            if not 0 <= point[name] <= highest:
                problems.invalid(f"{path}[{index}].{name}", point[name], f"not in valid range [0, {highest}]")


def _check_names(names: Sequence[str], path: str, problems: Problems, *, numbered: bool = True) -> None:
    for index, name in enumerate(names):
        for text in name_problems(name):
            problems.invalid(f"{path}[{index}]" if numbered else path, name, text)
