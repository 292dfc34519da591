//! Reads a label and the requested CPU of every node.

use kubewasp_sdk::*;

struct LabelCpu;

impl Plugin for LabelCpu {
    type State = ();

    fn new() -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Score for LabelCpu {
    fn score(&mut self, _: &mut Cycle<Self::State>, node: &Node) -> Result<i64, Status> {
        let score = node.requested(Resource::CPU) % 49;
        let is_favoured = node.labels().get("topology.kubernetes.io/zone") == Some("eu-west-1a");
        Ok(if is_favoured { score + 50 } else { score })
    }
}

register!(LabelCpu);
