//! Web handler of style run: reads the request line by line, and numbers the lines.

use memory::{address, unpacked};

#[link(wasm_import_module = "httpwasm")]
extern "C" {
    fn igets() -> u64;
    fn oputs(pointer: *const u8, length: usize);
}

/// # Safety
/// Called by the host, which frees its lines afterwards.
#[no_mangle]
pub unsafe extern "C" fn run() {
    for number in 1.. {
        let line = unpacked(igets());
        if line.is_empty() {
            return;
        }
        let answer = format!("{number} {}", line.to_uppercase());
        let (at, length) = address(&answer);
        oputs(at, length);
    }
}
