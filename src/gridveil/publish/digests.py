"""The digests in a manifest: of every file of a bundle but itself and its signature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, convert, to_builtins

from gridveil.formats.registry import BESIDE, TRANSLATIONS

# the end is (?![\s\S]): in Python, but not in JSON Schema's language, $ also matches before a last line break
Hash = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")]


class Digests(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename={
        "network": "released.m",
        "certificate": "certificate.json",
        "profile": "profile.csv",
        "report": "report.html",
        **TRANSLATIONS,
        **{ending.split(".")[1]: name for ending, name in BESIDE.items()},
    },
):
    """SHA-256 of every other file but the signature. Of which there must be one is for `verify` to say."""

    network: Hash | UnsetType = UNSET
    certificate: Hash | UnsetType = UNSET
    profile: Hash | UnsetType = UNSET
    report: Hash | UnsetType = UNSET
    psse33: Hash | UnsetType = UNSET
    psse35: Hash | UnsetType = UNSET
    rawx: Hash | UnsetType = UNSET
    mat: Hash | UnsetType = UNSET
    powermodels: Hash | UnsetType = UNSET
    egret: Hash | UnsetType = UNSET
    pandapower: Hash | UnsetType = UNSET
    pypsa: Hash | UnsetType = UNSET
    costs: Hash | UnsetType = UNSET
    limits: Hash | UnsetType = UNSET

    @classmethod
    def of(cls, digests: Mapping[str, str]) -> Digests:
        """Digests by the names of their files."""
        return convert(dict(digests), cls)

    @property
    def by_name(self) -> dict[str, str]:
        found: dict[str, str] = to_builtins(self)
        return found

    @property
    def translated(self) -> bool:
        """Is there a file in another format?"""
        return bool(set(self.by_name) & {*TRANSLATIONS.values(), *BESIDE.values()})
