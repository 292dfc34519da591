"""Access to registries: TLS, tokens, redirects to other hosts, proxies. Names lead to loopback here."""

import base64
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kubewasp.registry.connections import Dialer
from kubewasp.registry.errors import DeniedError, RegistryError, UnreachableError
from kubewasp.registry.oci_manifests import MANIFEST, Descriptor, Manifest
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistryRule, RegistrySettings
from kubewasp.registry.tokens import Challenge, challenges
from tests.apiserver.certificates import Authority
from tests.registry.fake_registry import Exchange, FakeRegistry

BLOB = b"content"
LAYER = Descriptor.of(BLOB, "application/wasm")
CONTENT = Manifest(LAYER, ()).write()
PASSWORD = "wonderful-password"
TO_LOOPBACK = Dialer(lambda name, _port, _timeout: ("127.0.0.1" if name.endswith(".test") else name,))
BASIC = "Basic " + base64.b64encode(f"user:{PASSWORD}".encode()).decode()


@dataclass
class Hosts:
    """Names that lead to loopback, and claim to be in another network."""

    authority: Path
    folder: Path
    signed: Authority

    def certificate(self, name: str) -> tuple[Path, Path]:
        pair = self.signed.sign(name)
        paths = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        paths[0].write_bytes(pair.certificate)
        paths[1].write_bytes(pair.key)
        return paths

    def client(self, host: str, *, dialer: Dialer = TO_LOOPBACK, **settings: object) -> RegistryClient:
        rule = RegistryRule(host, ca_file=str(self.authority), **settings)  # type: ignore[arg-type]
        credentials = self.folder / "config.json"
        auths = {host: {"auth": BASIC.removeprefix("Basic ")}}
        credentials.write_text(json.dumps({"auths": auths}), encoding="utf-8")
        return RegistryClient(
            RegistrySettings((rule,), credential_files=(str(credentials),), uses_user_files=False),
            sleep=lambda _: None,
            dialer=dialer,
        )


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    authority = Authority()
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    return Hosts(tmp_path / "ca.crt", tmp_path, authority)


def _reference(registry: FakeRegistry, name: str = "127.0.0.1") -> Reference:
    registry.put_manifest("policy", "v1", CONTENT, MANIFEST)
    registry.put_blob("policy", BLOB)
    return Reference.parse(f"oci://{registry.host.replace('127.0.0.1', name)}/policy:v1")


# ---------------------------------------------------------------------- TLS


def test_a_registry_with_an_own_authority_is_verified(hosts: Hosts) -> None:
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        with hosts.client(reference.host) as client:
            assert client.manifest(reference)[0] == CONTENT


def test_a_certificate_of_another_authority_or_host_is_not_trusted(hosts: Hosts) -> None:
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        for name in ("registry.test", "other.test"):
            reference = _reference(registry, name)
            problem = rf"the certificate of {name}:\d+ is not trusted"
            configured = "elsewhere" if name == "registry.test" else reference.host
            with hosts.client(configured) as client, pytest.raises(UnreachableError, match=problem):
                client.resolve(reference)
        assert registry.requests == []


def test_an_insecure_host_is_not_verified_and_may_speak_http(hosts: Hosts) -> None:
    for certificate in (hosts.certificate("registry.test"), None):
        with FakeRegistry().serving(certificate=certificate) as registry:
            reference = _reference(registry, "other.test")
            rule = RegistryRule(reference.host, insecure=True)
            settings = RegistrySettings((rule,), uses_user_files=False)
            with RegistryClient(settings, dialer=Dialer(lambda *_: ("127.0.0.1",))) as client:
                assert client.manifest(reference)[0] == CONTENT


def test_a_host_that_is_not_insecure_is_never_asked_without_tls(hosts: Hosts) -> None:
    with FakeRegistry().serving() as registry:
        reference = _reference(registry, "registry.test")
        with hosts.client(reference.host) as client, pytest.raises(UnreachableError, match="has to be insecure"):
            client.resolve(reference)
        assert registry.requests == []


def test_a_loopback_host_with_an_authority_is_verified(hosts: Hosts) -> None:
    with FakeRegistry().serving() as registry:
        reference = _reference(registry)
        with hosts.client(reference.host) as client, pytest.raises(UnreachableError, match="no TLS connection"):
            client.resolve(reference)


