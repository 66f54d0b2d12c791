#!/usr/bin/env bash
# Drives the product with the official SDK clients, the Inspector and the recorded handshakes of real hosts, over stdio
# and HTTP. Arguments choose groups (sdk, confirm, inspector, replay, probe). Ends with 'N passed, M failed'; exits 0 only when none
# failed.
set -euo pipefail

. "$(dirname "$0")/node22.sh"
. "$(dirname "$0")/product.sh"

here=$posthorn_root/tests/clients
export CLIENTS_INSTALL=$posthorn_root/build/clients
npm_tree "$here" "$CLIENTS_INSTALL"

product_start
export POSTHORN_DATA=$product_data POSTHORN_URL=$product_url POSTHORN_KEY=$product_key
"$NODE" "$here/run.mjs" "$@"
