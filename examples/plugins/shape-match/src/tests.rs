use super::{Shape, ShapeMatch};
use kubewasp_sdk::testing::{load, Change, Cluster, Node, Pod};
use kubewasp_sdk::{Hint, Status};

fn node(name: &str, cpu: &str, memory: &str) -> Node {
    Node::new(name).allocatable("cpu", cpu).allocatable("memory", memory)
}

fn nodes() -> Cluster {
    Cluster::new([node("compute", "16", "32Gi"), node("memory", "16", "128Gi"), node("large", "64", "256Gi")])
}

fn pod(cpu: &str, memory: &str) -> Pod {
    Pod::new("web").request("cpu", cpu).request("memory", memory)
}

#[test]
fn memory_per_cpu_decides() {
    let plugin = load::<ShapeMatch>(nodes(), "").unwrap();

    assert_eq!(plugin.schedule(pod("1", "2Gi")).scores, [("compute".into(), 100), ("memory".into(), 25)].into());
    assert_eq!(plugin.schedule(pod("1", "16Gi")).node, "memory");
}

#[test]
fn large_nodes_are_kept_for_large_pods() {
    let plugin = load::<ShapeMatch>(nodes(), "").unwrap();

    let small = plugin.schedule(pod("3900m", "16Gi"));
    let wanted = Status::unresolvable("node(s) were kept for pods of 4 or more CPUs").with_hint("requests of 4 CPUs");
    assert_eq!(small.rejected, [("large".into(), wanted)].into());

    assert_eq!(plugin.schedule(pod("4", "16Gi")).node, "large");
    assert!(plugin.schedule(Pod::new("dns").namespace("kube-system")).rejected.is_empty());
}

#[test]
fn without_a_size_no_node_is_large() {
    let plugin = load::<ShapeMatch>(nodes(), r#"{"largeNode": 0}"#).unwrap();

    assert!(plugin.schedule(pod("1", "1Gi")).rejected.is_empty());
}

#[test]
fn pods_of_one_shape_have_one_signature() {
    let plugin = load::<ShapeMatch>(nodes(), "").unwrap();
    let signature = |pod: Pod| plugin.signature(pod);

    assert_eq!(signature(pod("1", "2Gi")), signature(pod("1000m", "2048Mi")));
    assert_ne!(signature(pod("1", "2Gi")), signature(pod("1", "3Gi")));
    assert_ne!(signature(pod("1", "2Gi")), signature(pod("1", "2Gi").namespace("kube-system")));
}

#[test]
fn only_a_node_that_is_not_large_wakes_a_pod() {
    let plugin = load::<ShapeMatch>(nodes(), "").unwrap();
    let hint = |cpu| plugin.queueing_hint(&pod("1", "1Gi"), Change::node_added(&node("new", cpu, "1Gi")));

    assert_eq!((hint("31"), hint("32")), (Hint::Queue, Hint::Skip));
}

#[test]
fn extreme_shapes_stay_in_range() {
    for (cpu, memory) in [(0, 0), (0, 1), (1, 0), (i64::MAX, i64::MAX), (1, i64::MAX), (-1, 5)] {
        for shape in [Shape { cpu: 1, memory: i64::MAX }, Shape { cpu: i64::MAX, memory: 1 }, Shape::default()] {
            assert!((0..=100).contains(&shape.fit(cpu, memory)));
        }
    }
}

#[test]
fn a_bad_configuration_is_refused() {
    for config in [r#"{"largeNode": -1}"#, r#"{"largePod": 100001}"#, r#"{"largest": 1}"#] {
        assert!(load::<ShapeMatch>(nodes(), config).is_err(), "{config}");
    }
}
