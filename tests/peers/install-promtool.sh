#!/usr/bin/env bash
# Builds promtool, which checks and tests the alerts of deploy/components/monitoring, from the Go module proxy into
# target/tools/promtool/<version>/, unless it is there already. Prints its path.
set -euo pipefail

# Prometheus 3.16, by the number that its module has.
version=v0.316.0

root=$(cd "$(dirname "$0")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
out=$target/tools/promtool/$version

if [ ! -x "$out/promtool" ]; then
  command -v go >/dev/null || { echo "promtool: go (1.26 or newer) is needed to build it" >&2; exit 1; }
  echo "promtool: building $version (minutes the first time) ..." >&2
  mkdir -p "$out"
  # Without the discovery of services, which checks of rules do not need: the clients of all clouds take most of the time.
  CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOBIN=$out \
    go install -trimpath -tags remove_all_sd -ldflags '-s -w' "github.com/prometheus/prometheus/cmd/promtool@$version"
fi
echo "$out/promtool"
