//! The scheduling cycle of one pod, with single hook calls in the order of the test.

use core::time::Duration;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;

use super::fake::{with_fake, Fake, World};
use super::objects::Pod;
use super::plugin::Registered;
use crate::guest::{Guest, HookTable};
use crate::{Candidates, Code, Error, Nomination, Permission, Status, Verdict, MAX_SCORE};

const HOOKS: [&str; 22] = [
    "enqueue",
    "prefilter",
    "addpod",
    "removepod",
    "filter",
    "postfilter",
    "prescore",
    "score",
    "normalizescore",
    "reserve",
    "unreserve",
    "permit",
    "prebind",
    "bind",
    "postbind",
    "preenqueue",
    "queuesort",
    "queueinghint",
    "clonestate",
    "selectstate",
    "dropstate",
    "signpod",
];

/// One guest with its fake scheduler.
pub(crate) struct Instance<P: Registered> {
    guest: Guest<P>,
    hooks: HookTable<P>,
    pub(crate) fake: Rc<RefCell<Fake>>,
}

impl<P: Registered> Instance<P> {
    pub(crate) fn load(world: Rc<RefCell<World>>) -> Result<Self, Error> {
        let fake = Rc::new(RefCell::new(Fake::new(world)));
        let mut guest = Guest::new();
        with_fake(&fake, || guest.load())?;
        Ok(Self { guest, hooks: P::hooks(), fake })
    }

    pub(crate) fn has(&self, hook: &str) -> bool {
        HOOKS.iter().position(|name| *name == hook).is_some_and(|bit| self.hooks.implemented & 1 << bit != 0)
    }

    pub(crate) fn call<T>(&mut self, name: &'static str, hook: impl Fn(&HookTable<P>) -> fn(&mut Guest<P>) -> T) -> T {
        {
            let mut fake = self.fake.borrow_mut();
            fake.hook = name;
            fake.reason.clear();
            fake.hint.clear();
        }
        let (run, guest) = (hook(&self.hooks), &mut self.guest);
        let result = with_fake(&self.fake, || run(guest));
        self.fake.borrow_mut().hook = "";
        result
    }

    pub(crate) fn verdict(
        &mut self,
        name: &'static str,
        hook: impl Fn(&HookTable<P>) -> fn(&mut Guest<P>) -> i32,
    ) -> Verdict {
        let code = self.call(name, hook);
        self.status(code)
    }

    fn status(&self, code: i32) -> Verdict {
        if code == 0 {
            return Ok(());
        }
        let fake = self.fake.borrow();
        Err(Status {
            code: Code::from_number(code),
            reason: fake.reason.clone().into(),
            hint: fake.hint.clone().into(),
        })
    }
}

/// The scheduling cycle of one pod.
pub struct Cycle<P: Registered> {
    instance: Option<Instance<P>>,
    idle: Rc<RefCell<Vec<Instance<P>>>>,
    pub(crate) pod: Pod,
    trials: i32,
}

impl<P: Registered> Drop for Cycle<P> {
    fn drop(&mut self) {
        self.idle.borrow_mut().extend(self.instance.take());
    }
}

impl<P: Registered> Cycle<P> {
    pub(crate) fn new(instance: Instance<P>, idle: Rc<RefCell<Vec<Instance<P>>>>) -> Self {
        Self { instance: Some(instance), idle, pod: Pod::default(), trials: 0 }
    }

    pub(crate) fn instance(&mut self) -> &mut Instance<P> {
        self.instance.as_mut().unwrap_or_else(|| unreachable!())
    }

    pub(crate) fn has(&self, hook: &str) -> bool {
        self.instance.as_ref().is_some_and(|instance| instance.has(hook))
    }

    pub(crate) fn need(&self, hook: &str) {
        assert!(self.has(hook), "the plugin does not implement the hook {hook}");
    }

