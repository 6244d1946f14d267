# Sourced by ./check and ./demo from the root of the checkout: finds a Python and makes the environment in .venv.
# shellcheck shell=sh

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "Python 3.11 or newer is needed; install it, or name it: PYTHON=/path/to/python $0" >&2
    return 1
}

# make_venv DIR: an empty environment in DIR unless one with a working Python is there.
make_venv() {
    python=$(find_python)
    if ! "$1/bin/python" -c '' 2>/dev/null; then
        echo "making $1 with $("$python" --version)"
        rm -rf "$1"
        if command -v uv >/dev/null; then
            uv venv --quiet --python "$(command -v "$python")" "$1"
        else
            "$python" -m venv "$1"
            "$1/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
        fi
    fi
}

# install_into DIR ARGUMENTS...: install with uv when it is there, else with pip.
install_into() {
    venv=$1
    shift
    if command -v uv >/dev/null; then
        uv pip install --quiet --python "$venv/bin/python" "$@"
    else
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    fi
}
