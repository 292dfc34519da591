//! Views of pods and nodes.

use kubewasp_sdk::*;
use std::time::Duration;

fn amounts(pod: testing::Pod) -> [i64; 3] {
    let object = pod.encode();
    let pod = Pod::new(Message::new(&object));
    [pod.requests(Resource::CPU), pod.requests(Resource::MEMORY), pod.requests(Resource::PODS)]
}

#[test]
fn requests_follow_the_rules_of_the_scheduler() {
    let container = |cpu: &str| testing::Container::new("c").request("cpu", cpu);
    assert_eq!(amounts(testing::Pod::new("p")), [0, 0, 1]);
    assert_eq!(amounts(testing::Pod::new("p").request("cpu", "1500m").request("memory", "1Gi")), [1500, 1 << 30, 1]);
    let sum = testing::Pod::new("p").container(container("1")).container(container("2"));
    assert_eq!(amounts(sum.clone())[0], 3000);
    assert_eq!(amounts(sum.clone().init_container(container("5")))[0], 5000);
    assert_eq!(amounts(sum.clone().init_container(container("1").sidecar()).init_container(container("4")))[0], 5000);
    let mut whole = sum;
    whole.pod_requests.insert("cpu".into(), "10".into());
    whole.overhead.insert("cpu".into(), "1".into());
    assert_eq!(amounts(whole)[0], 11_000);
}

#[test]
fn a_pod_has_its_fields() {
    let mut given = testing::Pod::new("web").namespace("team").label("app", "web").image("nginx").priority(-3).on("a");
    given.owner = Some(["apps/v1", "ReplicaSet", "web-1", "u1"].map(String::from));
    given.creation_timestamp = Some(Timestamp::from_unix(1_700_000_000));
    given.node_selector.insert("disk".into(), "ssd".into());
    given.tolerations.push(["k", "Exists", "", "NoSchedule"].map(String::from));
    given.scheduling_gates.push("gate".into());
    given.phase = "Pending".into();
    let object = given.encode();
    let pod = Pod::new(Message::new(&object));
    assert_eq!((pod.name(), pod.namespace(), pod.uid(), pod.node_name()), ("web", "team", "team/web", "a"));
    assert_eq!((pod.priority(), pod.phase(), pod.host_network()), (-3, "Pending", false));
    assert_eq!(pod.creation_timestamp(), Some(Timestamp::from_unix(1_700_000_000)));
    assert_eq!(pod.deletion_timestamp(), None);
    assert_eq!(pod.termination_grace_period(), Duration::from_secs(30));
    assert_eq!(pod.owner_references().next().map(|owner| (owner.kind, owner.controller)), Some(("ReplicaSet", true)));
    assert_eq!(pod.containers().next().map(|container| container.image()), Some("nginx"));
    assert_eq!(pod.scheduling_gates().collect::<Vec<_>>(), ["gate"]);
    let taint = |key, effect| Taint { key, value: "v", effect, time_added: None };
    assert!(pod.tolerates(&taint("k", "NoSchedule")));
    assert!(!pod.tolerates(&taint("k", "NoExecute")) && !pod.tolerates(&taint("x", "NoSchedule")));
    assert_eq!(pod.labels().iter().collect::<Vec<_>>(), [("app", "web")]);
}

#[test]
fn a_selector_matches_labels() {
    let node = testing::Node::new("a").label("disk", "ssd").label("zone", "x").encode();
    let labels = Node::new(Message::new(&node)).labels();
    for (wanted, expected) in [("ssd", true), ("hdd", false)] {
        let mut pod = testing::Pod::new("p");
        pod.node_selector.insert("disk".into(), wanted.into());
        let pod = pod.encode();
        assert_eq!(labels.matches(Pod::new(Message::new(&pod)).node_selector()), expected);
    }
}

#[test]
fn a_node_has_its_fields() {
    let mut given = testing::Node::new("a").label("zone", "x").taint("k", "v", "NoSchedule").allocatable("cpu", "4");
    given.unschedulable = true;
    given.conditions.push(["Ready", "True"].map(String::from));
    given.addresses.push(["InternalIP", "10.0.0.1"].map(String::from));
    given.images.push((vec!["nginx".into(), "nginx:1".into()], 42));
    let object = given.encode();
    let node = Node::new(Message::new(&object));
    assert_eq!((node.name(), node.unschedulable(), node.condition("Ready")), ("a", true, "True"));
    assert_eq!(node.addresses().collect::<Vec<_>>(), [("InternalIP", "10.0.0.1")]);
    assert_eq!(node.images().next().map(|image| (image.names().count(), image.size_bytes())), Some((2, 42)));
    assert_eq!(node.allocatable_quantities().get("cpu"), Some(Quantity("4")));
    assert_eq!(node.taints().next().map(|taint| taint.effect), Some("NoSchedule"));
}
