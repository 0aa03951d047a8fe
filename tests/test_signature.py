"""Keys and signatures: who published, for readers who know a key; and OpenSSL says the same."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import gridveil as gv
from gridveil.cli.main import app
from gridveil.errors import PrivacyError
from gridveil.privacy.signature import (
    _SMALL_ORDER,
    PublicKey,
    create_key,
    key_from_text,
    public_name,
    read_private_key,
    read_public_key,
)
from gridveil.publish import bundle
from gridveil.publish.manifest import Manifest
from gridveil.publish.pipeline import release
from gridveil.publish.release import Release, publisher
from gridveil.repair.workshop import Workshop
from gridveil.sealed.split import split
from gridveil.wall.codec import from_json
from tests.conftest import PretendExact
from tests.forging import forge


def run(*arguments: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    book = gv.Ledger.open(tmp_path_factory.mktemp("ledger") / "l.db")
    plan = gv.Plan(1.0, 0.1, 0.01, cost="declared")
    done = release(split(gv.load("case5")), plan, book, PretendExact(2), workshop=Workshop)
    return done.published_by(publisher("Grid of the Isles", "data@isles.example", "CC BY 4.0"))


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """The publisher's key, and another's."""
    for name in ("ours", "theirs"):
        create_key(tmp_path / name)
    return tmp_path / "ours", tmp_path / "theirs"


@pytest.fixture
def signed(made: Release, keys: tuple[Path, Path], tmp_path: Path) -> Path:
    return made.write(tmp_path / "out", sign=read_private_key(keys[0]))


def test_a_known_signature() -> None:
    """The first test vector of RFC 8032."""
    key = PublicKey(bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))
    signature = bytes.fromhex(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b"
    )
    assert key.signed(b"", signature)
    assert not key.signed(b"x", signature) and not key.signed(b"", signature[:-1]) and not key.signed(b"", b"")
    assert key_from_text(key.text) == key


def test_keys_are_for_their_owner(tmp_path: Path) -> None:
    path = tmp_path / "grid.key"
    record = json.loads(run("key", "new", "--out", path, "--json").stdout)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    shown = json.loads(run("key", "show", path, "--json").stdout)
    assert shown == json.loads(run("key", "show", public_name(path), "--json").stdout)
    assert shown["fingerprint"] == record["fingerprint"] and "PRIVATE" not in shown["pem"]
    assert record["fingerprint"] in run("key", "show", path).stdout.replace("\n", "")
    assert "PRIVATE" in path.read_text() and "PRIVATE" not in public_name(path).read_text()
    before = path.read_bytes()
    assert "never replaced" in run("key", "new", "--out", path, code=2).stderr
    path.unlink()
    assert "never replaced" in run("key", "new", "--out", path, code=2).stderr  # the public half is still there
    assert not path.exists() and before
    assert "object at" in repr(read_private_key(_fresh(tmp_path)))


def _fresh(folder: Path) -> Path:
    create_key(folder / "fresh")
    return folder / "fresh"


def test_keys_that_cannot_be_used(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    keys[0].chmod(0o640)
    with pytest.raises(PrivacyError, match="chmod 600"):
        read_private_key(keys[0])
    with pytest.raises(PrivacyError, match="no public Ed25519 key"):
        read_public_key(keys[1])
    with pytest.raises(PrivacyError, match="no private Ed25519 key"):
        read_private_key(_private(tmp_path, public_name(keys[0]).read_bytes()))
    pem = public_name(keys[0]).read_text()
    for text in ("", "x", pem[:-30], pem.replace("PUBLIC", "SECRET"), pem.replace("MCow", "MCoX"), "\xff" * 10):
        with pytest.raises(PrivacyError, match="no public Ed25519 key"):
            read_public_key(_private(tmp_path, text.encode("latin-1")))
    for missing in (tmp_path / "none", tmp_path, Path("x" * 5000)):
        for reader in (read_public_key, read_private_key):
            with pytest.raises(PrivacyError):
                reader(missing)
    assert key_from_text("Ag" + "A" * 41 + "=").raw == b"\2" + bytes(31)
    for text in ("", "AAAA", "/" * 43 + "="):
        with pytest.raises(PrivacyError, match="no Ed25519 key"):
            key_from_text(text)


def _private(folder: Path, data: bytes) -> Path:
    path = folder / "file"
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def test_what_verify_says_of_signatures(signed: Path, keys: tuple[Path, Path]) -> None:
    ours, theirs = (public_name(key) for key in keys)
    fingerprint = read_public_key(ours).fingerprint
    words = " ".join(run("verify", signed).stdout.split())
    assert f"signed by {fingerprint}, whom you have not named" in words
    words = " ".join(run("verify", signed, "--publisher", ours).stdout.split())
    assert f"signed by {fingerprint}, the key you named" in words
    assert "it is the word of Grid of the Isles, who holds the key you named" in words
    assert "contact data@isles.example; licence CC BY 4.0" in words
    rejected = json.loads(run("verify", signed, "--publisher", theirs, "--json", code=5).stdout)
    assert rejected["signature"]["state"] == "wrong" and rejected["signature"]["fingerprint"] == fingerprint
    assert gv.verify(signed, publisher=str(ours)).signature.fingerprint == fingerprint


def test_an_unsigned_bundle_is_nobodys(made: Release, keys: tuple[Path, Path], tmp_path: Path) -> None:
    plain = made.write(tmp_path / "plain")
    assert "unsigned: nobody knows who made this bundle" in run("verify", plain).stdout
    assert "under the name Grid of the Isles, and nobody knows who that is" in " ".join(
        run("verify", plain).stdout.split()
    )
    record = json.loads(run("verify", plain, "--publisher", public_name(keys[0]), "--json", code=5).stdout)
    assert record["signature"]["state"] == "unsigned"
    assert [one["kind"] for one in record["recomputed"] if not one["passed"]] == ["signature"]


def test_nothing_can_be_changed_under_a_signature(signed: Path, made: Release, keys: tuple[Path, Path]) -> None:
    """Not a byte of the manifest, which has the digests of all others."""
    good = {file.name: file.read_bytes() for file in signed.iterdir()}

    def fails(name: str, data: bytes | None) -> bool:
        path = signed / name
        path.unlink() if data is None else path.write_bytes(data)
        verdict = gv.verify(signed, quick=True)
        path.write_bytes(good[name])
        assert gv.verify(signed, quick=True).passed
        return "signature" in {one.kind for one in verdict.checks if not one.passed}

    manifest, signature = good[bundle.MANIFEST], good[bundle.SIGNATURE]
    assert fails(bundle.MANIFEST, manifest.replace(b"Isles", b"Ilses"))
    assert fails(bundle.MANIFEST, manifest.replace(b'"beta": 0.01', b'"beta": 0.02'))
    assert fails(bundle.SIGNATURE, None)
    assert fails(bundle.SIGNATURE, signature[:-1] + bytes([signature[-1] ^ 1]))
    assert fails(bundle.SIGNATURE, signature + b"\n")
    assert fails(bundle.SIGNATURE, b"")
    key = read_public_key(public_name(keys[0])).text.encode()
    assert fails(bundle.MANIFEST, manifest.replace(b'"' + key + b'"', b"null"))
    other = read_private_key(keys[1])
    assert fails(bundle.SIGNATURE, other.sign(manifest))
    made.write(signed, force=True, sign=other)  # a forger signs it himself: only who names the key can tell
    assert gv.verify(signed, quick=True).passed
    assert not gv.verify(signed, quick=True, publisher=public_name(keys[0])).passed


def test_a_signature_is_only_over_what_it_is(signed: Path, keys: tuple[Path, Path]) -> None:
    """Files that the manifest has digests of, changed with their digests, need another signature."""
    forge(signed, bundle.CERTIFICATE, lambda c: c["checks"][0].update(value=c["checks"][0]["value"] * (1 + 1e-9)))
    verdict = gv.verify(signed)
    assert [one.kind for one in verdict.checks if not one.passed] == ["signature"]


def test_the_command_signs(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    target = tmp_path / "bundle.zip"
    who = ["--publisher", "Grid of the Isles", "--contact", "data@isles.example", "--licence", "CC BY 4.0"]
    common = ["release", "case5", "--ledger", str(tmp_path / "l.db"), "--out", str(target), "--cost", "declared"]
    run(*common, "--sign", keys[0], *who)
    record = json.loads(run("verify", target, "--publisher", public_name(keys[0]), "--json").stdout)
    assert record["signature"]["state"] == "named"
    assert record["word"]["publisher"] == "Grid of the Isles; contact data@isles.example; licence CC BY 4.0"
    secret = keys[0].read_text().split("\n")[1].encode()
    assert secret not in target.read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        ["--sign", "no.key"],
        ["--contact", "x"],
        ["--publisher", ""],
        ["--publisher", "two\nlines"],
        ["--publisher", "x" * 2000],
        ["--publisher", "x", "--licence", "\u202egpj.exe"],
    ],
)
def test_bad_words_and_keys_cost_nothing(tmp_path: Path, options: list[str]) -> None:
    book = tmp_path / "l.db"
    run("release", "case5", "--ledger", book, "--out", tmp_path / "out", "--cost", "declared", *options, code=2)
    assert not book.exists() and not (tmp_path / "out").exists()


def test_without_the_library(signed: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said that nothing was checked; whoever names a key gets an error, not a shrug."""
    monkeypatch.setattr("gridveil.privacy.signature.find_spec", lambda name: None)
    record = json.loads(run("verify", signed, "--json").stdout)
    assert record["signature"]["state"] == "unchecked" and "signature" in record["not_checked"][0]
    assert "pip install cryptography" in run("verify", signed, "--publisher", public_name(keys[0]), code=2).stderr


