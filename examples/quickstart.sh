#!/usr/bin/env bash
# Quickstart on a fresh Debian 12 machine: installs the dependencies and builds. Then the official MCP client saves contacts,
# imports a newsletter, sends it, and reads the results. At the end a campaign goes through an SMTP relay to a mail server on
# this machine. A second run builds nothing and takes seconds.
#
# POSTHORN_DATA is the data folder (default: build/quickstart-data, created again by each run).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
bash tests/setup.sh
. tests/node22.sh

cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release >build/cmake.log
cmake --build build/release --target posthorn-bin --target posthorn-sink

npm_tree "$root/examples/quickstart" "$root/build/quickstart"
cp examples/quickstart/*.mjs build/quickstart/

posthorn=$root/build/release/posthorn
data=${POSTHORN_DATA:-$root/build/quickstart-data}
if [ -z "${POSTHORN_DATA:-}" ] && [ -d "$data" ]; then
    "$posthorn" stop --data "$data" >/dev/null
    rm -rf "$data"
fi
"$NODE" build/quickstart/quickstart.mjs "$posthorn" "$data" "$root/examples"

echo "Sending through a relay, from a separate installation:"
data=$root/build/quickstart-relay-data
if [ -d "$data" ]; then
    "$posthorn" stop --data "$data" >/dev/null
    rm -rf "$data"
fi
"$NODE" build/quickstart/relay.mjs "$posthorn" "$root/build/release/posthorn-sink" "$data" "$root/examples"
