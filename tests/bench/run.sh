#!/usr/bin/env bash
# Compares Posthorn with its peers in one run on one machine. Each figure is printed as soon as it is known.
#
#   tests/bench/run.sh                     all benches, about half an hour
#   tests/bench/run.sh stdio start         the named benches (files in tests/bench/benches)
#   BENCH_QUICK=1 tests/bench/run.sh       every bench in its shortest form, which shows that it still works
#
# POSTHORN_BIN      the release binary (build/release/posthorn)
# BENCH_ROUNDS      measurements of each side, of which the median is printed (5, at least 3)
# BENCH_SECONDS     duration of one measurement (3)
# BENCH_QUICK       1: one short measurement of each side, with few rows; the figures are not measurements
# BENCH_TIME_LIMIT  seconds after which the run is ended (1800)
# BENCH_LOG         a file for the output of the servers (none by default)
#
# The header of a bench names the variables that only this bench reads. Exit status 1 means that a bench did not run. A missed
# target does not change the exit status.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(cd "$here/../.." && pwd)/build/bench
# Sets NODE to Node 22, which resend-mcp needs, and defines npm_tree.
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
# liquidjs is one of the packages of tests/third_party.
export THIRD_PARTY_INSTALL=$here/../../build/third_party
npm_tree "$here/../third_party" "$THIRD_PARTY_INSTALL"
# html-validate is one of the packages of tests/gallery.
npm_tree "$here/../gallery" "$here/../gallery"
# The foreground option lets an interrupt reach node, which then ends every process it started.
exec timeout --foreground --kill-after=30 "$time_limit" "$NODE" "$here/main.mjs" "$@"
