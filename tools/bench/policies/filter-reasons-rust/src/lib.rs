//! Rejects closed nodes and nodes with little free CPU, with a reason for each.

use kubewasp_sdk::*;

struct FilterReasons;

impl Plugin for FilterReasons {
    type State = ();

    fn new() -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Filter for FilterReasons {
    fn filter(&mut self, _: &mut Cycle<Self::State>, node: &Node) -> Verdict {
        if node.labels().get("kubewasp.dev/closed") == Some("true") {
            return Err(Status::unresolvable("node is closed to new pods"));
        }
        if 5 * node.requested(Resource::CPU) > 4 * node.allocatable(Resource::CPU) {
            return Err(Status::unschedulable("node has less than 20 % of its CPU left"));
        }
        Ok(())
    }
}

register!(FilterReasons);
