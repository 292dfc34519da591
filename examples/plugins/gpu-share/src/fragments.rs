//! Fragments: GPU thousandths of a node that typical pods cannot use.
//!
//! Q. Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023.

use serde::Deserialize;

use crate::gpus::{Gpus, Request, WHOLE};

/// A kind of pods in the workload: the pods that may come, and how often.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypicalPod {
    /// Millicores.
    #[serde(default)]
    pub cpu: i64,
    /// Thousandths of GPUs.
    #[serde(default)]
    pub gpu: i64,
    /// Models of GPUs, of which it needs one; any without it.
    #[serde(default)]
    pub models: Vec<String>,
    /// Number or share of such pods.
    pub share: f64,
}

/// A workload: shapes of pods with shares that sum up to 1.
#[derive(Clone, Debug, Default)]
pub struct Workload(Vec<Shape>);

#[derive(Clone, Debug)]
struct Shape {
    cpu: i64,
    request: Request,
    models: Vec<String>,
    share: f64,
}

impl Workload {
    pub fn of(pods: Vec<TypicalPod>) -> Result<Self, String> {
        let total: f64 = pods.iter().map(|pod| pod.share).sum();
        if pods.iter().any(|pod| !pod.share.is_finite() || pod.share < 0.0) || (!pods.is_empty() && total <= 0.0) {
            return Err("typical: shares must be positive numbers".into());
        }
        let shape = |pod: TypicalPod| {
            let request = Request::of(pod.gpu)
                .ok_or_else(|| format!("typical: gpu must be below {WHOLE} or whole GPUs, not {}", pod.gpu))?;
            Ok(Shape { cpu: pod.cpu, request, models: pod.models, share: pod.share / total })
        };
        pods.into_iter().map(shape).collect::<Result<_, _>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The workload on nodes with GPUs of one model.
    pub fn on(&self, model: &str) -> Possible {
        Possible(self.0.iter().map(|shape| (shape.clone(), shape.accepts(model))).collect())
    }
}

impl Shape {
    fn accepts(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|name| name == model)
    }
}

/// Shapes, each with whether a model of GPUs suits it.
#[derive(Clone, Debug, Default)]
pub struct Possible(Vec<(Shape, bool)>);

impl Possible {
    /// Expected thousandths that a pod of the workload could not use.
    ///
    /// HOT PATH: once for each GPU of each node that may take a pod.
    pub fn fragment(&self, cpu: i64, gpus: &Gpus) -> f64 {
        let idle = gpus.left();
        self.0.iter().map(|(shape, suits)| shape.share * unusable(shape, *suits, cpu, gpus, idle) as f64).sum()
    }
}

fn unusable(shape: &Shape, suits: bool, cpu: i64, gpus: &Gpus, idle: i64) -> i64 {
    if shape.request.count == 0 || !suits || cpu < shape.cpu {
        return idle;
    }
    let (mut fitting, mut rest) = (0, 0);
    for &left in &gpus.0 {
        if left >= shape.request.milli {
            fitting += 1;
        } else {
            rest += left;
        }
    }
    if fitting >= shape.request.count {
        rest
    } else {
        idle
    }
}
