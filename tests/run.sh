#!/usr/bin/env bash
# Runs every test. Those that use the processor come first, one after the other. Those that need a control plane
# wait most of their time, so two of them run at once; what each prints is printed when it has ended.
set -uo pipefail
cd "$(dirname "$0")/.."

if [ "${1-}" = one ]; then
  name=$2 log=$(mktemp)
  cargo test --quiet --no-fail-fast --test "$name" >"$log" 2>&1
  status=$?
  echo "== tests/$name"
  cat "$log"
  rm -f "$log"
  [ $status = 0 ] || echo "$name" >>"$FAILED"
  exit 0
fi

tests_of() { # "the daemon" or "the others"
  cargo metadata --no-deps --format-version 1 | python3 -c "
import json, sys
for package in json.load(sys.stdin)['packages']:
    if (package['name'] == 'baremetal-remediator') == (sys.argv[1] == 'the daemon'):
        print(*(target['name'] for target in package['targets'] if 'test' in target['kind']), sep='\n')
" "$1"
}

cargo test --no-run || exit
FAILED=$(mktemp)
export FAILED
trap 'rm -f "$FAILED"' EXIT
for which in "--lib --bins --examples" "$(tests_of 'the others' | sed 's/^/--test /' | xargs)" --doc; do
  # shellcheck disable=SC2086
  cargo test --no-fail-fast $which || echo "cargo test $which" >>"$FAILED"
done
# Those that count requests count what is repeated on a busy machine, too: they run alone.
counting='^(cost|nodeless_cost)$'
tests_of 'the daemon' | grep -E "$counting" | xargs -I '{}' tests/run.sh one '{}' || exit
tests_of 'the daemon' | grep -vE "$counting" | xargs -P 2 -I '{}' tests/run.sh one '{}' || exit
if [ -s "$FAILED" ]; then
  echo "these failed:" >&2
  sort "$FAILED" >&2
  exit 1
fi
