#!/usr/bin/env bash
# Runs every test. Those that use the processor come first, one after the other. Those that need a control plane
# wait most of their time, so two of them run at once; what each prints is printed when it has ended.
set -uo pipefail
cd "$(dirname "$0")/.."
PACKAGE=baremetal-remediator

if [ "${1-}" = one ]; then
  name=$2 log=$(mktemp)
  cargo test --quiet --no-fail-fast --package $PACKAGE --test "$name" >"$log" 2>&1
  status=$?
  echo "== tests/$name"
  cat "$log"
  rm -f "$log"
  [ $status = 0 ] || echo "$name" >>"$FAILED"
  exit 0
fi

cargo test --workspace --no-run || exit
FAILED=$(mktemp)
export FAILED
trap 'rm -f "$FAILED"' EXIT
for which in "--workspace --exclude $PACKAGE" "--package $PACKAGE --lib --bins --examples" "--package $PACKAGE --doc"; do
  # shellcheck disable=SC2086
  cargo test --no-fail-fast $which || echo "cargo test $which" >>"$FAILED"
done
cargo metadata --no-deps --format-version 1 | python3 -c "
import json, sys
targets = [package['targets'] for package in json.load(sys.stdin)['packages'] if package['name'] == '$PACKAGE']
print(*(target['name'] for target in targets[0] if 'test' in target['kind']), sep='\n')
" | xargs -P 2 -I '{}' tests/run.sh one '{}' || exit
if [ -s "$FAILED" ]; then
  echo "these failed:" >&2
  sort "$FAILED" >&2
  exit 1
fi
