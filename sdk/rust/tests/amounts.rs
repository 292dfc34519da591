//! Quantities as the scheduler reads them, and numbers of many resources.

use kubewasp_sdk::*;

#[test]
fn quantities_are_those_of_the_scheduler() {
    let table = include_str!("../../../tests/sdk/data/quantities.txt");
    let mut count = 0;
    for line in table.lines() {
        let cells: Vec<&str> = line.split(' ').collect();
        let expected: Vec<i64> = cells[1..].iter().map(|cell| cell.parse().unwrap()).collect();
        let quantity = Quantity(cells[0]);
        assert_eq!([quantity.value(), quantity.milli_value()], expected[..], "{}", cells[0]);
        count += 1;
    }
    assert!(count > 400);
}

/// Resources of all guests have numbers in common: those of one guest may be high.
struct ManyResources(Resource);

impl Plugin for ManyResources {
    type State = ();

    fn new() -> Result<Self, Error> {
        let named = |number| Resource::named(format!("example.com/r{number}"));
        let all: Vec<Resource> = (0..100).map(named).collect();
        Ok(Self(all[99]))
    }
}

impl Filter for ManyResources {
    fn filter(&mut self, cycle: &mut Cycle<()>, node: &Node) -> Verdict {
        let (wanted, free) = (cycle.pod.requests(self.0), node.free(self.0));
        if wanted > free {
            return Err(Status::unschedulable(format!("{wanted} of {free}")));
        }
        Ok(())
    }
}

register!(ManyResources);

#[test]
fn amounts_of_a_resource_with_a_high_number() {
    let nodes =
        [("a", "2"), ("b", "4")].map(|(name, most)| testing::Node::new(name).allocatable("example.com/r99", most));
    let plugin = testing::load::<ManyResources>(testing::Cluster::new(nodes), "").unwrap();

    let outcome = plugin.schedule(testing::Pod::new("web").request("example.com/r99", "3"));

    assert_eq!(outcome.node, "b");
    assert_eq!(outcome.rejected["a"].reason, "3 of 2");
}

#[test]
fn huge_pages_may_be_requested_for_the_whole_pod() {
    let mut given = testing::Pod::new("web").request("hugepages-2Mi", "2Mi");
    given.pod_requests.insert("hugepages-2Mi".into(), "8Mi".into());
    given.pod_requests.insert("example.com/gpu".into(), "8".into());
    let mut cluster = testing::Cluster::new([testing::Node::new("a")]);
    cluster.add_pod(given.on("a"));
    let plugin = testing::load::<PodLevel>(cluster, "").unwrap();

    assert_eq!(plugin.schedule(testing::Pod::new("other")).rejected["a"].reason, "8388608 0");
}

/// Rejects nodes with the requests of their pods.
struct PodLevel([Resource; 2]);

impl Plugin for PodLevel {
    type State = ();

    fn new() -> Result<Self, Error> {
        Ok(Self(["hugepages-2Mi", "example.com/gpu"].map(Resource::named)))
    }
}

impl Filter for PodLevel {
    fn filter(&mut self, _: &mut Cycle<()>, node: &Node) -> Verdict {
        let pods = node.pods();
        let sum = |resource| pods.iter().map(|pod| pod.requests(resource)).sum::<i64>();
        Err(Status::unschedulable(format!("{} {}", sum(self.0[0]), sum(self.0[1]))))
    }
}

register!(PodLevel);
