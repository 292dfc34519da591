//! A guest of 400 bytes: `no_std`, no allocation, numbers of nodes only.
//!
//! ```sh
//! cargo build --release --example tiny --no-default-features --features tiny --target wasm32-unknown-unknown
//! ```
#![cfg_attr(target_arch = "wasm32", no_std)]

use kubewasp_sdk::*;

/// Rejects nodes with ten pods.
struct FewPods;

impl Plugin for FewPods {
    type State = ();

    fn new() -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Filter for FewPods {
    fn filter(&mut self, _: &mut Cycle<()>, node: &Node) -> Verdict {
        if node.pod_count() >= 10 {
            return Err(Status::unschedulable("ten pods"));
        }
        Ok(())
    }
}

register!(FewPods: Filter);
