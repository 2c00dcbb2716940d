#!/usr/bin/env python3
"""Runs the benches, one after the other, and prints one table: goal, what others need, and what was measured.

The same is written to target/bench.json. Arguments: the benches that are run; all where there are none.
A goal that is not met fails nothing: figures of a busy machine are no verdict. A bench that fails does.
"""
import json
import os
import resource
import subprocess
import sys

BENCHES = ["report", "fencing", "ipmi-status", "hostile", "scale"]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(bench):
    """The figures of a bench. Everything else that it says is shown as it comes."""
    command = ["cargo", "bench", "--quiet", "--bench", bench]
    if bench == "hostile":
        # Its processor is not the one of the BMCs.
        command = ["taskset", "-c", "0"] + command
    figures = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout:
            if line.startswith('{'):
                figures.append(json.loads(line))
            else:
                print(line, end="", file=sys.stderr, flush=True)
    return figures, running.returncode


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def goal(figure):
    wanted = figure["goal"]
    if wanted is None:
        return "-"
    if "atMost" in wanted:
        return f"<= {number(wanted['atMost'])}"
    return f">= {number(wanted['atLeast'])}"


def table(figures):
    rows = [("figure", "measured", "goal", "met", "others")]
    for one in figures:
        met = {True: "yes", False: "NO", None: "-"}[one["met"]]
        rows.append((one["figure"], f"{number(one['measured'])} {one['unit']}".strip(), goal(one), met, one["anchor"] or "-"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        print("  ".join(cells + [row[4]]))


def main():
    asked = sys.argv[1:] or BENCHES
    unknown = [bench for bench in asked if bench not in BENCHES]
    if unknown:
        sys.exit(f"bench: {unknown[0]} is unknown; choose among {', '.join(BENCHES)}")
    # A descriptor and more for each BMC.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    figures, failed = [], []
    for place, bench in enumerate(asked, 1):
        print(f"--- {bench} ({place} of {len(asked)})", file=sys.stderr, flush=True)
        found, code = run(bench)
        figures += [dict(one, bench=bench) for one in found]
        if code != 0:
            failed.append(bench)
    table(figures)
    with open(os.path.join(ROOT, "target", "bench.json"), "w", encoding="utf-8") as out:
        json.dump(figures, out, indent=1)
    unmet = sum(1 for one in figures if one["met"] is False)
    print(f"{unmet} of {sum(1 for one in figures if one['goal'])} goals are not met; all figures are in target/bench.json")
    if failed:
        sys.exit(f"bench: failed: {', '.join(failed)}")


main()
