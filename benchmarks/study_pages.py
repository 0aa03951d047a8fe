"""A page of results per study: figures, tables, methods from the study's own parameters, and what we make of it.

    python benchmarks/study_pages.py RESULTS docs/results

The networks are public ones, so that comparing with the truth gives nothing away here. `findings.md` in the same
directory is written by hand, after looking; everything else comes from the results.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from gridveil.charts.chart import Sheet
from gridveil.charts.numbers import exact
from gridveil.files import write_whole
from gridveil.report.figure import charts_of, write_figure
from gridveil.study.catalogue import STUDIES
from gridveil.study.sections import measured, methods, read_studies, section

MOST_ROWS = 170


def markdown(sheet: Sheet) -> str:
    head = [
        f"**{sheet.title}**",
        "",
        "| " + " | ".join(cell.replace("|", "\\|") for cell in sheet.header) + " |",
        "|" + "---|" * len(sheet.header),
    ]
    if len(sheet.rows) > MOST_ROWS:
        return f"**{sheet.title}**: {len(sheet.rows)} rows, which `gridveil report` shows in full."
    rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in sheet.rows]
    return "\n".join([*head, *rows, *(["", sheet.note] if sheet.note else [])])


def findings(folder: Path) -> dict[str, str]:
    parts = (folder / "findings.md").read_text(encoding="utf-8").split("\n## ")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def page(name: str, results: Path, target: Path) -> None:
    study, found = STUDIES[name], read_studies(results)[name]
    shown = section(name, found)
    parts = [
        f"# {study.title}",
        f"`{name}`: {study.paper if study.paper != 'ours' else 'a study of ours'}. Measured at commit {commit()}.",
        findings(target)[name],
        f"**{study.question}**",
        "\n".join(f"- {one}" for one in (*shown.found, measured(study, found))),
    ]
    answer = [] if shown.answer is None else [(len(charts_of(name, found)), shown.answer)]
    for number, chart in [*answer, *enumerate(shown.charts, 1)]:
        picture = f"study-{name}-{number}.svg"
        write_figure(name, results, target / picture, number, force=True)
        parts.append(f"![{chart.title}]({picture})\n\n{chart.caption} {chart.draws()}".rstrip())
    parts += [markdown(sheet) for sheet in shown.sheets]
    parts += ["## How it was made", methods(study, found, results)]
    cases = ",".join(f"{case}.m" for case in found.values("case"))
    draws = 1 + max(found.values("draw"))
    chosen = {
        one: found.values(one) for one, declared in study.settings.items() if set(found.values(one)) < set(declared)
    }
    sets = "".join(f" --set {one}={','.join(exact(value) for value in values)}" for one, values in chosen.items())
    parts.append(f"```\ngridveil study {name} --cases {cases} --draws {draws}{sets} --out results\n```")
    write_whole(target / f"study-{name}.md", "\n\n".join(parts) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    for name in read_studies(options.results):
        page(name, options.results, options.target)
        print(name)


if __name__ == "__main__":
    main()
