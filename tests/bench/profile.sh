#!/usr/bin/env bash
# Profiles a campaign, in microseconds a message: the processor time of each process, the runner's functions by perf(1), and the
# statements of the database by pg_stat_statements. Prints the tables of docs/performance.md. Needs root and Debian's linux-perf.
#
#   tests/bench/profile.sh                 a campaign that is not signed, then one that is
#
# BENCH_RECIPIENTS   recipients (100,000)
# BENCH_LOG          a file for the output of the programs (none by default)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=../node22.sh
source "$here/../node22.sh"
command -v perf >/dev/null || { echo "profile: perf is missing (Debian's linux-perf)" >&2; exit 1; }

# As the release is built, with names for perf to show.
mkdir -p "$root/build/profile"
cmake -S "$root" -B "$root/build/profile" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-g1 >"$root/build/profile/cmake.log"
cmake --build "$root/build/profile" --target posthorn-bin --target posthorn-sink >"$root/build/profile/build.log"
POSTHORN_BIN=$root/build/profile/posthorn exec "$NODE" "$here/profile.mjs"
