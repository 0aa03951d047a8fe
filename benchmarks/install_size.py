"""What an installation downloads and takes on disk, by library: python benchmarks/install_size.py [SET ...] [-o FILE]

Each set goes into a fresh virtual environment. Sizes are those of the wheels, and of what stands in `site-packages`
afterwards, bytecode included, pip itself left out. A `wheel` of this tree is built once and installed in every set.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import tomllib
import venv
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = PROJECT["dependency-groups"]
MB = 2**20


def sets() -> dict[str, tuple[str, list[str]]]:
    """Name: (words, what pip is given beside the wheel); a set of verifiers gets the wheel without dependencies."""
    extras = {name: (f"gridveil[{name}]", [f"[{name}]"]) for name in PROJECT["project"]["optional-dependencies"]}
    return {
        "core": ("gridveil", []),
        "verify-quick": ("gridveil alone, and the group verify-quick", GROUPS["verify-quick"]),
        "verify-full": ("the same and casadi", [*GROUPS["verify-quick"], "casadi>=3.6.7"]),
        **extras,
    }


def main() -> None:
    """Measure the sets that were named, or the core and the verifiers'."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(sets())}")
    parser.add_argument("-o", "--out", type=Path, help="write the tables to this file, too")
    given = parser.parse_args()
    names = given.sets or ["core", "verify-quick", "verify-full"]
    if unknown := set(names) - set(sets()):
        parser.error(f"there is no set {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as place:
        text = tables(Path(place), names)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")


def tables(place: Path, names: list[str]) -> str:
    """The table of sets, and one of libraries for each."""
    pip(sys.executable, "wheel", "--no-deps", "-w", str(place), str(ROOT))
    wheel = next(place.glob("*.whl"))
    rows, parts = list[str](), list[str]()
    for name in names:
        words, more = sets()[name]
        downloaded, libraries = measured(place / name, wheel, more, alone=name.startswith("verify-"))
        total = sum(libraries.values())
        rows.append(f"| {words} | {downloaded / MB:.0f} | {total / MB:.0f} |")
        parts += [f"\n{words}:\n", "| library | MB installed |", "|---|---|"]
        large = {one: size for one, size in libraries.items() if size >= MB}
        parts += [f"| {one} | {size / MB:.1f} |" for one, size in sorted(large.items(), key=lambda pair: -pair[1])]
        parts.append(f"| {len(libraries) - len(large)} others | {(total - sum(large.values())) / MB:.1f} |")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    head = f"At commit {commit}, Python {platform.python_version()}, {platform.system()} {platform.machine()}:\n"
    return "\n".join([head, "| what | MB downloaded | MB installed |", "|---|---|---|", *rows, *parts])


def measured(place: Path, wheel: Path, more: list[str], *, alone: bool) -> tuple[int, dict[str, int]]:
    """Bytes of the wheels that a set needs, and bytes on disk by library."""
    wheels = place / "wheels"
    extras = [one for one in more if one.startswith("[")]
    wanted = [f"{wheel}{''.join(extras)}"] if not alone else more
    pip(sys.executable, "download", "--only-binary", ":all:", "-d", str(wheels), *wanted)
    downloaded = sum(one.stat().st_size for one in wheels.iterdir())
    if alone:
        downloaded += wheel.stat().st_size
    venv.create(place / "venv", with_pip=True)
    python = next(one for one in (place / "venv").glob("*/python*") if one.stem == "python")
    base = set(site(python).iterdir())
    pip(str(python), "install", "--no-index", "--find-links", str(wheels), *wanted)
    if alone:
        pip(str(python), "install", "--no-index", "--no-deps", str(wheel))
    return downloaded, by_library(site(python), base)


def by_library(folder: Path, base: set[Path]) -> dict[str, int]:
    """Bytes on disk of what was added, by the library that owns the folder; links and twins are counted as they lie."""
    owners = {
        part: found.metadata["Name"].lower()
        for found in distributions(path=[str(folder)])
        for file in found.files or []
        if (part := file.parts[0]) != ".."
    }
    sizes = dict[str, int]()
    for one in set(folder.iterdir()) - base:
        name = owners.get(one.name, one.name)
        within = [one, *one.rglob("*")]
        sizes[name] = sizes.get(name, 0) + sum(f.stat().st_size for f in within if f.is_file() and not f.is_symlink())
    return sizes


def site(python: Path) -> Path:
    """Where this interpreter keeps libraries."""
    words = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return Path(subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip())


def pip(python: str, *words: str) -> None:
    """Run pip; its complaints are shown if it fails."""
    done = subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "-q", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"pip {' '.join(words)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
