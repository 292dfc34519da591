//! All extension points of one plugin, called natively.

use std::time::Duration;

use kubewasp_sdk::*;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    label: String,
    most: i64,
}

impl Default for Config {
    fn default() -> Self {
        Self { label: "zone".into(), most: 3 }
    }
}

/// Does a bit of everything.
struct Everything {
    config: Config,
    gpu: Resource,
    zones: NodeCache<String>,
    parsed: usize,
}

#[derive(Clone, Default)]
struct Seen {
    pods: Vec<String>,
}

impl Plugin for Everything {
    type State = Seen;

    fn new() -> Result<Self, Error> {
        let config: Config = config()?;
        if config.label.is_empty() {
            return Err(Error::new("config: label must not be empty"));
        }
        Ok(Self { config, gpu: Resource::named("example.com/gpu"), zones: NodeCache::of_objects(), parsed: 0 })
    }
}

impl EnqueueExtensions for Everything {
    fn events_to_register(&mut self) -> Vec<ClusterEvent> {
        vec![ClusterEvent { resource: EventResource::Node, actions: EventAction::ADD | EventAction::UPDATE_NODE_LABEL }]
    }
}

impl QueueingHint for Everything {
    fn queueing_hint(&mut self, _: &Pod, change: &Change) -> Hint {
        let label = |node: Option<Node>| node.and_then(|node| node.labels().get("zone").map(str::to_owned));
        if change.old_pod().is_none() && label(change.old_node()) != label(change.new_node()) {
            Hint::Queue
        } else {
            Hint::Skip
        }
    }
}

impl PreEnqueue for Everything {
    fn pre_enqueue(&mut self, pod: &Pod) -> Verdict {
        match pod.labels().get("hold") {
            Some(why) => Err(Status::unresolvable(format!("held: {why}"))),
            None => Ok(()),
        }
    }
}

impl QueueSort for Everything {
    fn sort_key(&mut self, pod: &Pod, queued_at: Timestamp) -> Key {
        Key::new().int_desc(pod.priority().into()).time(queued_at)
    }
}

impl PreFilter for Everything {
    fn pre_filter(&mut self, cycle: &mut Cycle<Seen>) -> Result<Candidates, Status> {
        assert!(cycle.state.pods.is_empty());
        cycle.state.pods.push(cycle.pod.name().into());
        match cycle.pod.annotations().get("nodes") {
            Some("") => Ok(Candidates::Only(vec![])),
            Some(names) => Ok(Candidates::Only(names.split(',').map(str::to_owned).collect())),
            None => Ok(Candidates::All),
        }
    }
}

impl PreFilterExtensions for Everything {
    fn add_pod(&mut self, cycle: &mut Cycle<Seen>, added: &Pod, node: &Node) -> Verdict {
        cycle.state.pods.push(format!("+{} {}", added.name(), node.name()));
        Ok(())
    }

    fn remove_pod(&mut self, cycle: &mut Cycle<Seen>, removed: &Pod, node: &Node) -> Verdict {
        cycle.state.pods.push(format!("-{} {}", removed.name(), node.name()));
        Ok(())
    }
}

impl Filter for Everything {
    fn filter(&mut self, cycle: &mut Cycle<Seen>, node: &Node) -> Verdict {
        if cycle.state.pods.len() > 1 {
            return Err(Status::failed(cycle.state.pods.join(" ")));
        }
        if node.free(self.gpu) < cycle.pod.requests(self.gpu) {
            return Err(Status::unschedulable("too few GPUs").with_hint("a GPU"));
        }
        if let Some(taint) = node.taints().find(|taint| !cycle.pod.tolerates(taint)) {
            return Err(Status::unresolvable(format!("taint {}", taint.key)));
        }
        Ok(())
    }
}

impl PostFilter for Everything {
    fn post_filter(&mut self, _: &mut Cycle<Seen>, statuses: &NodeStatuses) -> Result<Nomination, Status> {
        let found = statuses.iter().find(|(_, code)| *code == Code::Unschedulable);
        Ok(found.map_or(Nomination::Keep, |(node, _)| Nomination::Node(node.name().into())))
    }
}