def test_the_manifest_has_the_key(signed: Path, keys: tuple[Path, Path]) -> None:
    record = from_json((signed / bundle.MANIFEST).read_bytes(), Manifest)
    assert record.public_key == read_public_key(public_name(keys[0])).text
    assert set(record.sha256.by_name) == {"released.m", "certificate.json"}


OPENSSL = shutil.which("openssl")


def openssl(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(OPENSSL), *map(str, arguments)], capture_output=True, check=False)


def _has_rawin() -> bool:
    return OPENSSL is not None and b"-rawin" in openssl("pkeyutl", "-help").stderr


@pytest.mark.skipif(not _has_rawin(), reason="needs the command openssl, version 3.0 or later")
def test_a_stranger_checks_with_openssl(signed: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    """The commands of docs/bundle.md, without GridVeil."""
    public = public_name(keys[0])
    command = ["pkeyutl", "-verify", "-pubin", "-inkey", str(public), "-rawin", "-in", str(signed / bundle.MANIFEST)]
    done = openssl(*command, "-sigfile", signed / bundle.SIGNATURE)
    assert done.returncode == 0 and b"Signature Verified Successfully" in done.stdout, done.stderr
    page = (Path(__file__).parents[1] / "docs" / "bundle.md").read_text(encoding="utf-8")
    assert (
        "openssl pkeyutl -verify -pubin -inkey publisher.pub -rawin -in manifest.json -sigfile manifest.json.sig"
        in page
    )
    other = openssl(*command[:4], public_name(keys[1]), *command[5:], "-sigfile", signed / bundle.SIGNATURE)
    assert other.returncode != 0
    der = openssl("pkey", "-pubin", "-in", public, "-outform", "DER").stdout
    (tmp_path / "der").write_bytes(der)
    digest = openssl("sha256", "-r", tmp_path / "der").stdout.decode().split()[0]
    assert read_public_key(public).fingerprint == f"SHA256:{digest}"
    again = openssl("pkey", "-in", keys[0], "-pubout").stdout
    assert again == public.read_bytes()


@pytest.mark.skipif(not _has_rawin(), reason="needs the command openssl, version 3.0 or later")
def test_keys_of_openssl(tmp_path: Path) -> None:
    """A key made by OpenSSL signs, too; one with a passphrase or of another kind is refused in words."""
    path = tmp_path / "own.pem"
    openssl("genpkey", "-algorithm", "ed25519", "-out", path)
    path.chmod(0o600)
    (tmp_path / "own.pub").write_bytes(openssl("pkey", "-in", path, "-pubout").stdout)
    assert read_private_key(path).public == read_public_key(tmp_path / "own.pub")
    locked = tmp_path / "locked.pem"
    openssl("pkey", "-in", path, "-aes256", "-passout", "pass:x", "-out", locked)
    locked.chmod(0o600)
    with pytest.raises(PrivacyError, match="passphrase"):
        read_private_key(locked)
    curve = tmp_path / "curve.pem"
    openssl("genpkey", "-algorithm", "x25519", "-out", curve)
    curve.chmod(0o600)
    with pytest.raises(PrivacyError, match="no private Ed25519 key"):
        read_private_key(curve)


_P = 2**255 - 19


def _times_eight(y: int) -> int:
    """y of 8·P for a point P with this y: y(2P) = (y² + x²)/(1 − d·x²·y²), which needs x² alone."""
    d = -121665 * pow(121666, -1, _P) % _P
    for _ in range(3):
        x2 = (y * y - 1) * pow(d * y * y + 1, -1, _P) % _P
        y = (y * y + x2) * pow(1 - d * x2 * y * y, -1, _P) % _P
    return y


def test_keys_of_small_order_are_nobodys(tmp_path: Path) -> None:
    """Eight times the point is the neutral one: anyone can sign with such a key, so it is none."""
    weak = sorted(_SMALL_ORDER)
    assert len(weak) == 7 and all(_times_eight(int.from_bytes(one, "little") % _P) == 1 for one in weak)
    for raw in [*weak, *(bytes([*one[:31], one[31] | 0x80]) for one in weak)]:
        key = PublicKey(raw)
        with pytest.raises(PrivacyError, match="small order"):
            key_from_text(key.text)
        (tmp_path / "weak.pub").write_text(key.pem)
        with pytest.raises(PrivacyError, match="small order"):
            read_public_key(tmp_path / "weak.pub")


def test_a_bundle_signed_by_nobody_is_not_signed(signed: Path) -> None:
    """R is the neutral point and s is 0, which fits any manifest under the neutral key."""
    raw = b"\1" + bytes(31)
    forge(signed, "manifest.json", lambda m: m.update(public_key=PublicKey(raw).text))
    (signed / bundle.SIGNATURE).write_bytes(raw + bytes(32))
    assert "signature" in {one.kind for one in gv.verify(signed, quick=True).checks if not one.passed}
