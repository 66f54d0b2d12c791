#!/usr/bin/env bash
# Runs the cases through every transport on a data folder of their own, which is gone afterwards. Arguments choose cases by a part
# of their file name.
#
# Servers, MCP over stdio and the embedded driver are those of the checked build. The command line and the operator are started
# thousands of times, so they are those of the release build when CASES_COMMAND_BIN names it.
set -euo pipefail

. "$(dirname "$0")/node22.sh"

npm_tree "$posthorn_root/tests/cases/runner" "$posthorn_root/tests/cases/runner"
build=$posthorn_root/build/debug
folder=$(mktemp -d "${TMPDIR:-/tmp}/posthorn-cases-XXXXXX")
chmod 755 "$folder" # PostgreSQL does not run as root
clean() {
    if [ -d "$folder/data" ]; then "$build/posthorn" stop --data "$folder/data" >/dev/null || true; fi
    rm -rf "$folder"
}
trap clean EXIT

if [ $# -eq 0 ]; then POSTHORN_BIN=$build/posthorn "$NODE" --test "$posthorn_root/tests/cases/runner/*.test.mjs"; fi
"$NODE" "$posthorn_root/tests/cases/runner/run.mjs" "$build/posthorn" "$build/embedded_driver" "$folder/data" "$@"
