"""Build a release, look at what is in it, and use it as strangers will: python scripts/release.py [--repository URL]

Everything happens in build/release. It ends with the command that publishes, or with what is in its way: an index gets
nothing while the repository's address is not given, files are not committed, or a Python from 3.11 to 3.14 is missing.
The wheel has the kernel for the platform that this runs on, compiled by `ziglang` whatever compiler is here.
The whole list, with what a person has to look at, is docs/releasing.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "release"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
TOOLS = ("build", "twine", *(["auditwheel"] if sys.platform == "linux" else []))
KERNEL = re.compile(r"gridveil/nlp/native/libgridveil\.(so|dylib|dll)")
IN_WHEEL = (
    "gridveil/py.typed", "gridveil/schemas/gridveil-release-5.manifest.json", "gridveil/cases/case39_epri.m",
    "gridveil/report/public.html",
)  # fmt: skip
IN_SDIST = (
    "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "Dockerfile", "Makefile",
    "constraints.txt", "docs/architecture.md", "examples/verify_a_release.py", "tests/conftest.py",
    "scripts/release.py", "scripts/metadata_hook.py", "benchmarks/run.py",
    "scripts/build_native.py", "native/gridveil.h", "native/version.c",
)  # fmt: skip
NOT_OURS = {"PYTHONPATH", "GRIDVEIL_REPOSITORY", "GRIDVEIL_KERNEL", "GRIDVEIL_NATIVE"}
CORE_TESTS = ("test_read.py", "test_write.py", "test_grid.py", "test_line_flow.py", "test_noise.py", "test_bundle.py")
DEMO = (
    "gridveil release case39_epri --epsilon 1 --alpha 0.1 --beta 0.01 --ledger demo.ledger --out demo",
    "gridveil verify demo",
    "gridveil-verify --quick demo",
    "gridveil doctor --ledger demo.ledger",
)


class Wrong(Exception):
    """What keeps this from being a release."""


def main() -> None:
    """Build, check, install, run; then say how to publish, or why not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repository", default="", help="https://HOST/OWNER/NAME: links of the README lead there")
    parser.add_argument("--pythons", nargs="*", type=Path, default=[], help="interpreters that are not on the PATH")
    given = parser.parse_args()
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    try:
        wheel, sdist = built(given.repository)
        look_into(wheel, sdist)
        look_at_platform(wheel)
        open_points = [] if given.repository else ["give --repository: without it links of the README lead nowhere"]
        if run("git", "status", "--porcelain", cwd=ROOT):
            open_points.append("commit what is not committed")
        interpreters = {version: interpreter(version, given.pythons) for version in VERSIONS}
        for version, found in interpreters.items():
            if found is None:
                say(f"Python {version} is not here: not tried")
                open_points.append(f"try it with Python {version}")
            else:
                use(found, version, wheel)
        use(Path(sys.executable), "sdist", sdist)
        try_tests(PLACE / "sdist", sdist)
    except Wrong as error:
        raise SystemExit(f"no release: {error}") from None
    if open_points:
        raise SystemExit("everything that was tried works; before it is published:\n- " + "\n- ".join(open_points))
    say(f"publish with: {tool('twine')} upload {wheel} {sdist}")


def built(repository: str) -> tuple[Path, Path]:
    """The wheel, made from the sdist, and the sdist; the index would take both."""
    venv.create(PLACE / "tools", with_pip=True)
    pip(python_of(PLACE / "tools"), "install", *TOOLS)
    out = PLACE / "dist"
    run(str(python_of(PLACE / "tools")), "-m", "build", "--outdir", str(out), str(ROOT),
        more={"GRIDVEIL_REPOSITORY": repository, "GRIDVEIL_NATIVE": "1", "CC": "ziglang"})  # fmt: skip
    wheel, sdist = next(out.glob("*.whl")), next(out.glob("*.tar.gz"))
    run(str(tool("twine")), "check", "--strict", str(wheel), str(sdist))
    say("built " + " and ".join(f"{one.name} ({one.stat().st_size / 1e6:.1f} MB)" for one in (wheel, sdist)))
    return wheel, sdist


