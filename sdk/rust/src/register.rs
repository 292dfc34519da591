//! The exports of a guest.

/// Registers the plugin of a guest, once per crate:
///
/// ```
/// # use kubewasp_sdk::*;
/// struct SpotOnly;
///
/// impl Plugin for SpotOnly {
///     type State = ();
///
///     fn new() -> Result<Self, Error> {
///         Ok(Self)
///     }
/// }
///
/// impl Filter for SpotOnly {
///     fn filter(&mut self, _: &mut Cycle<()>, node: &Node) -> Verdict {
///         if node.labels().get("lifecycle") == Some("spot") {
///             Ok(())
///         } else {
///             Err(Status::unresolvable("node is no spot node"))
///         }
///     }
/// }
///
/// register!(SpotOnly);
/// # fn main() {}
/// ```
///
/// The guest declares the extension points that the type implements; others are never called and cost nothing.
/// `register!(SpotOnly: Filter)` exports those of the list and nothing else, which saves half a kilobyte; a list that differs
/// from the implemented extension points does not compile.
#[macro_export]
macro_rules! register {
    ($plugin:ty) => {
        $crate::__registered!($plugin);
        $crate::__start!($plugin, true);
        $crate::__exports!($plugin: EnqueueExtensions PreFilter PreFilterExtensions Filter PostFilter PreScore Score
            NormalizeScore Reserve Permit PreBind Bind PostBind PreEnqueue QueueSort QueueingHint SignPod);
    };
    ($plugin:ty: $($point:ident),+ $(,)?) => {
        $crate::__registered!($plugin);
        $crate::__start!($plugin, false);
        $crate::__exports!($plugin: $($point)+);
        const _: () = {
            let listed = 0 $(| $crate::__bits!($plugin: $point))+;
            assert!(listed == $crate::__bits!($plugin), "register! must list every extension point that the plugin implements");
            $(assert!($crate::__bits!($plugin: $point) != 0, "register! lists an extension point that the plugin lacks");)+
        };
    };
}

/// Bits of the hooks of one extension point, or of all; 0 for those that the plugin does not implement.
#[doc(hidden)]
#[macro_export]
macro_rules! __bits {
    ($plugin:ty) => {
        $crate::__bits!($plugin: EnqueueExtensions) | $crate::__bits!($plugin: PreFilter)
            | $crate::__bits!($plugin: PreFilterExtensions) | $crate::__bits!($plugin: Filter)
            | $crate::__bits!($plugin: PostFilter) | $crate::__bits!($plugin: PreScore) | $crate::__bits!($plugin: Score)
            | $crate::__bits!($plugin: NormalizeScore) | $crate::__bits!($plugin: Reserve)
            | $crate::__bits!($plugin: Permit) | $crate::__bits!($plugin: PreBind) | $crate::__bits!($plugin: Bind)
            | $crate::__bits!($plugin: PostBind) | $crate::__bits!($plugin: PreEnqueue)
            | $crate::__bits!($plugin: QueueSort) | $crate::__bits!($plugin: QueueingHint)
            | $crate::__bits!($plugin: SignPod)
    };
    ($plugin:ty: EnqueueExtensions) => { $crate::__bits!(@ $plugin, ENQUEUE_EXTENSIONS) };
    ($plugin:ty: PreFilter) => { $crate::__bits!(@ $plugin, PRE_FILTER) };
    ($plugin:ty: PreFilterExtensions) => { $crate::__bits!(@ $plugin, PRE_FILTER_EXTENSIONS) };
    ($plugin:ty: Filter) => { $crate::__bits!(@ $plugin, FILTER) };
    ($plugin:ty: PostFilter) => { $crate::__bits!(@ $plugin, POST_FILTER) };
    ($plugin:ty: PreScore) => { $crate::__bits!(@ $plugin, PRE_SCORE) };
    ($plugin:ty: Score) => { $crate::__bits!(@ $plugin, SCORE) };
    ($plugin:ty: NormalizeScore) => { $crate::__bits!(@ $plugin, NORMALIZE_SCORE) };
    ($plugin:ty: Reserve) => { $crate::__bits!(@ $plugin, RESERVE) };
    ($plugin:ty: Permit) => { $crate::__bits!(@ $plugin, PERMIT) };
    ($plugin:ty: PreBind) => { $crate::__bits!(@ $plugin, PRE_BIND) };
    ($plugin:ty: Bind) => { $crate::__bits!(@ $plugin, BIND) };
    ($plugin:ty: PostBind) => { $crate::__bits!(@ $plugin, POST_BIND) };
    ($plugin:ty: PreEnqueue) => { $crate::__bits!(@ $plugin, PRE_ENQUEUE) };
    ($plugin:ty: QueueSort) => { $crate::__bits!(@ $plugin, QUEUE_SORT) };
    ($plugin:ty: QueueingHint) => { $crate::__bits!(@ $plugin, QUEUEING_HINT) };
    ($plugin:ty: SignPod) => { $crate::__bits!(@ $plugin, SIGN_POD) };
    (@ $plugin:ty, $bits:ident) => {{
        #[allow(unused_imports)]
        use $crate::__private::Absent as _;
        $crate::__private::Hooks::<$plugin>::$bits
    }};
}

