#!/usr/bin/env python3
"""Runs every check and every test, tells how long each part took, and names all that failed at the end.

A part begins when the parts it needs have ended well, and no other of its track runs: those of one track would only
wait for each other, for the processors or for Cargo's lock. A part that fails hides none but those that need it.
"""

import os
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
LOGS = TARGET / "run"
TIMES = LOGS / "stories.times"
# Lines of a failed part that are shown, and the columns of each; all of it is in its log.
SHOWN = 300
COLUMNS = 400
# Lines that say why a test failed.
WHY = 8
SLOWEST = 10
# How long a test took, as libtest tells it (tests/units.sh), and a tool of others, as simulator-conformance does.
TEST_TOOK = re.compile(r"test (\S+).* \.\.\. \w+ <([0-9.]+)s>")
# How many states were explored (tests/units.sh), and of how many plans the fault matrix ran how many.
COUNTED = re.compile(r"explored: |\S.*: \d+ calls; ")
TOOL_TOOK = re.compile(r"(\S.*\S) +\d+ +\d+ +\d+ +([0-9.]+)$")

# Clippy's driver is the compiler with Clippy's lints: what is tested is linted while it is built, and not a second time.
COMPILER = {"RUSTC_WORKSPACE_WRAPPER": "clippy-driver"}

SUCCESSION = "leadership::who_is_killed_has_a_successor_when_its_lease_is_over"

# Name, track, what it needs, command. Within a track they begin in this order.
PARTS = [
    # What is given, built or fetched once and cached. Slow where it is not there yet: it begins at once.
    ("programs of others", "given", [], "tests/programs/build.sh control-plane kustomize helm"),
    ("definitions of others", "fetched", [], "tests/harness/foreign-crds/fetch.sh"),
    ("sushy-emulator", "fetched", [], "tests/peers/install-sushy.sh"),
    ("Ironic", "fetched", [], "tests/peers/install-ironic.sh"),
    ("clock of others", "fetched", [], "tests/peers/install-faketime.sh"),
    ("tools of others", "fetched", [], "bmc-simulator/conformance/install.sh"),
    ("IPMI BMCs of others", "fetched", [], "tests/peers/install-ipmi.sh"),
    ("hadolint", "fetched", [], "tests/peers/install-hadolint.sh"),
    # What the compiler does.
    ("format", "compiler", [], "cargo fmt --all --check"),
    ("build", "compiler", [], "cargo test --no-run --all-targets && cargo build --bins --examples"),
    # The build has linted (COMPILER); Cargo tells once more what it warned of.
    ("lints", "compiler", ["build"], "! cargo test --no-run --all-targets 2>&1 | grep -A 20 '^warning'"),
    ("without the proof", "compiler", ["build"], "tests/sabotage.sh build"),
    # Those that count requests count what is repeated on a busy machine, too, and how soon a killed leader has a successor is
    # measured: they have it alone.
    ("counting", "alone", ["build", "programs of others", "definitions of others"],
     "cargo test --no-fail-fast --test counting -- --test-threads=1"),
    ("succession", "alone", ["build", "programs of others", "definitions of others"],
     f"cargo test --no-fail-fast --test stories {SUCCESSION} -- --show-output"),
    # The pool of control planes decides how many stories run at once. More of them starve where two cores are slow: then
    # a control plane takes two minutes to start, and what a story waits for comes too late.
    ("stories", "stories",
     ["build", "programs of others", "definitions of others", "sushy-emulator", "Ironic", "clock of others"],
     f"cargo test --no-fail-fast --test stories -- --test-threads=1000 --show-output --skip {SUCCESSION}"),
    ("units", "others", ["build", "tools of others", "IPMI BMCs of others", "judges of deploy", "hadolint"],
     "tests/units.sh rest"),
    ("demos", "demos", ["build", "programs of others", "definitions of others", "Ironic"], "tests/demos.sh"),
    ("conformance", "conformance", ["build", "tools of others"], "cargo run --quiet --bin simulator-conformance"),
    ("harness", "control planes", ["build", "programs of others", "definitions of others"], "tests/units.sh harness"),
    ("sabotage", "control planes", ["without the proof", "programs of others", "definitions of others"],
     "tests/sabotage.sh story"),
    # What only computes takes what the stories leave, which mostly wait: the kernel lets it run when nobody else wants to.
    ("judges of deploy", "computing", ["programs of others"], "chrt --idle 0 tests/programs/build.sh deploy"),
    ("licences", "computing", [], "chrt --idle 0 tests/licences.sh"),
    ("explorations", "computing", ["build"], "tests/units.sh core"),
    # A share: `make mutants` runs all of them.
    ("mutants", "computing", ["build"], "chrt --idle 0 tests/mutants.py --share 1/114"),
]
# Tracks that begin when all of these have ended, well or not: until then they would only slow each other down.
AFTER = {
    "alone": {"given", "fetched", "compiler"},
    "stories": {"given", "fetched", "compiler", "alone"},
    # Beside stories they would starve, and these.
    "others": {"given", "fetched", "compiler", "alone", "stories"},
    "demos": {"given", "fetched", "compiler", "alone", "stories"},
    "conformance": {"given", "fetched", "compiler", "alone", "stories"},
    "control planes": {"given", "fetched", "compiler", "alone", "stories"},
    "computing": {"given", "fetched", "compiler", "alone"},
}


