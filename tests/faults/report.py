"""Results on a screen, and as a page of the documents."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from tests.faults.fault import Fault
from tests.faults.kinds import FAULTS
from tests.faults.runner import Result

PAGE = Path(__file__).with_name("reliability.md")


def listed(faults: Sequence[type[Fault]]) -> None:
    for fault in faults:
        print(f"{fault.name:24}{fault.what}")


def line(result: Result) -> str:
    figures = f"{result.recovered_s:6.1f} s  {result.redone:6,} again" if result.verdict == "ok" else ""
    return f"{result.fault:24}{result.verdict:8}{figures}  {result.detail}"


def shown(results: Sequence[Result]) -> None:
    table = Table("fault", "seed", "recovered", "rows again", "verdict", "what was done", box=box.SIMPLE_HEAD)
    for r in results:
        recovered = f"{r.recovered_s:.1f} s" if r.verdict == "ok" else ""
        table.add_row(r.fault, str(r.seed), recovered, f"{r.redone:,}", r.verdict, r.detail)
    Console().print(table)
    met = {r.fault for r in results if r.verdict != "skipped"}
    print(f"{len(met)} of {len(FAULTS)} faults; not met: {', '.join(sorted(set(FAULTS) - met)) or 'none'}")


def read(file: Path) -> list[Result]:
    return [Result(**json.loads(text)) for text in file.read_text().splitlines()] if file.exists() else []


def written(page: Path, results: Sequence[Result]) -> None:
    """The figures between the two marks of the page's text."""
    ran = [r for r in results if r.verdict != "skipped"]
    seeds = sorted({r.seed for r in ran})
    failed = sum(r.verdict == "FAILED" for r in ran)
    rows = "".join(_row(name, [r for r in ran if r.fault == name]) for name in FAULTS)
    text = PAGE.read_text(encoding="utf-8")
    fed = sum(r.fed for r in ran)
    summary = f"{len(ran)} faults over {len(seeds)} seeds, {fed:,} records fed, {failed} failed."
    page.write_text(text.replace("{summary}", summary).replace("{rows}\n", rows), encoding="utf-8")


def _row(name: str, results: Sequence[Result]) -> str:
    good = [r for r in results if r.verdict == "ok"]
    times = [r.recovered_s for r in good]
    verdict = f"{len(good)} of {len(results)}"
    if not good:
        return f"| `{name}` | {FAULTS[name].what} | {verdict} | | | |\n"
    again = [r.redone for r in good]
    return (
        f"| `{name}` | {FAULTS[name].what} | {verdict} | {statistics.median(times):.1f} | {max(times):.1f} "
        f"| {statistics.median(again):,.0f} |\n"
    )
