"""`kubewasp extender` and `kubewasp extender config`: output and errors."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kubewasp.framework.config.reading import read_config
from tests.cli.conftest import Kubewasp
from tests.guests.build import example, wat

Write = Callable[[str, str], Path]
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture
def guest() -> Path:
    return example("nodenumber")


def checked(text: str) -> dict[str, object]:
    """The one entry of a stanza, which kube-scheduler would take."""
    document = yaml.safe_load(HEAD + text)
    read_config(document)
    (entry,) = document["extenders"]
    return dict(entry)


def test_the_stanza_can_be_pasted(kubewasp: Kubewasp, guest: Path) -> None:
    ended = kubewasp("extender", "config", "--plugin", guest)
    assert (ended.code, ended.err) == (0, "")
    assert checked(ended.out) == {
        "urlPrefix": "http://127.0.0.1:8888",
        "filterVerb": "filter",
        "preemptVerb": "preempt",
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "httpTimeout": "5s",
        "nodeCacheCapable": True,
        "ignorable": False,
    }
    told = " ".join(ended.out.replace("#", " ").split())
    assert "Opportunistic batching is off" in told
    assert "Queueing hints do not apply" in told
    assert "the extender must run with --kubeconfig" in told


def test_json_is_the_same_stanza(kubewasp: Kubewasp, guest: Path) -> None:
    text = kubewasp("extender", "config", "--plugin", guest).out
    (entry,) = kubewasp("extender", "config", "--plugin", guest, "-o", "json").json["extenders"]
    assert entry == checked(text)


def test_whole_nodes_and_what_they_cost(kubewasp: Kubewasp, guest: Path) -> None:
    ended = kubewasp("extender", "config", "--plugin", guest, "--full-nodes")
    assert checked(ended.out)["nodeCacheCapable"] is False
    assert "Nodes returned by filter lack pods and images" in " ".join(ended.out.replace("#", " ").split())


def test_only_verbs_that_the_plugins_have(kubewasp: Kubewasp) -> None:
    entry = checked(kubewasp("extender", "config", "--plugin", wat("score")).out)
    assert not {"filterVerb", "preemptVerb", "bindVerb"} & entry.keys()
    entry = checked(kubewasp("extender", "config", "--plugin", wat("filter"), "--bind").out)
    assert not {"prioritizeVerb", "weight"} & entry.keys()
    assert entry["bindVerb"] == "bind"


def test_plugins_that_only_prefilter_and_points_that_are_never_asked_are_told(kubewasp: Kubewasp) -> None:
    told = kubewasp("extender", "config", "--plugin", wat("only_prefilter")).out
    assert "can reject pods in PreFilter only" in " ".join(told.replace("#", " ").split())
    told = " ".join(kubewasp("extender", "config", "--plugin", wat("all_hooks")).out.replace("#", " ").split())
    assert "reserve, permit, preBind, bind, postBind: no verb calls these" in told


def test_https_resources_and_the_rest(kubewasp: Kubewasp, guest: Path) -> None:
    entry = checked(
        kubewasp(
            "extender", "config", "--plugin", guest, "--url", "https://extender.kube-system:8888/", "--ca", "/ca.pem",
            "--weight", 5, "--timeout", "1500ms", "--ignorable", "--managed-resource", "example.com/gpu:ignored",
        ).out
    )  # fmt: skip
    assert entry["urlPrefix"] == "https://extender.kube-system:8888"
    assert (entry["enableHTTPS"], entry["tlsConfig"]) == (True, {"insecure": False, "caFile": "/ca.pem"})
    assert (entry["weight"], entry["httpTimeout"], entry["ignorable"]) == (5, "1.5s", True)
    assert entry["managedResources"] == [{"name": "example.com/gpu", "ignoredByScheduler": True}]
    told = kubewasp("extender", "config", "--plugin", guest, "--url", "https://a").out
    assert "the certificate is not verified" in told


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--url", "nowhere"], "expected a URL such as http://127.0.0.1:8888, got 'nowhere'"),
        (["--timeout", "soon"], "expected a duration"),
        (["--timeout", "0s"], "expected a positive duration"),
        (["--managed-resource", "a:b"], "expected NAME or NAME:ignored"),
        (["--ca", "x"], "requires an https URL"),
    ],
)
def test_options_of_the_stanza_that_are_wrong(
    kubewasp: Kubewasp, guest: Path, options: list[str], problem: str
) -> None:
    assert problem in kubewasp("extender", "config", "--plugin", guest, *options).usage_error


def test_a_managed_resource_that_kube_scheduler_would_refuse(kubewasp: Kubewasp, guest: Path) -> None:
    ended = kubewasp("extender", "config", "--plugin", guest, "--managed-resource", "cpu")
    assert ended.code == 1
    assert "extenders[0].managedResources[0].name" in ended.err
    assert "is an invalid extended resource name" in ended.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "give --config FILE or --plugin GUEST"),
        (["--plugin", "GUEST", "--bind"], "needs a cluster: give --kubeconfig FILE or --in-cluster"),
        (["--plugin", "GUEST", "--all-plugins"], "needs a cluster: give --kubeconfig FILE or --in-cluster"),
        (["--plugin", "GUEST", "--kubeconfig", "x", "--in-cluster"], "give --kubeconfig or --in-cluster, not both"),
        (["--plugin", "GUEST", "config"], "--plugin: options go after config"),
        (["--plugin", "GUEST", "--listen", "here"], "--listen: cannot listen on 'here': expected HOST:PORT"),
        (["--plugin", "GUEST", "--listen", "127.0.0.1:70000"], "expected HOST:PORT"),
        (["--plugin", "GUEST", "--tls-cert", "cert.pem"], "--tls-cert and --tls-key go together"),
        (["--plugin", "GUEST", "--client-ca", "ca.pem"], "client certificates need HTTPS: give --tls-cert"),
        (["--plugin", "GUEST", "--max-body", "128"], "--max-body: expected a size from 1Mi to 4Gi, got 128 bytes"),
        (["--plugin", "GUEST", "--max-body", "much"], "--max-body: expected a size such as 64Ki or 256Mi, got 'much'"),
    ],
)
def test_options_of_the_server_that_are_wrong(
    kubewasp: Kubewasp, guest: Path, options: list[str], problem: str
) -> None:
    given = [str(guest) if option == "GUEST" else option for option in options]
    assert problem in kubewasp("extender", *given).usage_error


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--listen", "127.0.0.1:0", "--tls-cert", "a.pem", "--tls-key", "b.pem"], "cannot use a.pem and b.pem"),
        (["--listen", "127.0.0.1:0", "--kubeconfig", "missing"], "missing"),
        (["--managed-resource", "memory"], "is an invalid extended resource name"),
    ],
)
def test_a_server_that_cannot_start_says_why(kubewasp: Kubewasp, guest: Path, options: list[str], problem: str) -> None:
    ended = kubewasp("extender", "--plugin", guest, *options)
    assert (ended.code, ended.out) == (1, "")
    (line,) = [line for line in ended.err.splitlines() if line.startswith("error: ")]
    assert problem in line


def test_a_configuration_with_built_in_plugins_only(kubewasp: Kubewasp, write: Write) -> None:
    path = write("s.yaml", HEAD)
    for arguments in (["extender"], ["extender", "config"]):
        ended = kubewasp(*arguments, "--config", path)
        assert ended.code == 1
        assert "no profile has a plugin for an extender" in ended.err
    assert kubewasp("extender", "--config", "missing.yaml").err == (
        "error: missing.yaml: cannot be read: No such file or directory\n"
    )


def test_the_help_teaches(kubewasp: Kubewasp) -> None:
    ended = kubewasp("extender", "--help")
    assert ended.code == 0
    assert "kubewasp extender --config scheduler.yaml" in " ".join(ended.out.split())
