#!/bin/sh
# `make demo`: a cluster in memory without and with a wasm policy, and one decision explained. No Kubernetes needed.
set -eu
cd "$(dirname "$0")/.."
shop="examples/clusters/shop/nodes.yaml examples/clusters/shop/workloads.yaml"
config=examples/clusters/shop/spot-first.yaml

# Colours on a terminal only, as those of kubewasp.
cyan='' bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-}" != dumb ]; then
    cyan=$(printf '\033[36m') bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi

say() { printf "$cyan# %s$plain\n" "$@"; }
# Prints a command in lines of a terminal's width, and runs it.
show() {
    printf %s "$bold"
    printf '%s ' "$ $*" | fold -s -w 76 | sed -e '1!s/^/    /' -e '$!s/$/\\/' -e '$s/ $//'
    printf '%s\n' "$plain"
    "$@"
}

say "A web shop in memory: 28 nodes (on demand, spot, GPU) and 244 pods." \
    "The policy, a wasm plugin of 0.9 KB, prefers the cheaper spot nodes." \
    "Where do the pods go without it (BASELINE) and with it (RESULT)?"
# shellcheck disable=SC2086
show kubewasp simulate $shop --config $config --baseline
echo
say "Why there? The scores of every plugin for one pod, spot-first among them:"
# shellcheck disable=SC2086
show kubewasp explain default/cache-0 $shop --config $config
