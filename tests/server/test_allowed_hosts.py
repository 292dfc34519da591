"""Hosts that are answered on loopback addresses."""

import pytest

from kubewasp.server.allowed_hosts import AllowedHosts, is_host


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:10259", "localhost.", "a.localhost:1", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:80"],
)
def test_loopback_names_are_allowed_with_any_port(host: str) -> None:
    assert host in AllowedHosts()


@pytest.mark.parametrize(
    "host",
    [
        *("", ":80", "evil.example", "evil.example:10259", "localhost.evil.example", "127.0.0.1.evil.example"),
        *("notlocalhost", "10.0.0.1", "[2001:db8::1]", "2130706433"),
    ],
)
def test_other_names_are_not(host: str) -> None:
    assert host not in AllowedHosts()


def test_names_can_be_added() -> None:
    hosts = AllowedHosts(["Scheduler.example", "::1", "2001:db8::1"])
    assert "scheduler.example:80" in hosts
    assert "[2001:db8::1]:80" in hosts
    assert "other.example" not in hosts


def test_a_star_allows_all() -> None:
    assert "evil.example" in AllowedHosts(["*"])


@pytest.mark.parametrize(
    "name", ["*", "site.example", "Site.example:80", "my_host", "192.0.2.1", "::1", "[2001:db8::1]:80"]
)
def test_names_that_a_request_can_have(name: str) -> None:
    assert is_host(name)


@pytest.mark.parametrize(
    "name", ["", ":80", "http://site.example", "site.example/path", "*.example", "a b", "a,b", "site.example:http", "é"]
)
def test_names_that_no_request_can_have(name: str) -> None:
    assert not is_host(name)
