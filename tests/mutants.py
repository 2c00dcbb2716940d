#!/usr/bin/env python3
"""Applies mutants of the protocol one after the other, and demands that the tests of the core notice each.

They are listed in tests/mutants.toml. The tests run in a copy of what Git knows, below target/. First those that take
no time; where none fails, the explorations. Exit status 1: a mutant survived, does not compile, or does not fit.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "mutants"
COPY = TARGET / "copy"
CORE = pathlib.Path("crates/core/src")
SLOW = ["exploration", "contention", "leaders"]
# A mutant is compiled more often than it is explored.
QUICK = "profile.dev.package.remediator-core.opt-level=1"
TEST = ["cargo", "test", "--config", QUICK, "--package", "remediator-core", "--lib"]
FAILED = re.compile(r"test (\S+).* \.\.\. FAILED")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", default="1/1", help="I/N: the I-th of every N mutants")
    parser.add_argument("--only", default="", help="mutants whose description has this text")
    return parser.parse_args()


def chosen(mutants, options):
    number, of = (int(part) for part in options.share.split("/"))
    if not 1 <= number <= of:
        sys.exit(f"--share {options.share}: expected I/N with I from 1 to N")
    return [one for one in mutants[number - 1 :: of] if options.only in one["what"]]


def copy_tree():
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)


def begin(*command):
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET / "target"), "CARGO_INCREMENTAL": "1"}
    # Mutants are not linted (tests/run.py).
    environment.pop("RUSTC_WORKSPACE_WRAPPER", None)
    return subprocess.Popen(command, cwd=COPY, env=environment, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, start_new_session=True)


def first_failure(tests):
    """What fails first of these tests, if anything does. One is enough: the others are not waited for."""
    with begin(*TEST, "--", *tests) as tested:
        for line in tested.stdout:
            if failed := FAILED.match(line):
                os.killpg(tested.pid, signal.SIGKILL)
                return failed[1]
    return None if tested.returncode == 0 else "the tests, which did not end"


def judge():
    """What became of the mutant that stands in the copy: whether it was noticed, and by what."""
    built = begin(*TEST, "--no-run")
    said, _ = built.communicate()
    if built.returncode != 0:
        return False, "does not compile:\n" + said
    skips = [part for name in SLOW for part in ("--skip", name)]
    for tests in (skips, SLOW):
        if failed := first_failure(tests):
            return True, failed
    return False, "survived"


def main():
    options = arguments()
    mutants = tomllib.loads((ROOT / "tests/mutants.toml").read_text())["mutant"]
    # A list that does not fit the code any more is told at once, and of all.
    unfit = [one["what"] for one in mutants if (ROOT / CORE / one["file"]).read_text().count(one["find"]) != 1]
    if unfit:
        sys.exit("`find` does not occur exactly once in its file: " + "; ".join(unfit))
    copy_tree()
    mutants = chosen(mutants, options)
    unnoticed = []
    for number, one in enumerate(mutants, 1):
        file = COPY / CORE / one["file"]
        original, began = file.read_text(), time.monotonic()
        file.write_text(original.replace(one["find"], one["replace"]))
        noticed, how = judge()
        file.write_text(original)
        took = time.monotonic() - began
        print(f"[{number}/{len(mutants)}, {took:.0f} s] {one['what']}: {how}", flush=True)
        if not noticed:
            unnoticed.append(one["what"])
    print(f"{len(mutants) - len(unnoticed)} of {len(mutants)} mutants noticed")
    if unnoticed:
        sys.exit("not noticed: " + "; ".join(unnoticed))


if __name__ == "__main__":
    main()
