import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.registry.errors import InvalidReferenceError
from kubewasp.registry.references import Reference, fallback_tag, is_reference

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("oci://example.com/policy", Reference("example.com", "policy", "latest")),
        ("oci://example.com:5000/a/b-c/d_e:v1.2", Reference("example.com:5000", "a/b-c/d_e", "v1.2")),
        (f"oci://example.com/policy@{DIGEST}", Reference("example.com", "policy", "", DIGEST)),
        (f"oci://example.com/policy:v1@{DIGEST}", Reference("example.com", "policy", "v1", DIGEST)),
        ("OCI://Example.COM/policy:V1", Reference("example.com", "policy", "V1")),
        ("oci://localhost/policy:v1", Reference("localhost", "policy", "v1")),
        ("oci://[::1]:5000/policy:v1", Reference("[::1]:5000", "policy", "v1")),
        ("oci://docker.io/policy", Reference("docker.io", "library/policy", "latest")),
        ("oci://index.docker.io/team/policy", Reference("docker.io", "team/policy", "latest")),
        ("oci://registry-1.docker.io:443/team/policy", Reference("docker.io", "team/policy", "latest")),
    ],
)
def test_a_reference_is_read(text: str, expected: Reference) -> None:
    assert Reference.parse(text) == expected
    assert Reference.parse(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("example.com/policy", "does not begin with oci://"),
        ("oci://example.com", "the repository is missing"),
        ("oci:///policy", "its host"),
        ("oci://exa mple.com/policy", "its host"),
        ("oci://example.com:99999/policy", "its host"),
        ("oci://[::zz]/policy", "its host"),
        ("oci://[1.2.3.4]/policy", "its host"),
        ("oci://example.com/", "its repository"),
        ("oci://example.com/../policy", "its repository"),
        ("oci://example.com/Policy", "its repository"),
        ("oci://example.com/policy?x=1", "its repository"),
        ("oci://example.com/policy\n", "its repository"),
        ("oci://example.com/" + "a" * 256, "its repository"),
        ("oci://example.com/policy:", "its tag"),
        ("oci://example.com/policy:v1/../x", "its tag"),
        ("oci://example.com/policy@sha256:12", "its digest"),
        ("oci://example.com/policy@sha512:" + "ab" * 64, "its digest"),
        ("oci://example.com/policy@", "its digest"),
    ],
)
def test_an_invalid_reference_is_refused_with_its_problem(text: str, problem: str) -> None:
    with pytest.raises(InvalidReferenceError, match="is no reference of an OCI registry: .*" + problem) as error:
        Reference.parse(text)
    assert "\n" not in str(error.value)


def test_a_password_in_a_reference_is_not_in_the_error() -> None:
    with pytest.raises(InvalidReferenceError) as error:
        Reference.parse("oci://user:secret@example.com/policy")
    assert "secret" not in str(error.value)


def test_another_digest_or_tag_of_the_same_repository() -> None:
    found = Reference.parse("oci://example.com/policy:v1")
    assert str(found.at(DIGEST)) == f"oci://example.com/policy:v1@{DIGEST}"
    assert found.at(DIGEST).target == DIGEST
    assert str(found.at(DIGEST).tagged("v2")) == "oci://example.com/policy:v2"
    with pytest.raises(InvalidReferenceError, match="no tag"):
        found.tagged("../x")
    assert fallback_tag(DIGEST) == "sha256-" + "ab" * 32


def test_the_scheme_alone_makes_a_reference() -> None:
    assert is_reference("oci://")
    assert is_reference("OCI://x")
    assert not is_reference("https://oci://x")


_PARTS = st.from_regex(r"[a-z0-9]{1,8}((\.|_|__|-{1,3})[a-z0-9]{1,8}){0,2}", fullmatch=True)
_REFERENCES = st.builds(
    Reference,
    host=st.from_regex(r"[a-z]{1,8}\.[a-z]{2,8}(:[1-9][0-9]{0,3})?", fullmatch=True),
    repository=st.lists(_PARTS, min_size=1, max_size=4).map("/".join),
    tag=st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,20}", fullmatch=True),
    digest=st.one_of(st.just(""), st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True)),
)


@given(_REFERENCES.filter(lambda found: "docker" not in found.host))
def test_a_written_reference_is_read_as_the_same(reference: Reference) -> None:
    assert Reference.parse(str(reference)) == reference


@given(
    st.one_of(
        st.text(), st.text().map("oci://{}".format), st.text(alphabet="aA0./:@-_[]%?#\n ").map("oci://h/{}".format)
    )
)
def test_any_text_is_a_reference_that_is_written_the_same_way_or_is_refused(text: str) -> None:
    try:
        found = Reference.parse(text)
    except InvalidReferenceError:
        return
    assert Reference.parse(str(found)) == found
    assert not set(found.repository) & set("%?#@: \n")
    assert ".." not in f"{found.repository}/{found.target}".split("/")