def look_into(wheel: Path, sdist: Path) -> None:
    """Everything that git has of the package is in the wheel, and nothing else; and the sdist has the rest."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(next(one for one in names if one.endswith(".dist-info/METADATA"))).decode()
    ours = {one.removeprefix("src/") for one in run("git", "ls-files", "src", cwd=ROOT).splitlines()}
    packed = {one for one in names if ".dist-info/" not in one}
    kernel = {one for one in packed if KERNEL.fullmatch(one)}
    if len(kernel) != 1:
        raise Wrong(f"the wheel has {len(kernel)} libraries of the kernel")
    if packed - kernel != ours:
        raise Wrong(f"the wheel and the repository differ in {', '.join(sorted((packed - kernel) ^ ours)[:5])}")
    if lacking := set(IN_WHEEL) - packed:
        raise Wrong(f"the wheel lacks {', '.join(sorted(lacking))}")
    if not any(one.endswith("licenses/LICENSE") for one in names):
        raise Wrong("the wheel lacks the licence")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if f"\nversion: {version}\n" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        raise Wrong(f"CITATION.cff is not of version {version}")
    if f"\nVersion: {version}\n" not in metadata:
        raise Wrong(f"the wheel is not of version {version}")
    with tarfile.open(sdist) as source:
        inside = {one.split("/", 1)[-1] for one in source.getnames()}
    if lacking := set(IN_SDIST) - inside:
        raise Wrong(f"the sdist lacks {', '.join(sorted(lacking))}")
    native = {one for one in run("git", "ls-files", "native", cwd=ROOT).splitlines() if one.endswith((".c", ".h"))}
    if lacking := native - inside:
        raise Wrong(f"the sdist lacks {', '.join(sorted(lacking))}")
    if built_ones := {one for one in inside if "libgridveil." in one}:
        raise Wrong(f"the sdist has {', '.join(sorted(built_ones))}")
    say("contents: package, schemas, cases, licence and py.typed; docs, examples, tests and C sources in the sdist")


def look_at_platform(wheel: Path) -> None:
    """The tag is for every Python 3 of one platform; on Linux auditwheel finds nothing newer or foreign inside."""
    tag = wheel.stem.split("-", 2)[-1]
    if not re.fullmatch(r"py3-none-(?!any).+", tag):
        raise Wrong(f"the wheel is tagged {tag}, not py3-none-PLATFORM")
    if sys.platform == "linux":
        words = " ".join(run(str(python_of(PLACE / "tools")), "-m", "auditwheel", "show", str(wheel)).split())
        found = re.search(r'consistent with the following platform tag: "(\w+)"', words)
        claimed = re.search(r"manylinux_2_(\d+)_(\w+)", tag)
        proven = re.search(r"manylinux_2_(\d+)_(\w+)", found[1]) if found else None
        if claimed is None or proven is None:
            raise Wrong(f"the wheel is tagged {tag}, and auditwheel says: {words}")
        if claimed[2] != proven[2] or int(claimed[1]) < int(proven[1]):
            raise Wrong(f"the wheel claims {claimed[0]}, and auditwheel finds {proven[0]}")
        say(f"platform: {claimed[0]}; by auditwheel {proven[0]} would do")


def look_at_kernel(folder: Path, place: Path) -> None:
    """The installed command finds the kernel that came with it."""
    said = run(str(folder / "gridveil"), "doctor", "--json", "--ledger", "demo.ledger", cwd=place)
    finding = json.loads(said)["findings"]["kernel"]
    if finding["state"] != "ok":
        raise Wrong(f"the kernel that was installed is not found: {finding['found']}")


def interpreter(version: str, given: list[Path]) -> Path | None:
    """A Python of this version that runs: one that was given, or on the PATH."""
    found = shutil.which(f"python{version}")
    for one in [*given, Path(sys.executable), *([Path(found)] if found else [])]:
        done = subprocess.run(
            [str(one), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 0 and done.stdout.strip() == version:
            return one
    return None


def use(python: Path, name: str, file: Path) -> None:
    """Install one file in an empty environment and run the demo in an empty directory."""
    place = PLACE / name
    run(str(python), "-m", "venv", str(place))
    pip(python_of(place), "install", str(file))
    pip(python_of(place), "check")
    folder = python_of(place).parent
    with tempfile.TemporaryDirectory() as empty:
        for line in DEMO:
            command, *words = line.split()
            run(str(folder / command), *words, cwd=Path(empty))
        look_at_kernel(folder, Path(empty))
    say(f"{name}: {file.name} is installed, and the demo ran")


def try_tests(environment: Path, sdist: Path) -> None:
    """Tests of the core, from the sdist, against what was installed from it."""
    pip(python_of(environment), "install", "pytest", "pytest-xdist", "hypothesis")
    with tempfile.TemporaryDirectory() as empty:
        with tarfile.open(sdist) as source:
            source.extractall(empty, filter="data")
        unpacked = next(Path(empty).iterdir())
        shutil.rmtree(unpacked / "src")  # what is tested is what was installed
        tests = [f"tests/{one}" for one in CORE_TESTS]
        words = run(str(python_of(environment)), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=unpacked)
    say(f"tests of the core from the sdist: {words.strip().splitlines()[-1]}")


def python_of(environment: Path) -> Path:
    """The interpreter of an environment, on POSIX or on Windows."""
    folder = environment / ("Scripts" if os.name == "nt" else "bin")
    return folder / ("python.exe" if os.name == "nt" else "python")


def tool(name: str) -> Path:
    """A program of the tools' environment."""
    return python_of(PLACE / "tools").parent / name


def pip(python: Path, *words: str) -> None:
    """pip of an environment."""
    run(str(python), "-m", "pip", "--disable-pip-version-check", "-q", *words)


def run(*words: str, cwd: Path | None = None, more: dict[str, str] | None = None) -> str:
    """What a command prints; if it fails, that is the end."""
    environment = {key: value for key, value in os.environ.items() if key not in NOT_OURS}
    done = subprocess.run(
        words, cwd=cwd, env=environment | (more or {}), capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise Wrong(f"{' '.join(words)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def say(words: str) -> None:
    """A line at once."""
    print(words, flush=True)


if __name__ == "__main__":
    main()
