#!/usr/bin/env bash
# What `make test-browser` needs beyond .venv: Chromium, Playwright to drive it, axe-core to judge the page.
# Chromium is the system's: installed by apt for root on Debian, asked for by name otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v "${DKMD_BROWSER:-chromium}" > /dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
        echo "installing Debian's chromium ..."
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null
    else
        echo "the browser tests need Chromium: install the package 'chromium' (Debian: sudo apt-get install chromium)," >&2
        echo "or set DKMD_BROWSER to the path of a Chromium or Chrome" >&2
        exit 1
    fi
fi
if ! command -v npm > /dev/null; then
    echo "the browser tests need npm for axe-core: install the packages 'nodejs' and 'npm'" >&2
    exit 1
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[browser]'
mkdir -p build/browser
cp tests/browser/package.json build/browser/
npm install --prefix build/browser --no-package-lock --no-audit --no-fund --loglevel=error
