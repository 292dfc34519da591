"""Generator of `src/kubewasp/k8s/wire_fields.txt` from the API types of a Kubernetes release.

Numbers and types are in the `generated.proto` files; the Go structs beside them have the JSON names and tell which
fields are always written. `python -m tools.wire_fields` rewrites the file, `--check` only compares it.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.k8s import wire_table
from kubewasp.k8s.wire_values import VALUE_TYPES
from kubewasp.projects import go as go_projects
from tools import go_builds
from tools.testbed.build import kubernetes_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TARGET: Final = Path(wire_table.__file__).with_name("wire_fields.txt")

# Package of the table: module and folder.
PACKAGES: Final = {
    "api.resource": ("k8s.io/apimachinery", "pkg/api/resource"),
    "apis.meta.v1": ("k8s.io/apimachinery", "pkg/apis/meta/v1"),
    "runtime": ("k8s.io/apimachinery", "pkg/runtime"),
    "util.intstr": ("k8s.io/apimachinery", "pkg/util/intstr"),
    "core.v1": ("k8s.io/api", "core/v1"),
    "apps.v1": ("k8s.io/api", "apps/v1"),
    "batch.v1": ("k8s.io/api", "batch/v1"),
    "coordination.v1": ("k8s.io/api", "coordination/v1"),
    "events.v1": ("k8s.io/api", "events/v1"),
    "policy.v1": ("k8s.io/api", "policy/v1"),
    "scheduling.v1": ("k8s.io/api", "scheduling/v1"),
    "storage.v1": ("k8s.io/api", "storage/v1"),
}
# The kinds; their fields' messages follow.
ROOTS: Final = (
    *("apis.meta.v1.DeleteOptions", "apis.meta.v1.Status", "apis.meta.v1.WatchEvent", "runtime.Unknown"),
    *("core.v1.Binding", "core.v1.Event", "events.v1.EventList", "coordination.v1.LeaseList"),
    *("core.v1.NamespaceList", "core.v1.NodeList", "core.v1.PodList", "core.v1.ServiceList"),
    *("core.v1.PersistentVolumeClaimList", "core.v1.PersistentVolumeList", "core.v1.ReplicationControllerList"),
    *("apps.v1.DaemonSetList", "apps.v1.DeploymentList", "apps.v1.ReplicaSetList", "apps.v1.StatefulSetList"),
    *("batch.v1.JobList", "policy.v1.PodDisruptionBudgetList", "scheduling.v1.PriorityClassList"),
    *("storage.v1.CSIDriverList", "storage.v1.CSINodeList", "storage.v1.CSIStorageCapacityList"),
    *("storage.v1.StorageClassList", "storage.v1.VolumeAttachmentList"),
)
# Messages with an own JSON form, which their Go structs do not show.
_WITHOUT_JSON: Final = {"apis.meta.v1.FieldsV1", "runtime.RawExtension", "util.intstr.IntOrString"}
_HIDDEN: Final = {("runtime.Unknown", name) for name in ("raw", "contentEncoding", "contentType")}

_MESSAGE: Final = re.compile(r"^message (\w+) \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(r"^  (optional|repeated|map<string,) ?([\w.]+)>? (\w+) = (\d+);$", re.MULTILINE)
_STRUCT: Final = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_MEMBER: Final = re.compile(r"^\t(?:\w+ +)?(\*|\[\])?[\w.\[\]]+ +`([^`]*)`", re.MULTILINE)
_TAG: Final = re.compile(r'protobuf:"[^"]*?,(\d+),')
_PREFIX: Final = re.compile(r"^\.k8s\.io\.(?:api|apimachinery\.pkg)\.")


@dataclass(frozen=True, slots=True)
class Member:
    """Member of a Go struct: pointers and slices may be absent; an inline member has no name in JSON."""

    may_be_absent: bool
    is_inline: bool


def blocks(sources: Mapping[str, tuple[str, str]], roots: Iterable[str]) -> Iterator[str]:
    """The text of the roots and of all messages of their fields. Sources: a .proto and Go code by package."""
    protos = {
        f"{package}.{name}": body for package, (proto, _) in sources.items() for name, body in _MESSAGE.findall(proto)
    }
    structs = {
        f"{package}.{name}": _members(body)
        for package, (_, code) in sources.items()
        for name, body in _STRUCT.findall(code)
    }
    found: dict[str, list[str]] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = []
        for shape, written, field, number in _FIELD.findall(protos[name]):
            kind = _type(written, name)
            member = structs.get(name, {}).get(int(number))
            is_hidden = name in _WITHOUT_JSON or (name, field) in _HIDDEN
            found[name].append(_line(f"{field} {_shaped(kind, shape)}", number, member) + " json=-" * is_hidden)
            if kind in protos:
                waiting.append(kind)
    for name in sorted(found):
        yield "\n".join([name, *found[name]])


def _members(body: str) -> dict[int, Member]:
    found = {}
    for reference, tags in _MEMBER.findall(body):
        number = _TAG.search(tags)
        if number is not None:
            found[int(number[1])] = Member(bool(reference), ",inline" in tags)
    return found


def _type(written: str, owner: str) -> str:
    if written in VALUE_TYPES:
        return written
    return _PREFIX.sub("", written) if written.startswith(".") else f"{owner.rpartition('.')[0]}.{written}"


def _shaped(kind: str, shape: str) -> str:
    return {"optional": kind, "repeated": f"[]{kind}"}.get(shape, f"map<string,{kind}>")


def _line(field: str, number: str, member: Member | None) -> str:
    """`field` is the name and the type. Lists, maps and bytes may always be absent."""
    is_single = not field.endswith((">", " bytes")) and "[]" not in field
    is_written = is_single and member is not None and not member.may_be_absent
    inline = " inline" if member is not None and member.is_inline else ""
    return f"  {number}{'!' if is_written else ''} {field}{inline}"


def sources(go: go_projects.Go) -> dict[str, tuple[str, str]]:
    """The sources of all packages, in the release of the test bed."""
    release = kubernetes_version().replace("v1.", "v0.", 1)
    folders = {
        module: Path(go_builds.download(go, module, release)["Dir"]) for module in {m for m, _ in PACKAGES.values()}
    }
    found = {}
    for package, (module, folder) in PACKAGES.items():
        path = folders[module] / folder
        code = "\n".join(file.read_text("utf-8") for file in sorted(path.glob("*.go")) if "_test" not in file.name)
        found[package] = (path / "generated.proto").read_text("utf-8"), code
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare; exit code 1 on a difference")
    asked = parser.parse_args()
    before = TARGET.read_text("utf-8")
    head = before.partition("\n\n")[0]
    text = "\n".join([f"{head}\n", *blocks(sources(go_projects.find()), ROOTS)]) + "\n"
    if asked.check:
        return int(text != before)
    TARGET.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