class Run:
    """Which parts have ended, and how."""

    def __init__(self):
        self.changed = threading.Condition()
        self.ended = {}
        self.seconds = {}
        # Seconds of processor.
        self.computed = {}

    def track(self, name):
        """Runs the parts of a track."""
        before = {part[0] for part in PARTS if part[1] in AFTER.get(name, set())}
        with self.changed:
            self.changed.wait_for(lambda: before <= self.ended.keys())
        for part, track, needs, command in PARTS:
            if track == name:
                self.part(part, needs, command)

    def part(self, name, needs, command):
        """Runs one part when what it needs has ended."""
        with self.changed:
            self.changed.wait_for(lambda: set(needs) <= self.ended.keys())
            missing = [need for need in needs if self.ended[need] is not True]
        if missing:
            self.end(name, f"not run, because {', '.join(missing)} failed", 0)
            return
        began = time.monotonic()
        environment = {**os.environ, **COMPILER, "STORY_TIMES": str(TIMES)}
        with log_of(name).open("wb") as log:
            # wait4 tells what the part and all whom it waited for have computed.
            process = subprocess.Popen(["bash", "-c", command], cwd=ROOT, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.computed[name] = usage.ru_utime + usage.ru_stime
        well = True if process.returncode == 0 else f"FAILED with status {process.returncode}"
        self.end(name, well, time.monotonic() - began)

    def end(self, name, well, seconds):
        """Notes and tells that a part has ended."""
        with self.changed:
            self.ended[name] = well
            self.seconds[name] = seconds
            print(f"{seconds:6.0f} s  {name}: {'well' if well is True else well}", flush=True)
            self.changed.notify_all()


def log_of(part):
    """Where a part's output is kept."""
    return LOGS / (re.sub(r"[^a-z]+", "-", part.lower()) + ".log")


def show(part):
    """Shows the output of a part that failed: from its failures on, if it says where they are, else the end of it."""
    if not log_of(part).exists():
        return
    lines = log_of(part).read_text(errors="replace").splitlines()
    begins = next((number for number, line in enumerate(lines) if line == "failures:"), len(lines) - SHOWN)
    shown = lines[max(begins, 0):]
    print(f"\n== {part} (all of it: {log_of(part)})")
    print("\n".join(line[:COLUMNS] for line in shown[:SHOWN]))


def reasons(part):
    """Why each test of a part failed, in few lines: whoever reads only the end of the output needs no more."""
    if not log_of(part).exists():
        return
    test, left = "", 0
    for line in log_of(part).read_text(errors="replace").splitlines():
        if line.startswith("---- ") and line.endswith(" stdout ----"):
            test = line.split(" ")[1]
        elif "' panicked at " in line or "the story failed at " in line:
            print(f"\n{part}: {test}")
            left = WHY
        elif line.startswith("--- the end of ") or not line:
            left = 0
        if left:
            print(f"    {line[:COLUMNS]}")
            left -= 1


def slowest():
    """The tests of all parts that took longest, with their seconds. A story's are those after it got its control plane."""
    took = {}
    for line in TIMES.read_text().splitlines() if TIMES.exists() else []:
        seconds, name = line.split(" ")[0], line.rsplit(" ", 1)[-1]
        took[f"stories: {name}"] = max(took.get(f"stories: {name}", 0.0), float(seconds))
    for part, *_ in PARTS:
        for line in log_of(part).read_text(errors="replace").splitlines() if log_of(part).exists() else []:
            if told := TEST_TOOK.match(line):
                took[f"{part}: {told[1]}"] = float(told[2])
            elif told := TOOL_TOOK.match(line):
                took[f"{part}: {told[1]}"] = float(told[2])
    return sorted(((seconds, name) for name, seconds in took.items()), reverse=True)[:SLOWEST]


def counts():
    """What parts say of how much they went through."""
    for part in ("explorations", "stories"):
        lines = log_of(part).read_text(errors="replace").splitlines() if log_of(part).exists() else []
        yield from (line[:COLUMNS] for line in lines if COUNTED.match(line))


def main():
    """Runs all parts. Answers the exit status."""
    LOGS.mkdir(parents=True, exist_ok=True)
    TIMES.unlink(missing_ok=True)
    began, run = time.monotonic(), Run()
    names = list(dict.fromkeys(track for _, track, _, _ in PARTS))
    tracks = [threading.Thread(target=run.track, args=(name,)) for name in names]
    for track in tracks:
        track.start()
    for track in tracks:
        track.join()
    failed = [part for part, *_ in PARTS if run.ended[part] is not True]
    for part in failed:
        show(part)
    print("\nseconds of each part, and of these on a processor:")
    for part, *_ in PARTS:
        print(f"{run.seconds[part]:6.0f} s {run.computed.get(part, 0):6.0f} s  {part}")
    print(f"{time.monotonic() - began:6.0f} s  from beginning to end")
    print("\nthe slowest tests:")
    for seconds, name in slowest():
        print(f"{seconds:6.1f} s  {name}")
    print("\nhow much was gone through:")
    for line in counts():
        print(line)
    for part in failed:
        reasons(part)
    if failed:
        print(f"\nthese failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
