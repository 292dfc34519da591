#!/bin/sh
# What `make demo` shows: a policy compiled to wasm, looked at, asked, and measured. No Kubernetes is needed.
set -eu
cd "$(dirname "$0")/.."
guest=examples/guests/nodenumber.wat

show() {
    printf '\n\033[1m$ %s\033[0m\n' "$*"
    "$@"
}

echo "NodeNumber is a policy in 1.3 KB of wasm: pods like nodes whose number ends in the same digit."
echo "Its source is $guest."
show kubewasp plugin inspect "$guest"
echo
echo "One pod against three nodes; the configuration reserves node number 3:"
show kubewasp plugin call "$guest" prefilter filter score --config 3 \
    --pod examples/manifests/pod.yaml --node examples/manifests/nodes.yaml
echo
echo "The same for 5,000 nodes, beside the same guest answered by plain Python callbacks:"
show kubewasp plugin bench "$guest" --nodes 5000
