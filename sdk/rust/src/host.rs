//! Functions of the scheduler. In a guest they are imports of the wasm module; in native tests a fake answers.
//!
//! A getter returns the full length of a value, and writes it only if it fits; `pod_requests` and `node_info` write as much
//! as fits. Functions that are not used are not imported.

use alloc::vec;
use alloc::vec::Vec;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::testing::answers::*;
#[cfg(target_arch = "wasm32")]
pub(crate) use guest::*;

/// The value of a getter.
pub(crate) fn read(getter: impl Fn(&mut [u8]) -> usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    read_into(&mut bytes, getter);
    bytes
}

/// Reads the value of a getter into memory that is used again.
pub(crate) fn read_into(bytes: &mut Vec<u8>, getter: impl Fn(&mut [u8]) -> usize) {
    let length = getter(&mut []);
    bytes.resize(length, 0);
    let written = getter(bytes);
    bytes.truncate(written);
}

/// The numbers of a getter.
pub(crate) fn read_numbers<N: Clone + Default>(getter: impl Fn(&mut [N]) -> usize) -> Vec<N> {
    let mut numbers = vec![N::default(); getter(&mut [])];
    let written = getter(&mut numbers);
    numbers.truncate(written);
    numbers
}

#[cfg(target_arch = "wasm32")]
mod guest {
    use crate::normalization::Normalization;

    mod scheduler {
        #[link(wasm_import_module = "k8s.io/scheduler")]
        extern "C" {
            pub fn get_config(buf: *mut u8, limit: usize) -> usize;
            #[link_name = "currentPod"]
            pub fn current_pod(buf: *mut u8, limit: usize) -> usize;
            #[link_name = "targetPod"]
            pub fn target_pod(buf: *mut u8, limit: usize) -> usize;
            #[link_name = "result.cluster_events"]
            pub fn cluster_events(buf: *const i32, length: usize);
            #[link_name = "result.node_names"]
            pub fn node_names(buf: *const u8, length: usize);
            #[link_name = "result.nominated_node_name"]
            pub fn nominated_node_name(buf: *const u8, length: usize);
            #[link_name = "result.status_reason"]
            pub fn status_reason(buf: *const u8, length: usize);
            #[link_name = "handle.eventrecorder.eventf"]
            pub fn eventf(buf: *const u8, length: usize);
        }
    }

    mod klog {
        #[link(wasm_import_module = "k8s.io/klog")]
        extern "C" {
            pub fn severity() -> i32;
            pub fn log(severity: i32, message: *const u8, length: usize);
            pub fn logs(severity: i32, message: *const u8, length: usize, pairs: *const u8, pairs_length: usize);
        }
    }

    mod wasi {
        #[repr(C)]
        pub struct Part(pub *const u8, pub usize);

        #[link(wasm_import_module = "wasi_snapshot_preview1")]
        extern "C" {
            pub fn fd_write(file: i32, parts: *const Part, count: usize, written: *mut usize) -> i32;
            pub fn proc_exit(code: i32) -> !;
        }
    }