def test_a_client_certificate_is_shown(hosts: Hosts) -> None:
    certificate, key = hosts.certificate("client.test")
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        with hosts.client(reference.host, cert_file=str(certificate), key_file=str(key)) as client:
            assert client.manifest(reference)[0] == CONTENT


@pytest.mark.parametrize("field", ["ca_file", "cert_file"])
def test_a_file_that_is_no_certificate_is_named(hosts: Hosts, field: str) -> None:
    wrong = hosts.folder / "wrong.pem"
    wrong.write_text("nothing", encoding="utf-8")
    with FakeRegistry().serving() as registry:
        host = registry.host.replace("127.0.0.1", "registry.test")
        rule = RegistryRule(host, **{"ca_file": str(hosts.authority)} | {field: str(wrong)})
        settings = RegistrySettings((rule,), uses_user_files=False)
        with (
            RegistryClient(settings, dialer=Dialer(lambda *_: ("127.0.0.1",))) as client,
            pytest.raises(RegistryError, match=r"wrong\.pem: not a valid PEM file"),
        ):
            client.resolve(Reference.parse(f"oci://{host}/policy"))


# ---------------------------------------------------------------------- tokens


def _token_server(answer: Callable[[Exchange], bool]) -> FakeRegistry:
    server = FakeRegistry()
    server.on("*", "/token", answer)
    return server


def _gives(token: str) -> Callable[[Exchange], bool]:
    def give(exchange: Exchange) -> bool:
        exchange.body()
        return exchange.send(200, json.dumps({"token": token, "expires_in": 300}).encode())

    return give


def test_a_token_of_the_own_host_is_used_for_all_requests(hosts: Hosts) -> None:
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        registry.token = "t1"
        registry.challenge = (
            f'Bearer realm="https://{reference.host}/token?a=b",service="s",scope="repository:policy:pull"'
        )
        registry.on("GET", "/token", _gives("t1"))
        with hosts.client(reference.host) as client:
            client.resolve(reference)
            client.manifest(reference)
    asked = [line for line in registry.requests if "/token" in line]
    assert asked == ["GET /token?a=b&service=s&scope=repository%3Apolicy%3Apull&account=user"]
    assert registry.authorizations[registry.requests.index(asked[0])] == BASIC
    assert registry.authorizations[-1] == "Bearer t1"


def test_basic_credentials_are_sent_after_a_challenge_only(hosts: Hosts) -> None:
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        registry.basic = BASIC
        with hosts.client(reference.host) as client:
            client.resolve(reference)
            client.resolve(reference)
    assert registry.authorizations == ["", BASIC, BASIC]


def test_refused_credentials_are_named_by_their_file_and_not_shown(hosts: Hosts) -> None:
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        registry.basic = "Basic others"
        with hosts.client(reference.host) as client, pytest.raises(DeniedError) as error:
            client.resolve(reference)
    assert str(error.value).endswith(f"with the credentials of {hosts.folder}/config.json: auths of {reference.host}")
    assert PASSWORD not in repr(error.value)
    assert BASIC not in repr(error.value)


def test_missing_credentials_are_explained(hosts: Hosts) -> None:
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        registry.basic = BASIC
        with hosts.client(reference.host) as client:
            (hosts.folder / "config.json").unlink()
            problem = f"there are none .{hosts.folder}/config.json does not exist.: log in with docker or podman login"
            with pytest.raises(DeniedError, match=f"{problem} {reference.host}"):
                client.resolve(reference)


def test_an_expired_token_is_renewed(hosts: Hosts) -> None:
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        registry.token = "t1"
        registry.challenge = f'Bearer realm="https://{reference.host}/token"'
        registry.on(
            "GET", "/token", lambda exchange: exchange.send(200, json.dumps({"token": registry.token}).encode())
        )
        with hosts.client(reference.host) as client:
            client.resolve(reference)
            registry.token = "t2"
            client.resolve(reference)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"token": 5}',
        b'{"token": "a\\nb"}',
        b'{"token": ""}',
        b"[" * 9999,
        b'{"token": "' + b"a" * 70_000 + b'"}',
    ],
)
def test_an_answer_without_a_token_is_refused(hosts: Hosts, content: bytes) -> None:
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        registry.token = "t1"
        registry.challenge = f'Bearer realm="https://{reference.host}/token"'
        registry.on("GET", "/token", lambda exchange: exchange.send(200, content))
        with hosts.client(reference.host) as client, pytest.raises(DeniedError, match="gave no token"):
            client.resolve(reference)


