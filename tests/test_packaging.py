"""What a package index and a container get: links, citation, contents, a user without rights."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gridveil.libraries import how_to_install, needed

ROOT = Path(__file__).parents[1]
ADDRESS = "https://example.org/grid/gridveil"


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The hook without the builder, which is there only while it builds."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    spec = importlib.util.spec_from_file_location("hook", ROOT / "scripts" / "metadata_hook.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [a](docs/bundle.md#x).", f"see [a]({ADDRESS}/blob/v1/docs/bundle.md#x)."),
        ("[a](./docs)", f"[a]({ADDRESS}/tree/v1/docs)"),
        ("![a](docs/results/attacks.svg)", f"![a]({ADDRESS}/raw/v1/docs/results/attacks.svg)"),
        (
            "[![a](docs/results/attacks.svg)](docs/bundle.md)",
            f"[![a]({ADDRESS}/raw/v1/docs/results/attacks.svg)]({ADDRESS}/blob/v1/docs/bundle.md)",
        ),
        ('<img width="9" src="docs/results/attacks.svg">',
         f'<img width="9" src="{ADDRESS}/raw/v1/docs/results/attacks.svg">'),
        ("[r]: LICENSE", f"[r]: {ADDRESS}/blob/v1/LICENSE"),
        ("[a](https://x.org) [b](#c) [m](mailto:a@b.org)", "[a](https://x.org) [b](#c) [m](mailto:a@b.org)"),
        ("```\n[a](docs/bundle.md)\n```\n[a](LICENSE)", f"```\n[a](docs/bundle.md)\n```\n[a]({ADDRESS}/blob/v1/LICENSE)"),
    ],
)  # fmt: skip
def test_links_become_absolute(hook: ModuleType, text: str, expected: str) -> None:
    assert hook.absolute(text, ADDRESS, "v1", ROOT) == expected


def test_a_link_to_nothing_is_no_release(hook: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"no_such\.md, which is not there"):
        hook.absolute("[a](docs/no_such.md)", ADDRESS, "v1", ROOT)


def test_our_readme_has_no_relative_link_on_an_index(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hook(hook.CustomMetadataHook):  # type: ignore[misc, name-defined]
        root = str(ROOT)

    monkeypatch.setenv("GRIDVEIL_REPOSITORY", ADDRESS + "/")
    metadata: dict[str, Any] = {"version": "1.2"}
    Hook().update(metadata)
    text = re.sub(r"```.*?```", "", metadata["readme"]["text"], flags=re.DOTALL)
    assert ADDRESS in text
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", text) == []
    assert metadata["urls"]["Changelog"] == f"{ADDRESS}/blob/v1.2/CHANGELOG.md"
    monkeypatch.delenv("GRIDVEIL_REPOSITORY")
    Hook().update(metadata)  # nothing is made up
    assert metadata["urls"] == {}
    assert metadata["readme"]["text"] == (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("given", ["example.org/x", "http://example.org/x", "https://example.org", "https://e.org/x y"])
def test_what_is_no_address(given: str, hook: ModuleType) -> None:
    with pytest.raises(ValueError, match="give an address such as"):
        hook.address_of({"GRIDVEIL_REPOSITORY": given})


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    stated = project()["project"]
    assert f"\nversion: {stated['version']}\n" in text
    assert f'name: "{stated["authors"][0]["name"]}"' in text
    assert f"license: {stated['license']}" in text


def test_how_to_install_says_what_works_from_a_clone() -> None:
    assert how_to_install("plot", "report") == (
        "pip install 'gridveil[plot,report]', or in a clone: pip install -e '.[plot,report]'"
    )
    with pytest.raises(Exception, match=r"no_such_library.*in a clone: pip install -e '\.\[plot\]'"):
        needed("no_such_library", "plot")


def test_every_message_takes_its_words_from_one_place() -> None:
    """No module says by itself how to install an extra, and every extra that is named exists."""
    extras = set(project()["project"]["optional-dependencies"])
    for file in (ROOT / "src").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "pip install 'gridveil" not in text or file.name == "libraries.py", file.name
        named = re.findall(r"how_to_install\(['\"](\w+)['\"]\)|needed\([^,]+, \"(\w+)\"\)", text)
        assert {one or other for one, other in named} <= extras, file.name


def test_what_a_reviewer_installs_is_the_list_of_the_page() -> None:
    """The list in docs/bundle.md and docs/installing.md is the group's; and each is a version the core asks for."""
    group, core = project()["dependency-groups"]["verify-quick"], project()["project"]["dependencies"]
    names = " ".join(one.split(">")[0] for one in group)
    for page in ("bundle.md", "installing.md"):
        assert names in (ROOT / "docs" / page).read_text(encoding="utf-8"), page
    assert {one for one in group if not one.startswith("jinja2")} <= set(core)


# The container


def instructions() -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = [one for one in joined.splitlines() if one and not one.startswith("#")]
    return [(one.split(maxsplit=1)[0], one.split(maxsplit=1)[1]) for one in lines]


def test_the_container_runs_as_a_user_without_rights() -> None:
    last = instructions()[[name for name, _ in instructions()].index("FROM", 2) :]
    users = [words for name, words in last if name == "USER"]
    assert users == ["10001:10001"]
    assert [name for name, _ in last].index("USER") > max(n for n, (name, _) in enumerate(last) if name == "RUN")
    assert ("ENTRYPOINT", '["gridveil"]') in last
    copied = [words for name, words in last if name == "COPY"]
    assert copied == ["--from=build /opt/gridveil /opt/gridveil"]  # no sources, and whatever else lies beside them


def test_nothing_secret_can_get_into_a_layer() -> None:
    """What the recipe may copy is a list, and the recipe copies nothing else; no argument has a secret."""
    allowed = [
        one for one in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if not one.startswith("#")
    ]
    assert allowed[0] == "*"
    names = {one[1:] for one in allowed if one.startswith("!")}
    copied = {one for name, words in instructions() if name == "COPY" and "--from" not in words
              for one in words.split()[:-1]}  # fmt: skip
    assert copied == names
    assert all((ROOT / one).exists() for one in names)
    assert [words for name, words in instructions() if name == "ARG"] == ["PYTHON=3.12"]
    assert not any(name == "ADD" for name, _ in instructions())
