"""`Release`: a released network with everything that goes into its bundle. It holds nothing of the input file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import structs

from gridveil.casefile import Case
from gridveil.casefile.profile import profile_text
from gridveil.errors import ReleaseError
from gridveil.formats.find import load
from gridveil.grid import LineParameters, Network, OperatingPoint
from gridveil.grid.changes import Comparison, compare
from gridveil.grid.frames import Frame, Frames, beside, network_frames, point_frames
from gridveil.grid.profile import Profile
from gridveil.privacy.signature import PrivateKey
from gridveil.publish import bundle
from gridveil.publish.digests import Digests
from gridveil.publish.manifest import Manifest, Publisher, format_of
from gridveil.publish.staging import Taken
from gridveil.shown import as_card, plotted
from gridveil.wall.certificate import Certificate, stored
from gridveil.wall.codec import from_json, to_json
from gridveil.wall.facts import Fact, FactKind


@dataclass(frozen=True, eq=False)
class Release:
    """A released network with everything that goes into its bundle. It holds nothing of the original.

    Attributes:
        network: As it was read back from its file.
        points: An operating point per used step.
        certificate: What is claimed of it, recomputed.
        manifest: What was spent on what, and what is not protected.
        text: The network's file.
        profile: The demands of its horizon, if it has one.

    Examples:
        >>> made = gv.release(gv.seal("case14_ieee"), gv.Plan(1.0, "10%", "1%"), noise=gv.SeededNoise(1))
        >>> made.certificate.passed, made.manifest.privacy.differentially_private  # seeded noise is never private
        (True, False)
        >>> made.frame("lines")[["x_pu", "loading_pct"]].shape
        (20, 2)
    """

    network: Network
    points: tuple[OperatingPoint, ...]
    certificate: Certificate
    manifest: Manifest
    text: str
    profile: Profile | None = None

    _repr_html_ = as_card

    def __repr__(self) -> str:
        grid, record = self.network.grid, self.manifest
        steps = "" if self.profile is None else f", {len(self.points)} of {len(self.profile)} steps promised"
        return (
            f"Release({grid.n_bus} buses, {grid.n_generator} generators, {grid.n_line} lines{steps}, "
            f"cost {self.point.cost:,.2f}, {record.repair.path},\n        {self.certificate!r},\n        {record!r})"
        )

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

    def frames(self) -> Frames:
        """Released numbers as pandas frames, with the operating point of the first used step beside them."""
        return beside(network_frames(self.network), point_frames(self.network.grid, self.point))

    def frame(self, table: str = "buses") -> Frame:
        """One of them: `buses`, `generators` or `lines`."""
        return self.frames().table(table)

    def compare(self, original: str | Path | Case | Network) -> Comparison:
        """Every number before and after, element by element. INTERNAL: it needs the network this was made of."""
        return compare(load(original), self.network)

    def plot(self, axes: Any = None, *, title: str | None = None) -> Any:
        """Draw a map with matplotlib, lines by their loading, on `axes` if there are some; gives back the axes."""
        return plotted(self, axes, title=title)

    def published_by(self, who: Publisher | None) -> Release:
        """The same release with its publisher in the manifest."""
        return replace(self, manifest=structs.replace(self.manifest, publisher=who))

    def files(self) -> dict[str, bytes]:
        """The files by their names; the manifest is without digests."""
        texts = {bundle.NETWORK: self.text, bundle.CERTIFICATE: to_json(stored(self.certificate))}
        if self.profile is not None:
            texts[bundle.PROFILE] = profile_text(self.network.grid, self.profile)
        texts[bundle.MANIFEST] = to_json(self.manifest)
        return {name: text.encode() for name, text in texts.items()}

    def write(
        self,
        target: Path | str,
        *,
        force: bool = False,
        extra: Mapping[str, str | bytes] | None = None,
        sign: PrivateKey | None = None,
    ) -> Path:
        """Write the bundle, as a directory or, if the name ends so, as one .zip.

        It holds released.m, certificate.json, manifest.json, profile.csv if there is a profile, and with `sign` the
        signature of the manifest, which has the digests of all others. `extra` are report.html and translations of the
        network (`publish/translations.py`), by their names; made from this release alone, or `verify` rejects them.
        """
        target = bundle.check_target(Path(target), force=force)
        files = self.files()
        del files[bundle.MANIFEST]
        for name, content in (extra or {}).items():
            if name not in (bundle.REPORT, *bundle.TRANSLATED):
                raise ReleaseError(f"'{name}' cannot be added to a bundle; {bundle.REPORT} and translations can")
            files[name] = content.encode() if isinstance(content, str) else content
        key = None if sign is None else sign.public.text
        digests = Digests.of({name: bundle.digest(data) for name, data in files.items()})
        record = structs.replace(self.manifest, public_key=key, sha256=digests)
        manifest = to_json(structs.replace(record, format=format_of(record))).encode()
        files[bundle.MANIFEST] = manifest
        if sign is not None:
            files[bundle.SIGNATURE] = sign.sign(manifest)
        bundle.write_files(target, files, force=force)
        return target

    def deliver(self, target: Path, **how: Any) -> Path:
        """As `write`, of a release that is paid for: where another has taken its name meanwhile, under a free one."""
        end = target.suffix if bundle.is_archive(target) else ""
        stem, place = target.name.removesuffix(end), target
        for number in count(2):
            try:
                return self.write(place, **how)
            except Taken:
                place = target.with_name(f"{stem}-{number}{end}")
        raise AssertionError("there is always another number")


def publisher(name: str, contact: str | None = None, licence: str | None = None) -> Publisher:
    """A publisher's words, or `ReleaseError` where they cannot stand in a manifest."""
    try:
        return from_json(to_json(Publisher(name, contact, licence)), Publisher)
    except (ReleaseError, ValueError) as error:
        raise ReleaseError(
            f"the publisher's words cannot stand in a manifest ({error}); write them in a line"
        ) from None
