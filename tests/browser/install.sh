#!/usr/bin/env bash
# What `make test-browser` needs beyond .venv: Chromium, Playwright to drive it, axe-core to judge the page.
# Chromium and npm are the system's: installed by apt for root on Debian, asked for by name otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."

missing=()
command -v "${DKMD_BROWSER:-chromium}" > /dev/null || missing+=(chromium)
command -v npm > /dev/null || missing+=(npm)
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
        echo "installing Debian's ${missing[*]} ..."
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
    else
        echo "the browser tests need Chromium and npm (for axe-core): install the packages '${missing[*]}'" >&2
        echo "(Debian: sudo apt-get install ${missing[*]}), or set DKMD_BROWSER to the path of a Chromium or Chrome" >&2
        exit 1
    fi
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[browser]'
mkdir -p build/browser
cp tests/browser/package.json build/browser/
npm install --prefix build/browser --no-package-lock --no-audit --no-fund --loglevel=error