/// Exported functions of extension points. Natively there are none: names such as `bind` belong to the system.
#[doc(hidden)]
#[macro_export]
macro_rules! __exports {
    ($plugin:ty: $($point:ident)+) => { $($crate::__exports!(@ $plugin, $point);)+ };
    (@ $plugin:ty, EnqueueExtensions) => { $crate::__export!($plugin, enqueue ()); };
    (@ $plugin:ty, PreFilter) => { $crate::__export!($plugin, prefilter i32); };
    (@ $plugin:ty, PreFilterExtensions) => {
        $crate::__export!($plugin, addpod i32);
        $crate::__export!($plugin, removepod i32);
        $crate::__export!($plugin, clonestate ());
        $crate::__export!($plugin, selectstate ());
        $crate::__export!($plugin, dropstate ());
    };
    (@ $plugin:ty, Filter) => { $crate::__export!($plugin, filter i32); };
    (@ $plugin:ty, PostFilter) => { $crate::__export!($plugin, postfilter i64); };
    (@ $plugin:ty, PreScore) => { $crate::__export!($plugin, prescore i32); };
    (@ $plugin:ty, Score) => { $crate::__export!($plugin, score i64); };
    (@ $plugin:ty, NormalizeScore) => { $crate::__export!($plugin, normalizescore i32); };
    (@ $plugin:ty, Reserve) => {
        $crate::__export!($plugin, reserve i32);
        $crate::__export!($plugin, unreserve ());
    };
    (@ $plugin:ty, Permit) => { $crate::__export!($plugin, permit i64); };
    (@ $plugin:ty, PreBind) => { $crate::__export!($plugin, prebind i32); };
    (@ $plugin:ty, Bind) => { $crate::__export!($plugin, bind i32); };
    (@ $plugin:ty, PostBind) => { $crate::__export!($plugin, postbind ()); };
    (@ $plugin:ty, PreEnqueue) => { $crate::__export!($plugin, preenqueue i32); };
    (@ $plugin:ty, QueueSort) => { $crate::__export!($plugin, queuesort i32); };
    (@ $plugin:ty, QueueingHint) => { $crate::__export!($plugin, queueinghint i32); };
    (@ $plugin:ty, SignPod) => { $crate::__export!($plugin, signpod i64); };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($plugin:ty, $hook:ident $result:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            #[unsafe(export_name = stringify!($hook))]
            extern "C" fn exported() -> $result {
                #[allow(unused_imports)]
                use $crate::__private::Absent as _;
                $crate::__private::Hooks::<$plugin>::$hook(<$plugin as $crate::__private::Registered>::guest())
            }
        };
    };
}

/// The one guest of a module.
#[doc(hidden)]
#[macro_export]
macro_rules! __start {
    ($plugin:ty, $declares:literal) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            static GUEST: $crate::__private::Slot<$plugin> = $crate::__private::Slot::new();

            impl $crate::__private::Registered for $plugin {
                fn guest() -> &'static mut $crate::__private::Guest<$plugin> {
                    // SAFETY: a guest has one thread, and the host calls one hook at a time.
                    unsafe { GUEST.guest() }
                }
            }

            #[unsafe(export_name = "_initialize")]
            extern "C" fn start() {
                // SAFETY: as above; the host calls no hook before the start.
                unsafe {
                    $crate::__private::construct();
                    GUEST.start(if $declares { $crate::__bits!($plugin) } else { 0 });
                }
            }
        };
    };
}

/// Natively, a table of the hooks: tests call them.
#[doc(hidden)]
#[macro_export]
macro_rules! __registered {
    ($plugin:ty) => {
        #[cfg(not(target_arch = "wasm32"))]
        impl $crate::testing::Registered for $plugin {
            fn hooks() -> $crate::__private::HookTable<Self> {
                #[allow(unused_imports)]
                use $crate::__private::{Absent as _, HookTable, Hooks};
                HookTable {
                    implemented: $crate::__bits!($plugin),
                    enqueue: Hooks::<$plugin>::enqueue,
                    prefilter: Hooks::<$plugin>::prefilter,
                    addpod: Hooks::<$plugin>::addpod,
                    removepod: Hooks::<$plugin>::removepod,
                    filter: Hooks::<$plugin>::filter,
                    postfilter: Hooks::<$plugin>::postfilter,
                    prescore: Hooks::<$plugin>::prescore,
                    score: Hooks::<$plugin>::score,
                    normalizescore: Hooks::<$plugin>::normalizescore,
                    reserve: Hooks::<$plugin>::reserve,
                    unreserve: Hooks::<$plugin>::unreserve,
                    permit: Hooks::<$plugin>::permit,
                    prebind: Hooks::<$plugin>::prebind,
                    bind: Hooks::<$plugin>::bind,
                    postbind: Hooks::<$plugin>::postbind,
                    preenqueue: Hooks::<$plugin>::preenqueue,
                    queuesort: Hooks::<$plugin>::queuesort,
                    queueinghint: Hooks::<$plugin>::queueinghint,
                    clonestate: Hooks::<$plugin>::clonestate,
                    selectstate: Hooks::<$plugin>::selectstate,
                    dropstate: Hooks::<$plugin>::dropstate,
                    signpod: Hooks::<$plugin>::signpod,
                }
            }
        }
    };
}
