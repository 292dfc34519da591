import gzip
import io
import tarfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.registry.errors import ContentError
from kubewasp.registry.tar_archives import FileStream, GunzipStream, members


def _archive(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=form) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def _read(content: bytes, limit: int = 1 << 20) -> dict[str, bytes]:
    return {member.name: member.read(limit) for member in members(FileStream(io.BytesIO(content))) if member.is_file}


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archives_of_all_forms_are_read(form: int) -> None:
    long = "a/" * 40 + "b" * 70 + ".wasm"
    files = {"./plugin.wasm": b"1", "/x/y": b"2" * 513, long: b"3"}
    assert _read(_archive(files, form)) == {"plugin.wasm": b"1", "x/y": b"2" * 513, long: b"3"}


def test_names_beyond_ascii_are_read() -> None:
    assert _read(_archive({"größe": b"1"})) == {"größe": b"1"}


def test_content_can_be_skipped_and_found_again() -> None:
    content = _archive({"a": b"1" * 1000, "b": b"2"}, tarfile.USTAR_FORMAT)
    places = {member.name: (member.offset, member.size) for member in members(FileStream(io.BytesIO(content)))}
    assert [content[at : at + size] for at, size in places.values()] == [b"1" * 1000, b"2"]


def test_a_file_above_the_limit_is_not_read() -> None:
    with pytest.raises(ContentError, match="a file of 1000 bytes, at most 999 are allowed"):
        _read(_archive({"a": bytes(1000)}), 999)


def _header(size: bytes = b"00000000001\0", kind: bytes = b"0", name: bytes = b"a") -> bytes:
    head = bytearray(512)
    head[: len(name)] = name
    head[124:136] = size
    head[156:157] = kind
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"x", "not a tar archive"),
        (b"x" * 512, "not a tar archive"),
        (_header()[:300], "not a tar archive"),
        (_header(), "incomplete"),
        (_header(size=b"-0000000001\0") + bytes(512), "not a tar archive, or damaged"),
        (_header(size=b"99999999999\0") + bytes(512), "not a tar archive, or damaged"),
        (_header(size=b"\xff" * 12) + bytes(512), "not a tar archive, or damaged"),
        (_header(size=b"77777777777\0") + bytes(512), "at most 1048576 are allowed"),
        (_header(kind=b"S") + bytes(512), "sparse"),
        (_header(size=b"77777777777\0", kind=b"x"), "an extension that is too long"),
        (_header(size=b"77777777777\0", kind=b"L"), "an extension that is too long"),
        (_header(size=b"00000000100\0", kind=b"x") + bytes(10), "incomplete"),
        (_header(size=b"00000000004\0", kind=b"x") + b"xxxx" + bytes(508), "a damaged extension"),
        (_header(size=b"00000000011\0", kind=b"x") + b"9 size=a\n" + bytes(503), "a damaged extension"),
        (_header(size=b"00000000013\0", kind=b"x") + b"99 size=1\n\n" + bytes(501), "a damaged extension"),
        (_header(size=b"00000000031\0", kind=b"x") + b"25 GNU.sparse.major=1.0\n\n" + bytes(487), "sparse"),
    ],
)
def test_a_damaged_archive_is_an_error(content: bytes, problem: str) -> None:
    with pytest.raises(ContentError, match=problem):
        _read(content)


def test_an_archive_of_too_many_entries_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.registry.tar_archives._MAX_MEMBERS", 10)
    with pytest.raises(ContentError, match="more than 10 entries"):
        _read(_archive({str(number): b"" for number in range(11)}, tarfile.USTAR_FORMAT))


def test_gzip_is_unpacked_as_it_is_read() -> None:
    content = _archive({"a": b"1" * 5000, "b": b"2"})
    packed = gzip.compress(content[:1000]) + gzip.compress(content[1000:]) + bytes(100)
    found = {
        member.name: member.read(9999) for member in members(GunzipStream(FileStream(io.BytesIO(packed)), 1 << 20))
    }
    assert found == {"a": b"1" * 5000, "b": b"2"}


@pytest.mark.parametrize(
    ("packed", "problem"),
    [(b"", "incomplete"), (b"\x1f\x8bxx", "not valid gzip"), (gzip.compress(bytes(5000), mtime=0)[:-12], "incomplete")],
)
def test_damaged_gzip_is_an_error(packed: bytes, problem: str) -> None:
    with pytest.raises(ContentError, match=problem):
        GunzipStream(FileStream(io.BytesIO(packed)), 1 << 20).read(10_000)


def test_gzip_is_unpacked_to_its_limit_only() -> None:
    stream = GunzipStream(FileStream(io.BytesIO(gzip.compress(bytes(10 << 20)))), 1 << 20)
    with pytest.raises(ContentError, match="too large once it is unpacked"):
        stream.skip(10 << 20)


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=150).filter(
            lambda name: name not in (".", "..")
        ),
        st.binary(max_size=2000),
        max_size=4,
    ),
    st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_what_tarfile_writes_is_read(files: dict[str, bytes], form: int) -> None:
    assert _read(_archive(files, form)) == files


@given(st.binary(max_size=3000), st.integers(0, 3000), st.binary(max_size=20))
def test_a_changed_archive_is_read_or_refused(content: bytes, at: int, change: bytes) -> None:
    archive = bytearray(_archive({"a": content, "b" * 120: b"x"}))
    archive[at : at + len(change)] = change
    for candidate in (bytes(archive), bytes(archive[:at])):
        with suppress(ContentError):
            _read(candidate)