    pub(crate) fn begin(&mut self, pod: Pod) -> Result<Candidates, Status> {
        self.instance().fake.borrow_mut().begin(&pod);
        self.pod = pod;
        if !self.has("prefilter") {
            return Ok(Candidates::All);
        }
        self.instance().verdict("prefilter", |hooks| hooks.prefilter)?;
        let nodes = self.instance().fake.borrow_mut().nodes.take();
        Ok(nodes.map_or(Candidates::All, Candidates::Only))
    }

    /// Sets the current node.
    fn on(&mut self, node: &str) {
        let mut fake = self.instance().fake.borrow_mut();
        let row = fake.world.borrow().cluster.row(node);
        fake.row = row.unwrap_or_else(|| panic!("there is no node {node:?}")) as i32;
    }

    /// Calls Filter for a node.
    pub fn filter(&mut self, node: &str) -> Verdict {
        self.need("filter");
        self.on(node);
        self.instance().verdict("filter", |hooks| hooks.filter)
    }

    /// Calls PreScore with the feasible nodes: these, or all if none are given.
    pub fn pre_score(&mut self, feasible: &[&str]) -> Verdict {
        {
            let mut fake = self.instance().fake.borrow_mut();
            let rows: Vec<i32> = {
                let cluster = &fake.world.borrow().cluster;
                let all = cluster.node_names();
                let names: Vec<&str> =
                    if feasible.is_empty() { all.iter().map(|n| &**n).collect() } else { feasible.into() };
                let row = |name: &str| cluster.row(name).unwrap_or_else(|| panic!("there is no node {name:?}")) as i32;
                names.into_iter().map(row).collect()
            };
            (fake.feasible, fake.row) = (rows, -1);
        }
        if !self.has("prescore") {
            return Ok(());
        }
        self.instance().verdict("prescore", |hooks| hooks.prescore)
    }

    /// The score of a node before normalization.
    pub fn score(&mut self, node: &str) -> Result<i64, Status> {
        self.need("score");
        self.on(node);
        let answer = self.instance().call("score", |hooks| hooks.score);
        self.instance().status(answer as i32)?;
        Ok(answer >> 32)
    }

    /// The final scores of these nodes, or of all: PreScore, Score and NormalizeScore. Empty if the plugin does not score.
    pub fn scores(&mut self, nodes: &[&str]) -> Result<BTreeMap<String, i64>, Status> {
        match self.pre_score(nodes) {
            Err(status) if status == Status::skip() => return Ok(BTreeMap::new()),
            Err(status) => return Err(status),
            Ok(()) if !self.has("score") => return Ok(BTreeMap::new()),
            Ok(()) => {}
        }
        let names: Vec<String> = {
            let fake = self.instance().fake.borrow();
            let world = fake.world.borrow();
            fake.feasible.iter().filter_map(|&row| Some(world.cluster.at(row)?.node.name.clone())).collect()
        };
        let mut values = Vec::new();
        for name in &names {
            values.push(self.score(name)?);
        }
        if self.has("normalizescore") {
            {
                let mut fake = self.instance().fake.borrow_mut();
                (fake.row, fake.scores, fake.sent) = (-1, values.clone(), None);
            }
            self.instance().verdict("normalizescore", |hooks| hooks.normalizescore)?;
            values = self.instance().fake.borrow_mut().sent.take().unwrap_or(values);
        }
        let declared = self.instance().fake.borrow().normalization;
        if let Some(declared) = declared {
            declared.apply(&mut values);
        }
        for (name, value) in names.iter().zip(&values) {
            assert!((0..=MAX_SCORE).contains(value), "the score of {name} is {value}, not from 0 to 100");
        }
        Ok(names.into_iter().zip(values).collect())
    }

    /// Calls PostFilter with the codes of the rejected nodes.
    pub fn post_filter(&mut self, codes: &[(&str, Code)]) -> Result<Nomination, Status> {
        self.need("postfilter");
        {
            let mut fake = self.instance().fake.borrow_mut();
            let mut pairs = Vec::new();
            for (name, code) in codes {
                let row = fake.world.borrow().cluster.row(name);
                pairs.extend([row.unwrap_or_else(|| panic!("there is no node {name:?}")) as i32, *code as i32]);
            }
            (fake.statuses, fake.row) = (pairs, -1);
            fake.nominated.clear();
        }
        let answer = self.instance().call("postfilter", |hooks| hooks.postfilter);
        self.instance().status(answer as i32)?;
        let name = self.instance().fake.borrow().nominated.clone();
        Ok(match (answer >> 32, name.is_empty()) {
            (1, true) => Nomination::Clear,
            (1, false) => Nomination::Node(name),
            _ => Nomination::Keep,
        })
    }

