// The network, in a page, in an AudioWorklet and in node.

/// Samples of a block.
export const BLOCK = 128;

/// An instance of its own, with a state of its own.
export class Network {
    /// Of a WebAssembly.Module.
    constructor(module) {
        const { memory, samples, reset, process } = new WebAssembly.Instance(module).exports;
        this.block = new Float32Array(memory.buffer, samples(), BLOCK);
        this.reset = reset;
        this.amplify = process;
        reset();
    }

    /// Amplifies samples in place, as many as there are.
    process(samples) {
        for (let at = 0; at < samples.length; at += BLOCK) {
            const part = samples.subarray(at, at + BLOCK);
            this.block.set(part);
            this.amplify(part.length);
            part.set(this.block.subarray(0, part.length));
        }
    }
}

/// The signal of the check, a second: every sample is exact in f32.
export function signal() {
    return Float32Array.from({ length: 48000 }, (_, k) => (((k * 7919) % 2000) - 1000) / 2048);
}

/// A hash of the bits of samples.
export function hash(samples) {
    const bits = new Uint32Array(samples.buffer, samples.byteOffset, samples.length);
    const all = bits.reduce((sum, word) => Math.imul(sum ^ word, 16777619) >>> 0, 2166136261);
    return all.toString(16).padStart(8, '0');
}
