#!/usr/bin/env bash
# The main job on a fresh Debian 12 machine, from nothing: installs what is needed, builds, and lets a real MCP client save
# contacts, import a newsletter, send it, and read what happened; then sends a campaign through a relay, over SMTP to a mail
# server on this machine. A second run builds nothing and takes seconds.
#
# POSTHORN_DATA names the data folder (default: build/quickstart-data, made anew by each run).
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

echo "Through a relay, from an installation of its own:"
data=$root/build/quickstart-relay-data
if [ -d "$data" ]; then
    "$posthorn" stop --data "$data" >/dev/null
    rm -rf "$data"
fi
"$NODE" build/quickstart/relay.mjs "$posthorn" "$root/build/release/posthorn-sink" "$data" "$root/examples"