def test_an_identity_token_is_exchanged(hosts: Hosts) -> None:
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        registry.token = "t1"
        registry.challenge = f'Bearer realm="https://{reference.host}/token",service="s"'
        bodies: list[bytes] = []

        def exchanged(exchange: Exchange) -> bool:
            bodies.append(exchange.body())
            return exchange.send(200, b'{"access_token": "t1"}')

        registry.on("POST", "/token", exchanged)
        with hosts.client(reference.host) as client:
            auths = {reference.host: {"identitytoken": "i1"}}
            (hosts.folder / "config.json").write_text(json.dumps({"auths": auths}), encoding="utf-8")
            client.resolve(reference)
    form = b"grant_type=refresh_token&client_id=kubewasp&service=s&scope=repository%3Apolicy%3Apull&refresh_token=i1"
    assert bodies == [form]


# ---------------------------------------------------------------------- realms that lead elsewhere


@pytest.mark.parametrize(
    ("realm", "problem"),
    [
        ("http://registry.test/token", "names a token server without TLS: registry.test"),
        ("http://169.254.169.254/latest/meta-data", "without TLS"),
        ("https://169.254.169.254/token", "in a network that is not public"),
        ("https://10.1.2.3/token", "in a network that is not public"),
        ("https://[fd00::1]/token", "in a network that is not public"),
        ("https://[::ffff:10.1.2.3]/token", "in a network that is not public"),
        ("https://[64:ff9b::a9fe:a9fe]/token", "in a network that is not public"),
        ("https://0.0.0.1/token", "in a network that is not public"),
        ("file:///etc/passwd", "whose address is not valid"),
        ("https://user@evil.example/", "whose address is not valid"),
        ("https://evil.example/ x", "whose address is not valid"),
        ("", "whose address is not valid"),
    ],
)
def test_a_realm_that_leads_elsewhere_gets_no_request(hosts: Hosts, realm: str, problem: str) -> None:
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        registry.token, registry.challenge = "t1", f'Bearer realm="{realm}"'
        with hosts.client(reference.host) as client, pytest.raises(DeniedError, match=problem):
            client.resolve(reference)


def test_a_realm_in_the_network_of_the_registry_is_allowed_and_another_only_if_configured(hosts: Hosts) -> None:
    with (
        _token_server(_gives("t1")).serving(certificate=hosts.certificate("auth.test")) as auth,
        FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry,
    ):
        reference = _reference(registry, "registry.test")
        place = auth.host.replace("127.0.0.1", "auth.test")
        registry.token, registry.challenge = "t1", f'Bearer realm="https://{place}/token"'
        with hosts.client(reference.host) as client:  # both are on loopback
            client.resolve(reference)
        registry.challenge = 'Bearer realm="https://10.9.9.9/token"'
        with hosts.client(reference.host) as client, pytest.raises(DeniedError, match="not public"):
            client.resolve(reference)


@pytest.mark.parametrize("way", ["realm", "redirect"])
def test_a_name_with_a_private_address_as_well_opens_no_private_network(hosts: Hosts, way: str) -> None:
    """The owner of a name decides about its addresses: only that of the connection counts."""
    with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
        reference = _reference(registry, "registry.test")
        if way == "realm":
            registry.token, registry.challenge = "t1", 'Bearer realm="https://internal.corp/token"'
        else:
            registry.on("GET", "/blobs/", lambda exchange: exchange.send(307, Location="https://internal.corp/b"))
        addresses = {"registry.test": ("127.0.0.1", "10.9.9.8"), "internal.corp": ("10.9.9.9",)}
        dialer = Dialer(lambda name, _port, _timeout: addresses[name])
        with hosts.client(reference.host, dialer=dialer) as client, pytest.raises(DeniedError, match="not public"):
            client.blob_content(reference, LAYER, max_bytes=100)


