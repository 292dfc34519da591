//! Web handler of style module: the result of run is the body, and becomes the host's.

use memory::{release, transfer, unpacked};

#[link(wasm_import_module = "kubewasp_http")]
extern "C" {
    fn request_query() -> u64;
}

/// # Safety
/// Called by the host.
#[no_mangle]
pub unsafe extern "C" fn run() -> u64 {
    let query = request_query();
    let name = unpacked(query);
    release(query); // style module: the guest owns what the host has made for it
    transfer(&format!("hello, {name}\n"))
}
