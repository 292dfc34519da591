#!/bin/sh
# What `make demo` shows: a cluster in memory, a policy in wasm, and why a pod went where it did. No Kubernetes is needed.
set -eu
cd "$(dirname "$0")/.."
shop="examples/clusters/shop/nodes.yaml examples/clusters/shop/workloads.yaml"
guest=examples/guests/prefer_label.wat

say() { printf '\n\033[36m%s\033[0m\n' "$*"; }
show() {
    printf '\033[1m$ %s\033[0m\n' "$*"
    "$@"
}

say "A web shop: 28 nodes in three zones (on demand, spot, GPU) and some 240 pods."
say "The policy is a wasm plugin of 0.9 KB: prefer nodes that carry a label. It is configured with capacity=spot."
show kubewasp plugin inspect "$guest" --config capacity=spot
say "Schedule everything, as kube-scheduler does, with that plugin on top; and explain one pod that found no place."
# shellcheck disable=SC2086
show kubewasp simulate $shop --config examples/clusters/shop/spot-first.yaml --explain default/train-17
say "What does the plugin cost? The same guest, beside plain Python callbacks:"
show kubewasp plugin bench "$guest" --config capacity=spot --nodes 2000 --pods 50
