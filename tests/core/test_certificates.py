"""Authorities that the caller trusts: every certificate once, and nothing but certificates."""

import os
import ssl
from pathlib import Path

import pytest
import trustme

from homeroom import certificates
from homeroom.certificates import VARIABLES, Bundle
from homeroom.errors import ConfigError


@pytest.fixture
def pem(tmp_path: Path) -> list[Path]:
    """Two authorities, a file each."""
    files = [tmp_path / "one.pem", tmp_path / "two.pem"]
    for file in files:
        trustme.CA().cert_pem.write_to_path(str(file))
    return files


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's own bundle."""
    file = tmp_path / "system.crt"
    trustme.CA().cert_pem.write_to_path(str(file))
    monkeypatch.setattr(certificates, "_SYSTEM", (str(tmp_path / "absent"), str(file), "/never"))
    return file


def body(file: Path) -> bytes:
    return file.read_bytes().strip()


def found(**environ: str | Path) -> Bundle:
    bundle = certificates.find({name: os.fspath(value) for name, value in environ.items()})
    assert bundle is not None
    assert bundle.content.count(b"-----BEGIN") == bundle.count
    return bundle


def test_without_a_variable_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert certificates.find({"HOME": "/x", "SSL_CERT_FILE": "", "SSL_CERT_DIR": ""}) is None
    assert certificates.environment(None, tmp_path) == {}


@pytest.mark.parametrize("name", [name for name in VARIABLES if name != "SSL_CERT_FILE"])
def test_what_one_program_is_told_is_added_to_the_systems_own(
    pem: list[Path], system: Path, name: str
) -> None:
    bundle = found(**{name: pem[0]})
    assert body(pem[0]) in bundle.content
    assert body(system) in bundle.content
    assert bundle.count == 2
    assert bundle.sources == (f"{name}={pem[0]}", str(system))


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_what_stands_instead_of_the_systems_own_does_so(
    pem: list[Path], system: Path, tmp_path: Path, name: str
) -> None:
    directory = tmp_path / "d"
    directory.mkdir()
    (directory / "0a1b2c3d.0").symlink_to(pem[0])
    place = pem[0] if name == "SSL_CERT_FILE" else directory
    bundle = found(**{name: place, "CURL_CA_BUNDLE": pem[1]})
    assert body(system) not in bundle.content
    assert bundle.count == 2


def test_each_certificate_is_there_once(pem: list[Path], tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(pem[1].read_bytes().replace(b"\n", b"\r\n") + pem[0].read_bytes())
    directory = tmp_path / "d"
    directory.mkdir()
    for number, file in enumerate((*pem, pem[0])):
        (directory / f"link.{number}").symlink_to(file)
    bundle = found(
        SSL_CERT_FILE=pem[0],
        SSL_CERT_DIR=f"{directory}{os.pathsep}{directory}",
        NODE_EXTRA_CA_CERTS=both,
    )
    assert bundle.count == 2


def test_a_private_key_in_the_same_file_stays_where_it_is(tmp_path: Path) -> None:
    authority = trustme.CA()
    mixed = tmp_path / "mixed.pem"
    mixed.write_bytes(authority.private_key_pem.bytes() + authority.cert_pem.bytes())
    assert b"PRIVATE KEY" in mixed.read_bytes()
    assert b"PRIVATE" not in found(SSL_CERT_FILE=mixed).content


def test_whatever_reads_the_bundle_can_use_it(pem: list[Path], tmp_path: Path) -> None:
    bundle = found(SSL_CERT_FILE=pem[0], CURL_CA_BUNDLE=pem[1])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=bundle.content.decode())
    assert len(context.get_ca_certs()) == 2
    named = certificates.environment(bundle, tmp_path / "x.pem")
    assert named == dict.fromkeys(VARIABLES, str(tmp_path / "x.pem"))


@pytest.mark.parametrize("kind", ["missing", "empty", "no PEM", "empty directory", "FIFO"])
@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"])
def test_what_holds_no_certificate_is_refused_by_name(tmp_path: Path, kind: str, name: str) -> None:
    place = tmp_path / "place"
    if kind == "empty":
        place.touch()
    elif kind == "no PEM":
        place.write_bytes(b"\x30\x82\xff\x00")
    elif kind == "empty directory":
        place.mkdir()
    elif kind == "FIFO":
        os.mkfifo(place)
    with pytest.raises(ConfigError, match=rf"^{name} names {place}, which ") as told:
        certificates.find({name: str(place)})
    assert "corporate-certificates" in (told.value.hint or "")
