#!/usr/bin/env bash
# The whole scenario with official MCP clients: a file of contacts, audiences, three newsletters, previews, a test. Ends with
# 'N passed, M failed'.
#
# POSTHORN_BIN     the binary (build/release/posthorn)
# SCENARIO_CONTACTS   rows of the file (20,000; a multiple of 5,000, from 10,000)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../node22.sh
source "$here/../node22.sh"
export CLIENTS_INSTALL=$posthorn_root/build/clients
npm_tree "$here/../clients" "$CLIENTS_INSTALL"
"$NODE" "$here/scenario.mjs"
