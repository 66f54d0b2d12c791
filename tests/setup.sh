#!/usr/bin/env bash
# Makes a Debian 12 machine ready to build and test Posthorn: packages, Node 22, the HTML renderer, the lists about
# addresses. Quick when there is nothing to do. With the argument `full`, also what tests/full.sh needs.
set -euo pipefail

packages=(
    build-essential cmake ninja-build pkg-config ca-certificates git
    libjansson-dev libcurl4-openssl-dev libmicrohttpd-dev libsodium-dev libssl-dev libpq-dev libidn2-dev libunistring-dev libc-ares-dev libhiredis-dev
    libcmocka-dev postgresql chromium-headless-shell libvips-tools gifsicle dnsmasq-base dovecot-imapd dovecot-lmtpd spamassassin spamd spamc redis-tools python3-dkim python3-nacl python3-scipy
)
if [ "${1:-}" = full ]; then packages+=(clang clang-tidy libclang-rt-14-dev valgrind libreoffice-calc-nogui libsisimai-perl rspamd); fi
# Postfix is a relay of the tests, with a configuration of its own each time. It is not put in the place of another mail server.
if ! [ -e /usr/sbin/sendmail ]; then packages+=(postfix); fi
# Any npm will do; Debian's is installed where there is none. Node 22 itself comes from npm.
if ! command -v npm >/dev/null; then packages+=(nodejs npm); fi

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
    echo "setup: installing ${missing[*]}" >&2
    "${as_root[@]}" apt-get update -qq
    if [[ " ${missing[*]} " = *' postfix '* ]]; then
        echo 'postfix postfix/main_mailer_type select No configuration' | "${as_root[@]}" debconf-set-selections
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
fi

. "$(dirname "$0")/node22.sh"
npm_tree "$posthorn_root/src/render/sidecar" "$posthorn_root/src/render/sidecar"
"$NODE" "$posthorn_root/src/render/sidecar/libraries/bundle.mjs"
npm_tree "$posthorn_root/src/mail/lists" "$posthorn_root/src/mail/lists"
npm_tree "$posthorn_root/tests/openapi" "$posthorn_root/tests/openapi"
