//! A loaded plugin with its view of the cluster, and the bodies of the exported hooks: read the input, call the plugin, write
//! the result. HOT PATH: functions called once per node must not allocate.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::time::Duration;

use crate::change::Change;
use crate::hooks::*;
use crate::host;
use crate::mark::Mark;
use crate::node::Node;
use crate::node_table::Table;
use crate::nodes::{Cluster, NodeScores, NodeStatuses, Nodes};
use crate::pod::{CurrentPod, Pod};
use crate::status::{Error, Status, Verdict};
use crate::time::Timestamp;
use crate::wire::Message;

/// A plugin of a guest. Before it is loaded all bytes are zero, so that it takes no space in a module.
#[doc(hidden)]
pub struct Guest<P: Plugin> {
    loaded: Option<Loaded<P>>,
    cycle: i64,
    pod: CurrentPod,
    table: Table,
}

struct Loaded<P: Plugin> {
    plugin: P,
    states: States<P::State>,
}

/// Cycle states of a pod: the first one, number 0, and copies of preemption trials.
struct States<S> {
    current: i32,
    first: S,
    #[allow(clippy::box_collection)] // none is zero, see Guest
    copies: Option<Box<Vec<(i32, S)>>>,
}

/// Set with the first copy of a state.
static COPIED: Mark = Mark::new();

impl<S: Clone + Default> States<S> {
    #[inline]
    fn current(&mut self) -> &mut S {
        if COPIED.is_set() && self.current != 0 {
            let copies = self.copies.iter_mut().flat_map(|copies| copies.iter_mut());
            if let Some((_, state)) = copies.into_iter().find(|(number, _)| *number == self.current) {
                return state;
            }
        }
        &mut self.first
    }

    fn reset(&mut self) {
        self.current = 0;
        self.first = S::default();
        if COPIED.is_set() {
            self.copies = None;
        }
    }

    fn clone_to(&mut self, number: i32) {
        let copy = self.current().clone();
        self.drop_state(number);
        self.copies.get_or_insert_default().push((number, copy));
        COPIED.set();
    }

    fn select(&mut self, number: i32) {
        if number == 0 || self.copies.iter().flat_map(|copies| copies.iter()).any(|(known, _)| *known == number) {
            self.current = number;
        }
    }

    fn drop_state(&mut self, number: i32) {
        if let Some(copies) = &mut self.copies {
            copies.retain(|(known, _)| *known != number);
        }
    }
}

impl<P: Plugin> Guest<P> {
    /// A guest without its plugin.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self { loaded: None, cycle: 0, pod: CurrentPod::new(), table: Table::new() }
    }

    /// Creates the plugin.
    #[inline(always)]
    pub fn load(&mut self) -> Result<(), Error> {
        let states = States { current: 0, first: P::State::default(), copies: None };
        let before = self.loaded.replace(Loaded { plugin: P::new()?, states });
        core::mem::forget(before); // none: nothing to drop
        Ok(())
    }

    #[inline]
    fn loaded(&mut self) -> &mut Loaded<P> {
        present(&mut self.loaded)
    }

    /// Whether anything is kept from hook to hook of a pod; the number of the cycle is for that only.
    #[inline(always)]
    fn keeps() -> bool {
        size_of::<P::State>() > 0 || CurrentPod::is_used() || Table::is_used()
    }

    #[inline]
    fn enter(&mut self, cycle: i64) {
        if Self::keeps() && cycle != self.cycle {
            self.cycle = cycle;
            self.forget_pod();
        }
    }

    fn forget_pod(&mut self) {
        self.table.begin();
        self.pod.forget();
        if size_of::<P::State>() > 0 {
            self.loaded().states.reset();
        }
    }

    /// `is_shared`: whether the answer of the hook may be shared with other pods.
    #[inline]
    fn parts(&mut self, is_shared: bool) -> (&mut P, Cycle<'_, P::State>, &Table) {
        let Guest { loaded, pod, table, .. } = self;
        let Loaded { plugin, states } = present(loaded);
        pod.begin(is_shared);
        let cycle = Cycle { pod: Pod::current(pod), state: states.current(), cluster: Cluster::new(table) };
        (plugin, cycle, table)
    }

    /// Begins a hook of a pod's cycle.
    fn begin(&mut self, is_shared: bool) -> (&mut P, Cycle<'_, P::State>, &Table) {
        self.enter(i64::from(host::cycle()));
        self.parts(is_shared)
    }

    /// Begins a hook on a node. A single host call reports pod, node, and whether what is known of them is current.
    #[inline]
    fn begin_on_node(&mut self, is_shared: bool) -> (&mut P, Cycle<'_, P::State>, Node<'_>) {
        let mut known = [0; 3];
        let row = host::at_hand(&mut known);
        self.enter(known[0]);
        let (plugin, cycle, table) = self.parts(is_shared);
        (plugin, cycle, Node::at(table, row, known[1], known[2]))
    }

    /// A pod outside of a cycle, valid for one call.
    fn with_queued_pod<T>(&mut self, call: impl FnOnce(&mut P, &Pod<'_>) -> T) -> T {
        let object = host::read(host::current_pod);
        call(&mut self.loaded().plugin, &Pod::new(Message::new(&object)))
    }
}

