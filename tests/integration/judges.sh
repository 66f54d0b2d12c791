#!/usr/bin/env bash
# Lets independent parsers and engines judge composed messages (mailparser, postal-mime) and templates (liquidjs).
#
#     tests/integration/judges.sh BUILD_DIR [messages] [templates] [seed]
#
# BUILD_DIR holds the programs compose_driver and template_driver. Exits 0 only when nothing differed.
set -euo pipefail

. "$(dirname "$0")/../node22.sh"

build=${1:?the build folder is missing}
messages=${2:-500}
templates=${3:-3000}
seed=${4:-1}
here=$posthorn_root/tests/integration
export INTEGRATION_INSTALL=$posthorn_root/build/integration
npm_tree "$here" "$INTEGRATION_INSTALL"

"$NODE" "$here/message_roundtrip.mjs" "$build/compose_driver" "$messages" "$seed"
"$NODE" "$here/template_liquid.mjs" "$build/template_driver" "$templates" "$seed"
