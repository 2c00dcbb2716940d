#!/usr/bin/env bash
# Every test but those on a control plane: units, documentation, the simulator, power control, what is static.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
cargo test --no-fail-fast --lib --bins --examples || status=1
others=$(cargo metadata --no-deps --format-version 1 | python3 -c "
import json, sys
for package in json.load(sys.stdin)['packages']:
    for target in package['targets']:
        apart = package['name'] == 'harness' or target['name'] in ('stories', 'counting')
        if 'test' in target['kind'] and not apart:
            print('--test', target['name'])
")
# shellcheck disable=SC2086
cargo test --no-fail-fast $others || status=1
cargo test --no-fail-fast --doc || status=1
exit $status
