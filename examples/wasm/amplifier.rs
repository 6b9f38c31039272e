//! What amplifier.c does, in Rust: three functions for JavaScript.

mod net;
use std::cell::RefCell;

const BLOCK: usize = 128;

thread_local!(static NET: RefCell<net::Net> = RefCell::new(net::Net::new()));
static mut SAMPLES: [f32; BLOCK] = [0.0; BLOCK];

/// The address of the block that `process` replaces.
#[unsafe(no_mangle)]
pub extern "C" fn samples() -> *mut f32 {
    &raw mut SAMPLES as *mut f32
}

#[unsafe(no_mangle)]
pub extern "C" fn reset() {
    NET.with_borrow_mut(net::Net::reset);
}

#[unsafe(no_mangle)]
pub extern "C" fn process(count: usize) {
    NET.with_borrow_mut(|net| {
        for at in 0..count.min(BLOCK) {
            // one thread calls all three functions
            let sample = unsafe { &mut *samples().add(at) };
            let mut io = [*sample];
            net.step_in_place(&mut io);
            [*sample] = io;
        }
    });
}