impl PreScore for Everything {
    fn pre_score(&mut self, _: &mut Cycle<Seen>, nodes: &Nodes) -> Verdict {
        if nodes.len() == 1 {
            Err(Status::skip())
        } else {
            Ok(())
        }
    }
}

impl Score for Everything {
    fn score(&mut self, cycle: &mut Cycle<Seen>, node: &Node) -> Result<i64, Status> {
        let parsed = &mut self.parsed;
        let zone = self.zones.get(node, |node| {
            *parsed += 1;
            node.labels().get(&self.config.label).unwrap_or_default().into()
        });
        let same = |other: &Node| other.labels().get(&self.config.label) == Some(zone);
        Ok(cycle.cluster.nodes().filter(same).map(|node| node.pod_count()).sum())
    }
}

impl NormalizeScore for Everything {
    fn normalize_score(&mut self, _: &mut Cycle<Seen>, scores: &mut NodeScores) -> Verdict {
        scores.stretch(true);
        Ok(())
    }
}

impl SignPod for Everything {
    fn sign_pod(&mut self, pod: &Pod) -> u64 {
        Hasher::new().text(pod.namespace()).map(pod.labels()).sum()
    }
}

impl Reserve for Everything {
    fn reserve(&mut self, _: &mut Cycle<Seen>, node: &Node) -> Verdict {
        annotate("example.com/zone", node.labels().get("zone").unwrap_or("none"));
        info!("Reserved", node = node.name(), pods = node.pod_count());
        Ok(())
    }

    fn unreserve(&mut self, cycle: &mut Cycle<Seen>, node: &Node) {
        warning!("Undone", pod = cycle.pod.name(), node = node.name());
    }
}

impl Permit for Everything {
    fn permit(&mut self, cycle: &mut Cycle<Seen>, _: &Node) -> Result<Permission, Status> {
        let Some(gang) = cycle.pod.labels().get("gang") else {
            return Ok(Permission::Allow);
        };
        let waiting = waiting_pods();
        let members: Vec<Pod> = waiting.iter().filter(|pod| pod.labels().get("gang") == Some(gang)).collect();
        if members.len() as i64 + 1 < self.config.most {
            return Ok(Permission::Wait(Duration::from_secs(30), "gang is incomplete".into()));
        }
        assert!(members.iter().all(|pod| !pod.node_name().is_empty() && allow_waiting_pod(pod.uid())));
        Ok(Permission::Allow)
    }
}

impl PreBind for Everything {
    fn pre_bind(&mut self, cycle: &mut Cycle<Seen>, _: &Node) -> Verdict {
        if cycle.pod.labels().has("refused") {
            return Err(Error::new("no binding").into());
        }
        Ok(())
    }
}

impl Bind for Everything {
    fn bind(&mut self, _: &mut Cycle<Seen>, _: &Node) -> Verdict {
        Err(Status::skip())
    }
}

impl PostBind for Everything {
    fn post_bind(&mut self, cycle: &mut Cycle<Seen>, node: &Node) {
        Event::new(cycle.pod.reference(), "Placed").note(format!("on {}", node.name())).record();
    }
}

register!(Everything);

fn cluster() -> testing::Cluster {
    testing::Cluster::new([
        testing::Node::new("a").label("zone", "x").allocatable("example.com/gpu", "2"),
        testing::Node::new("b").label("zone", "y"),
        testing::Node::new("c").label("zone", "x").taint("old", "", "NoSchedule"),
    ])
}

fn everything() -> testing::Plugin<Everything> {
    testing::load(cluster(), "").unwrap()
}

fn pod(name: &str) -> testing::Pod {
    testing::Pod::new(name)
}