    mod extension {
        #[link(wasm_import_module = "kubewasp/v1")]
        extern "C" {
            pub fn implemented(hooks: u32);
            pub fn pod_signature(low: u32, high: u32);
            pub fn normalization(method: i32, reverse: i32, maximum: i32);
            pub fn pure(reports: i32);
            pub fn pod_read(metadata: u32, spec: u32, spec_high: u32, others: u32);
            pub fn now() -> i64;
            pub fn cycle() -> i32;
            pub fn resource(name: *const u8, length: usize) -> i32;
            pub fn pod_requests(buf: *mut i64, limit: usize) -> usize;
            pub fn at_hand(known: *mut i64) -> i32;
            pub fn node_rows() -> i32;
            pub fn node_row(name: *const u8, length: usize) -> i32;
            pub fn node_name(row: i32, buf: *mut u8, limit: usize) -> usize;
            pub fn node_object(row: i32, buf: *mut u8, limit: usize) -> usize;
            pub fn node_info(row: i32, buf: *mut i64, limit: usize) -> usize;
            pub fn node_pods(row: i32, buf: *mut u8, limit: usize) -> usize;
            pub fn feasible_rows(buf: *mut i32, limit: usize) -> usize;
            pub fn node_scores(buf: *mut i64, limit: usize) -> usize;
            #[link_name = "result.node_scores"]
            pub fn send_node_scores(buf: *const i64, length: usize);
            pub fn node_statuses(buf: *mut i32, limit: usize) -> usize;
            #[link_name = "result.hint"]
            pub fn hint(buf: *const u8, length: usize);
            #[link_name = "result.sort_key"]
            pub fn sort_key(buf: *const u8, length: usize);
            #[link_name = "result.annotation"]
            pub fn annotation(key: *const u8, key_length: usize, value: *const u8, value_length: usize);
            pub fn queued_at() -> i64;
            pub fn event_resource() -> i32;
            pub fn event_action() -> i32;
            pub fn event_old(buf: *mut u8, limit: usize) -> usize;
            pub fn event_new(buf: *mut u8, limit: usize) -> usize;
            pub fn state() -> i32;
            pub fn waiting_pods(buf: *mut u8, limit: usize) -> usize;
            pub fn allow_waiting_pod(uid: *const u8, length: usize) -> i32;
            pub fn reject_waiting_pod(uid: *const u8, length: usize, reason: *const u8, reason_length: usize) -> i32;
        }
    }

    /// Safe forms: the host reads and writes exactly the memory of the slices.
    macro_rules! forms {
        (read $($name:ident = $module:ident::$import:ident ( $($row:ident)? ) [$type:ty]);* $(;)?) => {
            $(
                #[inline]
                pub(crate) fn $name($($row: i32,)? buf: &mut [$type]) -> usize {
                    // SAFETY: the host writes at most the given number of bytes.
                    unsafe { $module::$import($($row,)? buf.as_mut_ptr(), size_of_val(buf)) / size_of::<$type>() }
                }
            )*
        };
        (number $($name:ident = $module:ident::$import:ident -> $type:ty);* $(;)?) => {
            $(
                #[inline]
                pub(crate) fn $name() -> $type {
                    // SAFETY: no memory is involved.
                    unsafe { $module::$import() }
                }
            )*
        };
        (send $($name:ident = $module:ident::$import:ident [$type:ty]);* $(;)?) => {
            $(
                #[inline]
                pub(crate) fn $name(sent: &[$type]) {
                    // SAFETY: the host reads at most the given number of bytes.
                    unsafe { $module::$import(sent.as_ptr(), size_of_val(sent)) }
                }
            )*
        };
        (text $($name:ident = $module:ident::$import:ident $(-> $type:ty)?);* $(;)?) => {
            $(
                #[inline]
                pub(crate) fn $name(text: &str) $(-> $type)? {
                    // SAFETY: the host reads at most the given number of bytes.
                    unsafe { $module::$import(text.as_ptr(), text.len()) }
                }
            )*
        };
    }

    forms! { read
        config = scheduler::get_config() [u8];
        current_pod = scheduler::current_pod() [u8];
        target_pod = scheduler::target_pod() [u8];
        pod_requests = extension::pod_requests() [i64];
        node_name = extension::node_name(row) [u8];
        node_object = extension::node_object(row) [u8];
        node_info = extension::node_info(row) [i64];
        node_pods = extension::node_pods(row) [u8];
        feasible_rows = extension::feasible_rows() [i32];
        node_scores = extension::node_scores() [i64];
        node_statuses = extension::node_statuses() [i32];
        event_old = extension::event_old() [u8];
        event_new = extension::event_new() [u8];
        waiting_pods = extension::waiting_pods() [u8];
    }