    /// Calls `add_pod` for a pod that is added to a node in a trial.
    pub fn add_pod(&mut self, added: &Pod, node: &str) -> Verdict {
        self.need("addpod");
        self.on(node);
        self.instance().fake.borrow_mut().target = added.encode();
        self.instance().verdict("addpod", |hooks| hooks.addpod)
    }

    /// Calls `remove_pod` for a pod that is removed from a node in a trial.
    pub fn remove_pod(&mut self, removed: &Pod, node: &str) -> Verdict {
        self.need("removepod");
        self.on(node);
        self.instance().fake.borrow_mut().target = removed.encode();
        self.instance().verdict("removepod", |hooks| hooks.removepod)
    }

    /// Runs a function with a copy of the cycle state, as in preemption, and restores the state.
    pub fn trial<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        self.need("clonestate");
        self.trials += 1;
        let number = self.trials;
        let before = self.instance().fake.borrow().state;
        let state = |cycle: &mut Self, number: i32| cycle.instance().fake.borrow_mut().state = number;
        state(self, number);
        self.instance().call("clonestate", |hooks| hooks.clonestate);
        self.instance().call("selectstate", |hooks| hooks.selectstate);
        let result = run(self);
        state(self, before);
        self.instance().call("selectstate", |hooks| hooks.selectstate);
        state(self, number);
        self.instance().call("dropstate", |hooks| hooks.dropstate);
        state(self, before);
        result
    }

    /// Calls a hook on a node. A missing one succeeds.
    fn on_node(
        &mut self,
        name: &'static str,
        node: &str,
        hook: impl Fn(&HookTable<P>) -> fn(&mut Guest<P>) -> i32,
    ) -> Verdict {
        if !self.has(name) {
            return Ok(());
        }
        self.on(node);
        self.instance().verdict(name, hook)
    }

    /// Calls Reserve.
    pub fn reserve(&mut self, node: &str) -> Verdict {
        self.on_node("reserve", node, |hooks| hooks.reserve)
    }

    /// Calls Unreserve.
    pub fn unreserve(&mut self, node: &str) {
        if self.has("unreserve") {
            self.on(node);
            self.instance().call("unreserve", |hooks| hooks.unreserve);
        }
    }

    /// Calls Permit.
    pub fn permit(&mut self, node: &str) -> Result<Permission, Status> {
        if !self.has("permit") {
            return Ok(Permission::Allow);
        }
        self.on(node);
        let answer = self.instance().call("permit", |hooks| hooks.permit);
        match self.instance().status((answer >> 32) as i32) {
            Ok(()) => Ok(Permission::Allow),
            Err(status) if status.code == Code::Wait => {
                Ok(Permission::Wait(Duration::from_millis(u64::from(answer as u32)), status.reason))
            }
            Err(status) => Err(status),
        }
    }

    /// Calls PreBind.
    pub fn pre_bind(&mut self, node: &str) -> Verdict {
        self.on_node("prebind", node, |hooks| hooks.prebind)
    }

    /// Calls Bind.
    pub fn bind(&mut self, node: &str) -> Verdict {
        self.on_node("bind", node, |hooks| hooks.bind)
    }

    /// Calls PostBind.
    pub fn post_bind(&mut self, node: &str) {
        if self.has("postbind") {
            self.on(node);
            self.instance().call("postbind", |hooks| hooks.postbind);
        }
    }

    /// Annotations of the binding so far.
    pub fn annotations(&mut self) -> Vec<(String, String)> {
        self.instance().fake.borrow().annotations.clone()
    }
}