#[test]
fn the_next_pod_sees_the_annotations_of_a_binding() {
    struct Numbers;
    impl Plugin for Numbers {
        type State = ();
        fn new() -> Result<Self, Error> {
            Ok(Self)
        }
    }
    impl Reserve for Numbers {
        fn reserve(&mut self, cycle: &mut Cycle<()>, node: &Node) -> Verdict {
            let pods = node.pods();
            assert!(pods.iter().any(|pod| pod.uid() == cycle.pod.uid()), "the pod is on its node");
            let taken = pods.iter().filter(|pod| pod.annotations().get("example.com/number").is_some()).count();
            annotate("example.com/number", &taken.to_string());
            Ok(())
        }
    }
    register!(Numbers);

    let plugin = testing::load::<Numbers>(testing::Cluster::new([testing::Node::new("a")]), "").unwrap();
    for number in ["0", "1", "2"] {
        assert_eq!(plugin.schedule(pod(number)).annotations[0].1, number);
    }
}

#[test]
fn a_pod_goes_through_all_hooks() {
    let plugin = everything();
    let outcome = plugin.schedule(pod("web"));
    assert_eq!(outcome.node, "a");
    assert_eq!(outcome.rejected["c"], Status::unresolvable("taint old"));
    assert_eq!(outcome.annotations, [("example.com/zone".into(), "x".into())]);
    assert_eq!(plugin.logs()[0], r#"I "Reserved" node="a" pods="1""#);
    assert!(plugin.events()[0].contains(r#""Reason":"Placed""#) && plugin.events()[0].contains("on a"));
    assert_eq!(plugin.schedule(pod("next")).scores, [("a".into(), 0), ("b".into(), 100)].into());
    assert_eq!(plugin.cluster().pods_on("b"), ["next"]);
}

#[test]
fn numbers_of_extended_resources_decide() {
    let plugin = everything();
    let wants = |name: &str, count: &str| pod(name).request("example.com/gpu", count);
    let outcome = plugin.schedule(wants("one", "2"));
    assert_eq!(outcome.node, "a");
    assert_eq!(outcome.rejected["b"], Status::unschedulable("too few GPUs").with_hint("a GPU"));
    let outcome = plugin.schedule(wants("two", "1"));
    assert_eq!((outcome.node.as_str(), outcome.nominated.as_deref()), ("", Some("a")));
}

#[test]
fn candidates_limit_the_nodes() {
    let plugin = everything();
    assert_eq!(plugin.schedule(pod("web").annotation("nodes", "b,c")).node, "b");
    assert_eq!(plugin.pre_filter(pod("web").annotation("nodes", "")).unwrap_err().reason, "no node is eligible");
}

#[test]
fn trials_work_on_copies_of_the_state() {
    let plugin = everything();
    let mut cycle = plugin.cycle(pod("web"));
    let other = pod("other").on("a");
    let inside = cycle.trial(|cycle| {
        cycle.remove_pod(&other, "a").unwrap();
        cycle.trial(|cycle| {
            cycle.add_pod(&other, "b").unwrap();
            cycle.filter("a").unwrap_err().reason
        })
    });
    assert_eq!(inside, "web -other a +other b");
    assert_eq!(cycle.filter("a"), Ok(()));
}

#[test]
fn a_gang_waits_for_its_members() {
    let plugin = everything();
    let member = |name: &str| pod(name).label("gang", "g");
    assert_eq!(plugin.schedule(member("one")).waiting, Some(Duration::from_secs(30)));
    plugin.schedule(member("two"));
    assert_eq!(plugin.waiting(), ["one", "two"]);
    assert!(plugin.schedule(member("three")).waiting.is_none());
    assert_eq!(plugin.waiting(), [""; 0]);
    assert!(["one", "two", "three"].iter().all(|name| !plugin.outcome(name).node.is_empty()));
}

#[test]
fn a_gang_is_given_up_after_its_time() {
    let plugin = everything();
    plugin.schedule(pod("one").label("gang", "g"));
    plugin.cluster().advance(Duration::from_secs(30));
    assert_eq!(plugin.waiting(), [""; 0]);
    assert!(plugin.outcome("one").status.unwrap().reason.contains("timeout after waiting 30s"));
    assert_eq!(plugin.cluster().pods_on("a"), [""; 0]);
}

#[test]
fn a_failed_binding_is_undone() {
    let plugin = everything();
    let outcome = plugin.schedule(pod("web").label("refused", ""));
    assert_eq!(outcome.status, Some(Status::failed("no binding")));
    assert_eq!(plugin.logs()[1], r#"W "Undone" pod="web" node="a""#);
}

#[test]
fn the_queue_is_sorted_by_keys() {
    let plugin = everything();
    let pods = [pod("low"), pod("high").priority(9), pod("low-2"), pod("negative").priority(-1)];
    assert_eq!(plugin.queue_order(&pods), ["high", "low", "low-2", "negative"]);
}

#[test]
fn hints_and_events() {
    let plugin = everything();
    assert_eq!(plugin.registered_events()[0].actions, EventAction(9));
    let (before, after) = (testing::Node::new("b").label("zone", "y"), testing::Node::new("b").label("zone", "z"));
    let changed = |after| testing::Change::node_changed(&before, after, EventAction::UPDATE_NODE_LABEL);
    assert_eq!(plugin.queueing_hint(&pod("web"), changed(&after)), Hint::Queue);
    assert_eq!(plugin.queueing_hint(&pod("web"), changed(&before)), Hint::Skip);
    assert_eq!(plugin.queueing_hint(&pod("web"), testing::Change::pod_deleted(&pod("x"))), Hint::Skip);
}

#[test]
fn pods_are_gated_before_the_queue() {
    let plugin = everything();
    assert_eq!(plugin.pre_enqueue(&pod("web")), Ok(()));
    assert_eq!(plugin.pre_enqueue(&pod("web").label("hold", "x")), Err(Status::unresolvable("held: x")));
}

#[test]
fn signatures_depend_on_their_parts() {
    let plugin = everything();
    let signature = |pod: testing::Pod| plugin.signature(pod);
    assert_eq!(signature(pod("a")), signature(pod("b")));
    assert_ne!(signature(pod("a")), signature(pod("a").namespace("x")));
    assert_ne!(signature(pod("a")), signature(pod("a").label("k", "v")));
}

#[test]
fn an_invalid_configuration_is_refused() {
    for (config, problem) in [
        (r#"{"label": ""}"#, "config: label must not be empty"),
        (r#"{"lable": "x"}"#, "config: unknown field `lable`"),
        (r#"{"most": "x"}"#, "config: invalid type: string \"x\", expected i64"),
        ("{", "config: EOF while parsing"),
    ] {
        let error = testing::load::<Everything>(cluster(), config).err().unwrap();
        assert!(error.text().starts_with(problem), "{error}");
    }
}

#[test]
fn a_changed_node_is_decoded_again() {
    let plugin = everything();
    let mut cycle = plugin.cycle(pod("web"));
    assert_eq!(cycle.score("a"), Ok(0));
    plugin.cluster().add_pod(pod("other").on("a"));
    assert_eq!(cycle.score("a"), Ok(1));
    plugin.cluster().set_node(testing::Node::new("b").label("zone", "x"));
    assert_eq!(cycle.score("b"), Ok(1));
}

#[test]
#[should_panic(expected = "annotate is allowed in reserve and pre_bind only")]
fn annotations_belong_to_reserve_and_pre_bind() {
    struct Wrong;
    impl Plugin for Wrong {
        type State = ();
        fn new() -> Result<Self, Error> {
            Ok(Self)
        }
    }
    impl Filter for Wrong {
        fn filter(&mut self, _: &mut Cycle<()>, _: &Node) -> Verdict {
            annotate("a", "b");
            Ok(())
        }
    }
    register!(Wrong: Filter);
    testing::load::<Wrong>(cluster(), "").unwrap().schedule(pod("web"));
}
