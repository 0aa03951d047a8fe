"""`Release`: a released network with everything that goes into its bundle. It holds nothing of the input file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from gridveil.casefile.profile import profile_text
from gridveil.errors import ReleaseError
from gridveil.grid import LineParameters, Network, OperatingPoint
from gridveil.grid.profile import Profile
from gridveil.publish import bundle
from gridveil.publish.manifest import Manifest
from gridveil.wall.certificate import Certificate, stored
from gridveil.wall.codec import to_json
from gridveil.wall.facts import Fact, FactKind


@dataclass(frozen=True, eq=False)
class Release:
    """The network as it was read back from its file, its operating points, and what is claimed of it."""

    network: Network
    points: tuple[OperatingPoint, ...]
    certificate: Certificate
    manifest: Manifest
    text: str
    profile: Profile | None = None

    @property
    def lines(self) -> LineParameters:
        return self.network.lines

    @property
    def point(self) -> OperatingPoint:
        """The operating point in the network file: that of the first used step."""
        return self.points[0]

    @property
    def costs(self) -> tuple[Fact, ...]:
        """The public dispatch costs of the used steps."""
        return tuple(fact for fact in self.manifest.public_inputs if fact.kind is FactKind.COST)

    def write(self, directory: Path | str, *, force: bool = False, extra: Mapping[str, str] | None = None) -> Path:
        """Write the bundle: released.m, certificate.json, manifest.json, and profile.csv if it has one.

        `extra` texts by file name go into it too, under the manifest's digests; they must be made from this release
        alone, as `report.html` is.
        """
        target = Path(directory)
        bundle.check_target(target, force=force)
        texts = {bundle.NETWORK: self.text, bundle.CERTIFICATE: to_json(stored(self.certificate))}
        if self.profile is not None:
            texts[bundle.PROFILE] = profile_text(self.network.grid, self.profile)
        for name, text in (extra or {}).items():
            if name in (*texts, bundle.MANIFEST) or Path(name).name != name:
                raise ReleaseError(f"'{name}' cannot be added to a bundle; give another file name")
            texts[name] = text
        with bundle.staged(target) as staging:
            for name, text in texts.items():
                (staging / name).write_text(text, encoding="utf-8")
            digests = {name: bundle.digest(staging / name) for name in texts}
            text = to_json(replace(self.manifest, sha256=digests))
            (staging / bundle.MANIFEST).write_text(text, encoding="utf-8")
        return target
