#!/usr/bin/env python3
"""Runs the benches, one after the other, and prints one table: goal, what others need, and what was measured.

The same is written to target/bench.json. Arguments: the benches that are run, all where there are none; what comes after
`--` is for the bench, of which there is one then. A goal that is not met fails nothing: figures of a busy machine are no verdict. A bench that fails does.
"""
import json
import os
import resource
import subprocess
import sys

BENCHES = ["report", "fencing", "ipmi-status", "hostile", "scale"]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(bench, arguments):
    """The figures of a bench. Everything else that it says is shown as it comes."""
    command = ["cargo", "bench", "--quiet", "--bench", bench, "--", *arguments]
    if bench == "hostile":
        # Its processor is not the one of the BMCs.
        command = ["taskset", "-c", "0"] + command
    figures = []
    # As in the image.
    environment = dict(os.environ, MALLOC_ARENA_MAX="1")
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout:
            if line.startswith('{'):
                figures.append(json.loads(line))
            else:
                print(line, end="", file=sys.stderr, flush=True)
    return figures, running.returncode


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def is_met(figure):
    return None if figure["atMost"] is None else figure["measured"] <= figure["atMost"]


def table(figures):
    rows = [("figure", "measured", "at most", "met", "others")]
    for one in figures:
        most = "-" if one["atMost"] is None else number(one["atMost"])
        met = {True: "yes", False: "NO", None: "-"}[is_met(one)]
        rows.append((one["figure"], f"{number(one['measured'])} {one['unit']}".strip(), most, met, one["others"] or "-"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        print("  ".join(cells + [row[4]]))


def main():
    given = sys.argv[1:]
    split = given.index("--") if "--" in given else len(given)
    asked, arguments = given[:split] or BENCHES, given[split + 1:]
    unknown = [bench for bench in asked if bench not in BENCHES]
    if unknown:
        sys.exit(f"bench: {unknown[0]} is unknown; choose among {', '.join(BENCHES)}")
    if arguments and len(asked) > 1:
        sys.exit("bench: name the one bench that the arguments after -- are for")
    # A descriptor and more for each BMC.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    figures, failed = [], []
    for place, bench in enumerate(asked, 1):
        print(f"--- {bench} ({place} of {len(asked)})", file=sys.stderr, flush=True)
        found, code = run(bench, arguments)
        figures += [dict(one, bench=bench) for one in found]
        if code != 0:
            failed.append(bench)
    table(figures)
    with open(os.path.join(ROOT, "target", "bench.json"), "w", encoding="utf-8") as out:
        json.dump(figures, out, indent=1)
    met = [is_met(one) for one in figures]
    print(f"{met.count(False)} of {len(met) - met.count(None)} goals are not met; all figures are in target/bench.json")
    if failed:
        sys.exit(f"bench: failed: {', '.join(failed)}")


main()
