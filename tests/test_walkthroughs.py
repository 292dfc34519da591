"""Pages that are walkthroughs: their commands run in order, in a folder of their own, with a registry in this process.

A block of YAML whose first line is `# NAME.yaml` is a file. A command whose shown output begins with `error:` fails.
`registry.example.com` is the registry; digests, fingerprints and line breaks are not compared.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import orjson
import pytest

from kubewasp.registry.oci_manifests import EMPTY_CONTENT, EMPTY_DESCRIPTOR, Descriptor, Manifest
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistrySettings
from kubewasp.trust import bundle
from tests.registry.fake_registry import FakeRegistry
from tests.test_docs import FENCE, PLAIN, ROOT, WALKTHROUGHS, commands
from tests.trust.fake_sigstore import FakeSigstore

if TYPE_CHECKING:
    from pathlib import Path

HOST = "registry.example.com"
FILE = re.compile(r"# ([\w.-]+\.yaml)\n")
ISSUER = "--certificate-oidc-issuer"
DIGEST = re.compile(r"sha256([:-])(?:[0-9a-f]{64}|[0-9a-f]*…)")
FINGERPRINT = re.compile(r"SHA256:(?:[A-Za-z0-9+/]{43}|[A-Za-z0-9+/]*…)")


def comparable(text: str) -> str:
    """The text without blanks, line breaks, digests and fingerprints."""
    joined = "".join(text.split())
    return FINGERPRINT.sub("SHA256:#", DIGEST.sub(r"sha256\1#", joined))


class Walk:
    """A page in progress."""

    def __init__(self, folder: Path, registry: FakeRegistry) -> None:
        self._folder = folder
        self._registry = registry
        shutil.copy(ROOT / "examples" / "guests" / "prefer_label.wat", folder / "prefer-label.wat")
        shutil.copy(ROOT / "examples" / "clusters" / "small.yaml", folder / "cluster.yaml")
        self._environment = {name: value for name, value in PLAIN.items() if not name.startswith("KUBEWASP_")} | {
            "HOME": str(folder / "home"),
            "KUBEWASP_CACHE_DIR": str(folder / "cache"),
            "KUBEWASP_PASSWORD": "secret",
            "PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}",  # noqa: PTH120
        }

    def write(self, name: str, content: str) -> None:
        (self._folder / name).write_text(content.replace(HOST, self._registry.host), encoding="utf-8")

    def run(self, command: str, shown: str) -> None:
        words = shlex.split(command.replace(HOST, self._registry.host), comments=True)
        assert words[0] == "kubewasp"
        program = [sys.executable, "-m", "kubewasp", *words[1:]]
        ended = subprocess.run(
            program, cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False
        )
        fails = shown.startswith("error:")
        assert ended.returncode == (1 if fails else 0), f"{command}\n{ended.stderr}{ended.stdout}"
        found = (ended.stderr if fails else ended.stdout).replace(self._registry.host, HOST)
        wanted, is_beginning = comparable(shown.removesuffix("…")), shown.endswith("…")
        if shown:
            given = comparable(found)
            assert given[: len(wanted)] == wanted if is_beginning else given == wanted, f"{command}\n{found}"


@pytest.mark.parametrize("page", WALKTHROUGHS)
def test_the_commands_of_the_page_print_what_it_shows(page: str, tmp_path: Path) -> None:
    with FakeRegistry().serving() as registry:
        walk = Walk(tmp_path, registry)
        for kind, body in FENCE.findall((ROOT / "docs" / page).read_text(encoding="utf-8")):
            if kind == "yaml" and (name := FILE.match(body)):
                walk.write(name[1], body)
            elif kind == "console":
                for command, shown in commands(body):
                    walk.run(command, shown)


def test_the_command_for_identities_verifies_a_keyless_signature(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    [[command, _]] = [found for kind, body in FENCE.findall(text) if kind == "sh" for found in commands(_joined(body))]
    words = shlex.split(command)
    subject, issuer = (words[words.index(option) + 1] for option in ("--certificate-identity", ISSUER))
    sigstore = FakeSigstore()
    sigstore.trusted_root(tmp_path / "trusted_root.json")
    with FakeRegistry().serving() as registry:
        walk = Walk(tmp_path, registry)
        place = words[3].replace(HOST, registry.host)
        walk.run(f"kubewasp plugin push prefer-label.wat {place}", "")
        walk.run(command, f"error: {words[3]}@sha256:…: not trusted by the command line: …")
        signed_by = sigstore.certified(subject, issuer)
        with RegistryClient(RegistrySettings(uses_user_files=False)) as client:
            manifest = client.resolve(Reference.parse(place))
            document = orjson.dumps(sigstore.sign_digest(manifest.digest.removeprefix("sha256:"), signed_by))
            layer = Descriptor.of(document, bundle.MEDIA_TYPE)
            signature = Manifest(EMPTY_DESCRIPTOR, (layer,), artifact_type=bundle.MEDIA_TYPE, subject=manifest).write()
            repository = Reference.parse(place).repository
            for content in (EMPTY_CONTENT, document):
                registry.put_blob(repository, content)
            client.push_manifest(Reference.parse(place).at(Descriptor.of(signature, "").digest), signature)
        walk.run(command, f"name {words[3]} digest sha256:… trust verified signer {subject} (issuer {issuer}) found …")


def _joined(body: str) -> str:
    return body.replace("\\\n", " ")
