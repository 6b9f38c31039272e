//! Twelve frames through RNNoise's network on a Cortex-M4F, in Rust without std: `make run-rust`.
//!
//! The board's start, its timer and what prints are those of the program in C; the network needs
//! none of them, no crate and no heap.

#![cfg_attr(target_os = "none", no_std)]
// a machine with an operating system has a start of its own
#![cfg(target_os = "none")]

mod rnnoise {
    include!(concat!(env!("OUT_DIR"), "/rnnoise.rs"));
}

use core::ffi::{c_int, c_void};
use core::fmt::{self, Write};
use rnnoise::{Outputs, Rnnoise};

/// Features of twelve frames: little-endian f32.
static FRAMES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/frames.bin"));

/// Instructions that QEMU executes in a tick of the timer: a nanosecond each, at 25 MHz. On a chip
/// a tick is a cycle.
const INSTRUCTIONS_A_TICK: u32 = 40;

unsafe extern "C" {
    safe fn board_timer_start();
    safe fn board_timer_ticks() -> u32;
    fn board_stack_of(function: extern "C" fn(*mut c_void), argument: *mut c_void) -> u32;
    safe fn putchar(byte: c_int) -> c_int;
}

struct Console;

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| _ = putchar(byte.into()));
        Ok(())
    }
}

/// The network with its state, and what a step reads and writes.
struct Stream {
    net: Rnnoise,
    features: [f32; 42],
    outputs: Outputs,
}

/// One step, as what measures the stack calls it.
extern "C" fn step(stream: *mut c_void) {
    // SAFETY: `board_stack_of` hands on the reference that `run` gave it
    let stream = unsafe { &mut *stream.cast::<Stream>() };
    stream.net.step(&stream.features, &mut stream.outputs);
}

fn run() -> fmt::Result {
    let mut stream = Stream { net: Rnnoise::new(), features: [0.0; 42], outputs: Outputs::new() };
    writeln!(Console, "frame  speech  gains of 22 bands, from 0 to 9")?;
    let (mut ticks, mut stack) = (0, 0);
    let values = FRAMES.as_chunks().0;
    for (frame, values) in values.as_chunks::<42>().0.iter().enumerate() {
        stream.features = values.map(f32::from_le_bytes);
        if frame == 0 {
            // SAFETY: it calls `step` with the stream, which nothing else uses meanwhile
            stack = unsafe { board_stack_of(step, (&raw mut stream).cast()) };
        } else {
            board_timer_start();
            stream.net.step(&stream.features, &mut stream.outputs);
            ticks = board_timer_ticks().max(ticks);
        }
        write!(Console, "{frame:5}  {:.5}  ", stream.outputs.vad[0])?;
        for gain in stream.outputs.gains {
            write!(Console, "{}", (gain * 9.99) as u8)?;
        }
        writeln!(Console)?;
    }
    let instructions = ticks * INSTRUCTIONS_A_TICK;
    let milliseconds = instructions as f32 / 64e3;
    writeln!(
        Console,
        "a step: {instructions} instructions at most, {milliseconds:.1} ms at 64 MHz if each took a cycle; a frame lasts 10 ms"
    )?;
    writeln!(
        Console,
        "RAM: {} bytes of states and scratch memory, {stack} of stack",
        size_of::<Rnnoise>()
    )
}

/// Called by the board's start.
#[unsafe(no_mangle)]
extern "C" fn main() -> c_int {
    c_int::from(run().is_err())
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
