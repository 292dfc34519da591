//! Web handler of style run: greets the name in the request body. The form to begin with.

use memory::{address, text};

#[link(wasm_import_module = "httpwasm")]
extern "C" {
    fn oputs(pointer: *const u8, length: usize);
    fn eputs(pointer: *const u8, length: usize);
}

/// # Safety
/// Called by the host, which frees its string afterwards.
#[no_mangle]
pub unsafe extern "C" fn run(pointer: *const u8, length: usize) {
    let given = text(pointer, length);
    let name = match given.trim() {
        "" => {
            let (at, length) = address("no name in the body");
            eputs(at, length);
            "world"
        }
        name => name,
    };
    let answer = format!("hello, {name}\n");
    let (at, length) = address(&answer); // the host has read it when oputs returns
    oputs(at, length);
}
