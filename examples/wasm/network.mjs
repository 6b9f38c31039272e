// The network, in a page, in an AudioWorklet and in node.

import { Net } from './net.js';

/// An amplifier with a state of its own.
export class Amplifier {
    /// Of a WebAssembly.Module.
    constructor(module) {
        this.net = new Net(module);
        const [inputs, outputs] = [this.net.inputs, this.net.outputs].map(Object.values);
        if ([...inputs, ...outputs].length !== 2 || inputs[0].length !== 1 || outputs[0].length !== 1) {
            throw new Error('one input and one output of one element');
        }
        [this.input, this.output] = [inputs[0], outputs[0]];
    }

    /// Amplifies samples in place, as many as there are.
    process(samples) {
        for (let i = 0; i < samples.length; i++) {
            this.input[0] = samples[i];
            this.net.step();
            samples[i] = this.output[0];
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