def test_a_configured_token_host_may_be_anywhere() -> None:
    from kubewasp.registry.connections import Trust
    from kubewasp.registry.settings import Endpoint
    from kubewasp.registry.tokens import token_server

    endpoint = Endpoint("registry.test", "policy", token_hosts=("10.9.9.9:8443",))
    server, trust, target = token_server("https://10.9.9.9:8443/token?x=1", endpoint, "https", "public")
    assert (server.host, target, trust) == ("10.9.9.9:8443", "/token?x=1", Trust())
    with pytest.raises(DeniedError, match="without TLS"):
        token_server("http://10.9.9.9:8443/token", endpoint, "https", "public")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (['Bearer realm="a",service="b",scope="c d"'], [Challenge("bearer", "a", "b", "c d")]),
        (["bearer realm=a"], [Challenge("bearer", "a")]),
        (['Basic realm="x", Bearer realm="y"'], [Challenge("basic", "x"), Challenge("bearer", "y")]),
        (["Negotiate", 'Basic realm="q\\"uoted"'], [Challenge("basic", 'q"uoted')]),
        (['Bearer realm="a",realm="b"'], [Challenge("bearer", "a")]),
        (['Bearer realm="unfinished'], [Challenge("bearer")]),
        (["", "=", ",,,", "\x00"], []),
    ],
)
def test_challenges_are_read(headers: list[str], expected: list[Challenge]) -> None:
    assert challenges(headers) == expected


# ---------------------------------------------------------------------- redirects to other hosts


def test_a_redirect_to_another_host_carries_no_credentials(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.registry.connections._default_context", lambda: _trusting(hosts))
    with (
        FakeRegistry().serving(certificate=hosts.certificate("cdn.test")) as other,
        FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry,
    ):
        reference = _reference(registry, "registry.test")
        registry.basic = BASIC
        place = other.host.replace("127.0.0.1", "cdn.test")
        other.on("GET", "/blob", lambda exchange: exchange.send(200, BLOB))

        def elsewhere(exchange: Exchange) -> bool:
            return bool(exchange.headers.get("authorization")) and exchange.send(
                307, Location=f"https://{place}/blob?s=1"
            )

        registry.on("GET", "/blobs/", elsewhere)
        with hosts.client(reference.host) as client:
            assert client.blob_content(reference, LAYER, max_bytes=100) == BLOB
    assert registry.authorizations[-1] == BASIC
    assert other.requests == ["GET /blob?s=1"]
    assert other.authorizations == [""]


def test_a_redirect_from_https_to_http_is_not_followed(hosts: Hosts) -> None:
    with FakeRegistry().serving() as other:
        with FakeRegistry().serving(certificate=hosts.certificate("registry.test")) as registry:
            reference = _reference(registry, "registry.test")
            for host in (other.host, other.host.replace("127.0.0.1", "registry.test")):
                registry.answers.clear()
                registry.on(
                    "GET", "/blobs/", lambda exchange, host=host: exchange.send(307, Location=f"http://{host}/b")
                )
                with hosts.client(reference.host) as client, pytest.raises(DeniedError, match="without TLS"):
                    client.blob_content(reference, LAYER, max_bytes=100)
        assert other.requests == []


def _trusting(hosts: Hosts):  # noqa: ANN202
    import ssl

    return ssl.create_default_context(cafile=hosts.authority)


# ---------------------------------------------------------------------- proxies


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[str]]]:
    """Address of a proxy that refuses every request, and the heads of these."""
    heads: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            heads.append(f"{self.command} {self.path} {self.headers.get('Proxy-Authorization', '')}".strip())
            self.send_error(407)

        do_HEAD = do_CONNECT  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}", heads
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_proxy_of_the_environment_is_used(
    hosts: Hosts, proxy: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, heads = proxy
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{PASSWORD}@{address}")
    with hosts.client("registry.test") as client, pytest.raises(UnreachableError) as error:
        client.resolve(Reference.parse("oci://registry.test/policy"))
    pair = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    assert heads == [f"CONNECT registry.test:443 Basic {pair}"]
    assert str(error.value) == "registry.test cannot be reached: the proxy answered HTTP 407"
    monkeypatch.setenv("NO_PROXY", ".test")
    assert os.environ["NO_PROXY"]
    with hosts.client("registry.test") as client, pytest.raises(UnreachableError):
        client.resolve(Reference.parse("oci://registry.test/policy"))
    assert len(heads) == 1


@pytest.mark.parametrize("address", ["https://proxy:1", "socks5://proxy", "http://", "http://a:b:c"])
def test_a_proxy_that_is_not_supported_is_named(hosts: Hosts, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address)
    with (
        hosts.client("registry.test") as client,
        pytest.raises(RegistryError, match="HTTPS_PROXY: expected an address"),
    ):
        client.resolve(Reference.parse("oci://registry.test/policy"))
