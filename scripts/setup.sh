#!/bin/sh
# Make the virtual environment and install looptop with the exact versions of constraints.txt.
# A bare Debian python3 has neither pip nor ensurepip: as root they are installed, else the missing package is named.
set -eu
python=$1
venv=$2
command -v "$python" >/dev/null 2>&1 || python=python3
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "looptop needs Python 3.11 or newer; $("$python" --version) was found. Set PYTHON=/path/to/python3.11." >&2
    exit 3
}
if ! "$python" -c 'import ensurepip' >/dev/null 2>&1; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "python$version-venv"
    else
        echo "This Python can't make virtual environments: install the package python$version-venv first." >&2
        exit 3
    fi
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