    forms! { number
        log_severity = klog::severity -> i32;
        now = extension::now -> i64;
        cycle = extension::cycle -> i32;
        node_rows = extension::node_rows -> i32;
        queued_at = extension::queued_at -> i64;
        event_resource = extension::event_resource -> i32;
        event_action = extension::event_action -> i32;
        state = extension::state -> i32;
    }

    forms! { send
        send_cluster_events = scheduler::cluster_events [i32];
        send_node_names = scheduler::node_names [u8];
        record_event = scheduler::eventf [u8];
        send_node_scores = extension::send_node_scores [i64];
        send_sort_key = extension::sort_key [u8];
    }

    forms! { text
        send_nominated = scheduler::nominated_node_name;
        send_reason = scheduler::status_reason;
        send_hint = extension::hint;
        resource = extension::resource -> i32;
        node_row = extension::node_row -> i32;
    }

    pub(crate) fn implemented(hooks: u32) {
        // SAFETY: no memory is involved.
        unsafe { extension::implemented(hooks) }
    }

    pub(crate) fn pod_signature(signature: u64) {
        // SAFETY: no memory is involved.
        unsafe { extension::pod_signature(signature as u32, (signature >> 32) as u32) }
    }

    pub(crate) fn normalization(declared: Normalization) {
        let (method, reverse, maximum) = declared.numbers();
        // SAFETY: no memory is involved.
        unsafe { extension::normalization(method, i32::from(reverse), maximum) }
    }

    pub(crate) fn pure() {
        // SAFETY: no memory is involved.
        unsafe { extension::pure(1) }
    }

    pub(crate) fn pod_read(metadata: u32, spec: u32, spec_high: u32, others: u32) {
        // SAFETY: no memory is involved.
        unsafe { extension::pod_read(metadata, spec, spec_high, others) }
    }

    #[inline]
    pub(crate) fn at_hand(known: &mut [i64; 3]) -> i32 {
        // SAFETY: the host writes 24 bytes.
        unsafe { extension::at_hand(known.as_mut_ptr()) }
    }

    pub(crate) fn log(severity: i32, message: &str) {
        // SAFETY: the host reads at most the given number of bytes.
        unsafe { klog::log(severity, message.as_ptr(), message.len()) }
    }

    pub(crate) fn log_pairs(severity: i32, message: &str, pairs: &[u8]) {
        // SAFETY: the host reads at most the given numbers of bytes.
        unsafe { klog::logs(severity, message.as_ptr(), message.len(), pairs.as_ptr(), pairs.len()) }
    }

    pub(crate) fn annotation(key: &str, value: &str) {
        // SAFETY: the host reads at most the given numbers of bytes.
        unsafe { extension::annotation(key.as_ptr(), key.len(), value.as_ptr(), value.len()) }
    }

    pub(crate) fn allow_waiting_pod(uid: &str) -> bool {
        // SAFETY: the host reads at most the given number of bytes.
        unsafe { extension::allow_waiting_pod(uid.as_ptr(), uid.len()) != 0 }
    }

    pub(crate) fn reject_waiting_pod(uid: &str, reason: &str) -> bool {
        // SAFETY: the host reads at most the given numbers of bytes.
        unsafe { extension::reject_waiting_pod(uid.as_ptr(), uid.len(), reason.as_ptr(), reason.len()) != 0 }
    }

    /// Ends a guest that cannot start; the text is the reason.
    pub(crate) fn refuse(text: &str) -> ! {
        const STANDARD_ERROR: i32 = 2;
        const REFUSED: i32 = 1;
        let parts = [wasi::Part(text.as_ptr(), text.len()), wasi::Part(b"\n".as_ptr(), 1)];
        let mut written = 0;
        // SAFETY: the host reads the two parts and writes one number.
        unsafe {
            wasi::fd_write(STANDARD_ERROR, parts.as_ptr(), parts.len(), &mut written);
            wasi::proc_exit(REFUSED)
        }
    }
}
