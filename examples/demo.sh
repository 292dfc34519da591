#!/bin/sh
# `make demo`: a cluster in memory, a wasm policy, one decision explained. No Kubernetes needed.
set -eu
cd "$(dirname "$0")/.."
shop="examples/clusters/shop/nodes.yaml examples/clusters/shop/workloads.yaml"
guest=examples/guests/prefer_label.wat

say() { printf '\n\033[36m%s\033[0m\n' "$*"; }
show() {
    printf '\033[1m$ %s\033[0m\n' "$*"
    "$@"
}

say "The cluster: a web shop with 28 nodes (on demand, spot, GPU) in three zones and about 240 pods."
say "The policy: a wasm plugin of 0.9 KB that prefers nodes with a label, here capacity=spot."
show kubewasp plugin inspect "$guest" --config capacity=spot
say "Simulation: the default plugins and this one, and an explanation for a pod that does not fit."
# shellcheck disable=SC2086
show kubewasp simulate $shop --config examples/clusters/shop/spot-first.yaml --explain default/train-17
say "Cost of the plugin, compared with plain Python callbacks:"
show kubewasp plugin bench "$guest" --config capacity=spot --nodes 2000 --pods 50
