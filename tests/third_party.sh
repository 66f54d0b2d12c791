#!/usr/bin/env bash
# Checks with independent parsers and engines: composed messages (mailparser, postal-mime), their signatures (mailauth, dkimpy),
# templates (liquidjs), exports of payload contracts (ajv, zod, TypeScript), headers of images (libvips, by sharp), statistics (SciPy) and prepared HTML (Chromium with DOMPurify).
#
#     tests/third_party.sh BUILD_DIR [messages] [templates] [seed]
#
# BUILD_DIR holds the programs compose_driver, dkim_driver, template_driver, smtp_driver, statistics_driver, contract_driver and posthorn-image. Exits 0 only when nothing differed.
set -euo pipefail

. "$(dirname "$0")/node22.sh"

build=${1:?the build folder is missing}
messages=${2:-500}
templates=${TEMPLATE_COUNT:-${3:-3000}}
seed=${TEMPLATE_SEED:-${4:-1}}
here=$posthorn_root/tests/third_party
export THIRD_PARTY_INSTALL=$posthorn_root/build/third_party
npm_tree "$here" "$THIRD_PARTY_INSTALL"

"$NODE" "$here/message_roundtrip.mjs" "$build/compose_driver" "$build/dkim_driver" "$messages" "$seed"
"$NODE" "$here/dkim_verifiers.mjs" "$build/compose_driver" "$build/dkim_driver" 200 "$seed"
"$NODE" "$here/template_liquid.mjs" "$build/template_driver" "$templates" "$seed"
"$NODE" "$here/contract_exports.mjs" "$build/contract_driver" "${CONTRACT_PAYLOADS:-2000}" "$seed"
"$NODE" "$here/smtp_servers.mjs" "$build/smtp_driver"
"$NODE" "$here/image_headers.mjs" "$build/posthorn-image" 200 "$seed"
/usr/bin/python3 -W ignore "$here/statistics_judge.py" "$build/statistics_driver"
npm_tree "$posthorn_root/src/render/sidecar" "$posthorn_root/src/render/sidecar"
"$NODE" "$here/template_carry.mjs" "$build/template_driver"
"$NODE" "$posthorn_root/tests/fuzz/html/main.mjs" "${HTML_DOCUMENTS:-100}" "$seed"
