"""Ed25519 keys and signatures, in forms that OpenSSL reads: PEM keys, and 64 bytes over a file as it is.

A signature says who published, and that nothing was changed since. Which key is whose, a bundle cannot tell: readers
name the key they know.
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gridveil.errors import PrivacyError
from gridveil.files import write_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# SubjectPublicKeyInfo of an Ed25519 key (RFC 8410) is this and the 32 bytes of the key
_SPKI = bytes.fromhex("302a300506032b6570032100")
_LARGEST = 1 << 16
# y of the eight points of small order, and p and p + 1, which some libraries read as 0 and 1: under such a key one
# signature is good for many messages, or any. The list is libsodium's (ge25519_has_small_order)
_SMALL_ORDER = frozenset(
    bytes.fromhex(y)
    for y in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)


@dataclass(frozen=True)
class PublicKey:
    """Whose signature it may be."""

    raw: bytes

    def __repr__(self) -> str:
        return f"PublicKey({self.fingerprint})"

    @property
    def weak(self) -> bool:
        """Is it nobody's, so that anyone can sign with it? The last bit is the sign of x, and makes no difference."""
        return bytes([*self.raw[:31], self.raw[31] & 0x7F]) in _SMALL_ORDER

    @property
    def text(self) -> str:
        """The key as a manifest has it."""
        return base64.b64encode(self.raw).decode()

    @property
    def pem(self) -> str:
        """The key as OpenSSL reads it."""
        body = base64.b64encode(_SPKI + self.raw).decode()
        return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"

    @property
    def fingerprint(self) -> str:
        """What people compare: SHA-256 of the key's DER form."""
        return "SHA256:" + hashlib.sha256(_SPKI + self.raw).hexdigest()

    def signed(self, data: bytes, signature: bytes) -> bool:
        """Is it this key's signature over the data?"""
        _require()
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - slow to load, and seldom needed
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, data)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, repr=False, eq=False)
class PrivateKey:
    """Signs, and never shows itself."""

    _key: Ed25519PrivateKey

    @property
    def public(self) -> PublicKey:
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, data: bytes) -> bytes:
        """64 bytes, the same for the same data."""
        return self._key.sign(data)


def key_from_text(text: str) -> PublicKey:
    """A key as a manifest has it."""
    try:
        key = PublicKey(base64.b64decode(text, validate=True))
    except ValueError:
        key = PublicKey(b"")
    if len(key.raw) != 32 or key.text != text:
        raise PrivacyError(f"'{text}' is no Ed25519 key")
    return _strong(key)


def can_sign() -> bool:
    """Is the library there?"""
    return find_spec("cryptography") is not None


def create_key(path: Path) -> PublicKey:
    """Make a key to sign releases with, in a new file that only its owner can read, and its public half beside it.

    Args:
        path: Of the private key; the public one gets `.pub` at its end.

    Returns:
        The public key.

    Raises:
        PrivacyError: There is such a file, or it cannot be written.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "grid.key"
        >>> gv.create_key(file).weak, sorted(one.name for one in file.parent.iterdir())
        (False, ['grid.key', 'grid.key.pub'])
    """
    _require()
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    public_path = public_name(path)
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = PrivateKey(key).public
    try:
        if public_path.exists():
            raise FileExistsError(17, "File exists", str(public_path))
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:  # noqa: PTH123 - mode
            stream.write(pem)
            stream.flush()
            os.fsync(stream.fileno())
        write_whole(public_path, public.pem)
    except FileExistsError as error:
        raise PrivacyError(f"{error.filename} exists, and a key is never replaced; give another --out") from None
    except OSError as error:
        raise PrivacyError(f"the key {path} cannot be written ({error.strerror}); give another --out") from error
    return public


def public_name(path: Path) -> Path:
    """Where the public half of a key stands."""
    return path.with_name(path.name + ".pub")


def read_private_key(path: Path) -> PrivateKey:
    """Read a key that `gv.create_key` or OpenSSL made, for `release.write(..., sign=key)`.

    Args:
        path: Of the private key.

    Returns:
        The key.

    Raises:
        PrivacyError: It is no Ed25519 key, or others may read it.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "grid.key"
        >>> public = gv.create_key(file)
        >>> gv.read_private_key(file).public == public
        True
    """
    _require()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    data = _read(path)
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PrivacyError(f"others may read {path}; make it yours alone with: chmod 600 {path}")
    try:
        key = load_pem_private_key(data, None)
    except TypeError:
        raise PrivacyError(f"{path} is locked with a passphrase; unlock it with: openssl pkey -in {path}") from None
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise PrivacyError(f"{path} is no private Ed25519 key; make one with: gridveil key new")
    return PrivateKey(key)


def read_public_key(path: Path) -> PublicKey:
    """A public key, from its PEM file."""
    lines = _read(path).decode("ascii", "replace").split()
    body = "".join(lines[3:-3]) if lines[:3] == ["-----BEGIN", "PUBLIC", "KEY-----"] else ""
    try:
        data = base64.b64decode(body, validate=True)
    except ValueError:
        data = b""
    if len(data) != len(_SPKI) + 32 or not data.startswith(_SPKI) or lines[-3:] != ["-----END", "PUBLIC", "KEY-----"]:
        raise PrivacyError(f"{path} is no public Ed25519 key; give the .pub file that 'gridveil key new' wrote")
    return _strong(PublicKey(data[len(_SPKI) :]))


def _strong(key: PublicKey) -> PublicKey:
    if key.weak:
        raise PrivacyError(f"'{key.text}' is a key of small order, with which anyone can sign; ask for another")
    return key


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise PrivacyError(f"{path} is no file; give a key that 'gridveil key new' wrote")
        with path.open("rb") as stream:
            return stream.read(_LARGEST)
    except (OSError, ValueError) as error:
        raise PrivacyError(f"the key {path} cannot be read ({error}); check the path and its permissions") from error


def _require() -> None:
    if not can_sign():
        raise PrivacyError("signatures need the package 'cryptography'; install it with: pip install cryptography")
