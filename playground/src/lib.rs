//! The functions of `playground.wasm`. Texts and files pass through one buffer.

use std::cell::RefCell;

thread_local! {
    /// Bytes from the page, or for it.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static FILES: RefCell<Vec<(String, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
}

fn taken() -> Vec<u8> {
    BUFFER.take()
}

/// Makes room for `len` bytes, which the page writes to the returned address.
#[unsafe(no_mangle)]
pub extern "C" fn room(len: usize) -> *mut u8 {
    BUFFER.set(vec![0; len]);
    BUFFER.with_borrow_mut(|buffer| buffer.as_mut_ptr())
}

/// Bytes of the answer, which begins where the last call said.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    BUFFER.with_borrow(Vec::len)
}

/// Adds a file: the buffer holds its name, of `name` bytes, and its content.
#[unsafe(no_mangle)]
pub extern "C" fn add(name: usize) {
    let mut all = taken();
    let content = all.split_off(name.min(all.len()));
    FILES
        .with_borrow_mut(|files| files.push((String::from_utf8_lossy(&all).into_owned(), content)));
}

/// Compiles the added files and forgets them. The buffer holds three lines: target, language and
/// options. The answer is JSON.
#[unsafe(no_mangle)]
pub extern "C" fn compile() -> *const u8 {
    let request = String::from_utf8_lossy(&taken()).into_owned();
    let mut lines = request.lines();
    let mut line = || lines.next().unwrap_or_default();
    let (target, language, words) = (line(), line(), line());
    answer(cellc::playground::answer(&FILES.take(), target, language, words))
}

/// The names of all targets as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn targets() -> *const u8 {
    answer(cellc::playground::targets())
}

fn answer(text: String) -> *const u8 {
    BUFFER.set(text.into_bytes());
    BUFFER.with_borrow(|buffer| buffer.as_ptr())
}