/// The host calls no hook of a guest that did not start.
#[inline]
fn present<T>(loaded: &mut Option<T>) -> &mut T {
    match loaded {
        Some(loaded) => loaded,
        #[cfg(target_arch = "wasm32")]
        None => core::arch::wasm32::unreachable(),
        #[cfg(not(target_arch = "wasm32"))]
        None => unreachable!(),
    }
}

#[inline]
fn failure(status: &Status) -> i32 {
    if !status.reason.is_empty() {
        host::send_reason(&status.reason);
    }
    if !status.hint.is_empty() {
        host::send_hint(&status.hint);
    }
    status.code as i32
}

#[inline]
fn answer(verdict: Verdict) -> i32 {
    match verdict {
        Ok(()) => 0,
        Err(status) => failure(&status),
    }
}

/// Hooks of the plugin `P`. For an extension point that `P` does not implement, the names are those of [`Absent`].
#[doc(hidden)]
pub struct Hooks<P>(PhantomData<P>);

/// Declares, for each extension point, its hooks: names, result types, and bits of `implemented`.
macro_rules! extension_points {
    ($($bits:ident $trait:ident { $($bit:literal $hook:ident $result:ty, |$guest:ident| $body:expr;)+ })+) => {
        $(
            impl<P: $trait> Hooks<P> {
                pub const $bits: u32 = $(1 << $bit)|+;
                $(
                    #[inline]
                    pub fn $hook($guest: &mut Guest<P>) -> $result {
                        $body
                    }
                )+
            }
        )+

        /// Hooks of extension points that a plugin does not implement: never called.
        #[doc(hidden)]
        pub trait Absent<P: Plugin> {
            $(
                const $bits: u32 = 0;
                $(
                    fn $hook(_: &mut Guest<P>) -> $result {
                        Default::default()
                    }
                )+
            )+
        }

        impl<P: Plugin> Absent<P> for Hooks<P> {}

        /// Functions of a registered plugin, for native tests.
        #[doc(hidden)]
        #[cfg(not(target_arch = "wasm32"))]
        pub struct HookTable<P: Plugin> {
            pub implemented: u32,
            $($(pub $hook: fn(&mut Guest<P>) -> $result,)+)+
        }
    };
}

