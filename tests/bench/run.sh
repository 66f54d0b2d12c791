#!/usr/bin/env bash
# The benches: Posthorn beside its peers, in one run on one machine, as ratios.
#
#   tests/bench/run.sh                     all of them, about a quarter of an hour
#   tests/bench/run.sh stdio start         the named ones (files in tests/bench/benches)
#
# POSTHORN_BIN      the release binary (build/release/posthorn)
# BENCH_ROUNDS      rounds a side, the median counts (5, at least 3)
# BENCH_SECONDS     of one measurement (3)
# BENCH_TIME_LIMIT  seconds after which everything is ended (1800)
# BENCH_LOG         a file for what the servers say; nowhere by default
#
# Exit status 1 means that something did not run; a ratio that falls short is only printed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(cd "$here/../.." && pwd)/build/bench
# Sets NODE, which resend-mcp needs as new as that, and gives npm_tree.
# shellcheck source=../node22.sh
source "$here/../node22.sh"
time_limit=${BENCH_TIME_LIMIT:-1800}

build_drivers() {
  local cflags=(-std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Wconversion -Wshadow)
  local libraries
  mkdir -p "$out"
  cd "$here/drivers"
  cc "${cflags[@]}" -o "$out/http_load" http_load.c http_reply.c measure.c
  cc "${cflags[@]}" -o "$out/http_writes" http_writes.c http_reply.c measure.c
  cc "${cflags[@]}" -o "$out/stdio_load" stdio_load.c measure.c
  read -ra libraries < <(pkg-config --cflags --libs libmicrohttpd libpq)
  cc "${cflags[@]}" -o "$out/bare_server" bare_server.c measure.c "${libraries[@]}"
  cc "${cflags[@]}" -o "$out/sql_time" sql_time.c measure.c "${libraries[@]}"
}

build_drivers
npm_tree "$here/peers" "$out/peers"
cp "$here"/peers/*.mjs "$out/peers/"
# liquidjs, beside the other judges.
export THIRD_PARTY_INSTALL=$here/../../build/third_party
npm_tree "$here/../third_party" "$THIRD_PARTY_INSTALL"
# In the foreground, so that an interrupt reaches node, which ends every process it started.
exec timeout --foreground --kill-after=30 "$time_limit" "$NODE" "$here/main.mjs" "$@"
