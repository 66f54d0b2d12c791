#!/usr/bin/env bash
# Checks our MCP dispatcher with the official conformance suites (0.1.16 and 0.2.0-alpha.12): the test-only fixture catalogue
# with every scored scenario, the product with those that need no fixture. Exits 0 only when all pass.
#
# CONFORMANCE_FIXTURE_URL names a server that already runs; POSTHORN_FIXTURE_BIN and POSTHORN_BIN name other binaries.
set -euo pipefail

. "$(dirname "$0")/node22.sh"
. "$(dirname "$0")/product.sh"

here=$posthorn_root/tests/conformance
export CONFORMANCE_INSTALL=$posthorn_root/build/conformance
npm_tree "$here" "$CONFORMANCE_INSTALL"

test_dir_make
fixture_url=${CONFORMANCE_FIXTURE_URL:-}
if [ -z "$fixture_url" ]; then
    fixture_bin=${POSTHORN_FIXTURE_BIN:-$posthorn_root/build/release/posthorn-fixture}
    require_binary "$fixture_bin"
    background_start 's/^posthorn-fixture: port \([0-9]*\)$/\1/p' "$test_dir/fixture.log" "$fixture_bin" --listen 127.0.0.1:0
    fixture_url=http://127.0.0.1:$background_port/mcp
fi

status=0
"$NODE" "$here/main.mjs" fixture "$fixture_url" || status=1

product_start
"$NODE" "$here/main.mjs" product "$product_url" "$product_key" || status=1

exit "$status"