extension_points! {
    ENQUEUE_EXTENSIONS EnqueueExtensions {
        0 enqueue (), |guest| {
            let events = guest.loaded().plugin.events_to_register();
            let pairs: Vec<i32> = events.iter().flat_map(|event| [event.resource as i32, event.actions.0 as i32]).collect();
            host::send_cluster_events(&pairs);
        };
    }
    PRE_FILTER PreFilter {
        1 prefilter i32, |guest| {
            guest.cycle = i64::from(host::cycle());
            guest.forget_pod();
            let (plugin, mut cycle, _) = guest.parts(true);
            match plugin.pre_filter(&mut cycle) {
                Ok(Candidates::All) => 0,
                // No name would mean all nodes.
                Ok(Candidates::Only(names)) if names.is_empty() => failure(&Status::unresolvable("no node is eligible")),
                Ok(Candidates::Only(names)) => {
                    let mut sent = Vec::new();
                    for name in &names {
                        sent.extend_from_slice(name.as_bytes());
                        sent.push(0);
                    }
                    host::send_node_names(&sent);
                    0
                }
                Err(status) => failure(&status),
            }
        };
    }
    PRE_FILTER_EXTENSIONS PreFilterExtensions {
        2 addpod i32, |guest| {
            let target = host::read(host::target_pod);
            let (plugin, mut cycle, node) = guest.begin_on_node(false);
            answer(plugin.add_pod(&mut cycle, &Pod::new(Message::new(&target)), &node))
        };
        3 removepod i32, |guest| {
            let target = host::read(host::target_pod);
            let (plugin, mut cycle, node) = guest.begin_on_node(false);
            answer(plugin.remove_pod(&mut cycle, &Pod::new(Message::new(&target)), &node))
        };
        18 clonestate (), |guest| {
            guest.begin(false);
            guest.loaded().states.clone_to(host::state());
        };
        19 selectstate (), |guest| {
            guest.begin(false);
            guest.loaded().states.select(host::state());
        };
        20 dropstate (), |guest| {
            guest.begin(false);
            guest.loaded().states.drop_state(host::state());
        };
    }
    FILTER Filter {
        4 filter i32, |guest| {
            let (plugin, mut cycle, node) = guest.begin_on_node(true);
            answer(plugin.filter(&mut cycle, &node))
        };
    }
    POST_FILTER PostFilter {
        5 postfilter i64, |guest| {
            let (plugin, mut cycle, table) = guest.begin(false);
            let (mode, code) = match plugin.post_filter(&mut cycle, &NodeStatuses::new(table)) {
                Ok(Nomination::Keep) => (0, 0),
                Ok(Nomination::Node(name)) => {
                    host::send_nominated(&name);
                    (1, 0)
                }
                Ok(Nomination::Clear) => {
                    host::send_nominated("");
                    (1, 0)
                }
                Err(status) => (0, failure(&status)),
            };
            mode << 32 | i64::from(code)
        };
    }
    PRE_SCORE PreScore {
        6 prescore i32, |guest| {
            let (plugin, mut cycle, table) = guest.begin(true);
            answer(plugin.pre_score(&mut cycle, &Nodes::feasible(table)))
        };
    }
    SCORE Score {
        7 score i64, |guest| {
            let (plugin, mut cycle, node) = guest.begin_on_node(true);
            match plugin.score(&mut cycle, &node) {
                Ok(score) if i64::from(score as i32) == score => score << 32,
                Ok(_) => i64::from(failure(&Status::failed("a score must fit into 32 bits"))),
                Err(status) => i64::from(failure(&status)),
            }
        };
    }
    NORMALIZE_SCORE NormalizeScore {
        8 normalizescore i32, |guest| {
            let (plugin, mut cycle, table) = guest.begin(false);
            let mut scores = NodeScores::read(table);
            let verdict = plugin.normalize_score(&mut cycle, &mut scores);
            if verdict.is_ok() {
                host::send_node_scores(&scores.values);
            }
            answer(verdict)
        };
    }
    RESERVE Reserve {
        9 reserve i32, |guest| {
            let (plugin, mut cycle, node) = guest.begin_on_node(false);
            answer(plugin.reserve(&mut cycle, &node))
        };
        10 unreserve (), |guest| {
            let (plugin, mut cycle, node) = guest.begin_on_node(false);
            plugin.unreserve(&mut cycle, &node);
        };
    }
    PERMIT Permit {
        11 permit i64, |guest| {
            let (plugin, mut cycle, node) = guest.begin_on_node(false);
            match plugin.permit(&mut cycle, &node) {
                Ok(Permission::Allow) => 0,
                Ok(Permission::Wait(timeout, reason)) => {
                    i64::from(failure(&Status::wait(reason))) << 32 | i64::from(millis(timeout))
                }
                Err(status) => i64::from(failure(&status)) << 32,
            }
        };
    }
    PRE_BIND PreBind {
        12 prebind i32, |guest| {
            let (plugin, mut cycle, node) = guest.begin_on_node(false);
            answer(plugin.pre_bind(&mut cycle, &node))
        };
    }
    BIND Bind {
        13 bind i32, |guest| {
            let (plugin, mut cycle, node) = guest.begin_on_node(false);
            answer(plugin.bind(&mut cycle, &node))
        };
    }
    POST_BIND PostBind {
        14 postbind (), |guest| {
            let (plugin, mut cycle, node) = guest.begin_on_node(false);
            plugin.post_bind(&mut cycle, &node);
        };
    }
    PRE_ENQUEUE PreEnqueue {
        15 preenqueue i32, |guest| guest.with_queued_pod(|plugin, pod| answer(plugin.pre_enqueue(pod)));
    }
    QUEUE_SORT QueueSort {
        16 queuesort i32, |guest| {
            let queued_at = Timestamp(host::queued_at());
            guest.with_queued_pod(|plugin, pod| host::send_sort_key(plugin.sort_key(pod, queued_at).bytes()));
            0
        };
    }
    QUEUEING_HINT QueueingHint {
        17 queueinghint i32, |guest| {
            let change = Change::read();
            guest.with_queued_pod(|plugin, pod| plugin.queueing_hint(pod, &change) as i32)
        };
    }
    SIGN_POD SignPod {
        21 signpod i64, |guest| {
            let (plugin, cycle, _) = guest.begin(false);
            plugin.sign_pod(&cycle.pod) as i64
        };
    }
}

/// A timeout in milliseconds, rounded up: a timeout never becomes 0.
fn millis(timeout: Duration) -> u32 {
    u32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}
