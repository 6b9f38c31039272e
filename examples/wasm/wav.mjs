// node wav.mjs in.wav out.wav: amplifies a file of 16-bit or float samples, each channel by a network of its own.
import { readFileSync, writeFileSync } from 'node:fs';
import { Amplifier } from './network.mjs';

const [, , from, to] = process.argv;
if (!to) throw new Error('node wav.mjs in.wav out.wav');
const bytes = readFileSync(from);
const chunks = new Map();
for (let at = 12; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4);
    chunks.set(bytes.toString('latin1', at, at + 4), bytes.subarray(at + 8, at + 8 + size));
    at += 8 + size + (size % 2);
}
const [format, data] = [chunks.get('fmt '), chunks.get('data')];
if (bytes.toString('latin1', 0, 4) !== 'RIFF' || !format || !data) throw new Error(`${from}: not a WAV file`);
const [channels, rate, bits] = [format.readUInt16LE(2), format.readUInt32LE(4), format.readUInt16LE(14)];
const sample = {
    '1/16': (at) => data.readInt16LE(2 * at) / 32768,
    '3/32': (at) => data.readFloatLE(4 * at),
}[`${format.readUInt16LE(0)}/${bits}`];
if (!sample) throw new Error(`${from}: samples of 16 bits or of float are read`);

const frames = Math.floor(data.length / (bits / 8) / channels);
const module = new WebAssembly.Module(readFileSync(new URL('net.wasm', import.meta.url)));
const out = Buffer.alloc(44 + frames * channels * 4);
out.write('RIFF', 0);
out.writeUInt32LE(out.length - 8, 4);
out.write('WAVEfmt ', 8);
out.writeUInt32LE(16, 16);
out.writeUInt16LE(3, 20);
out.writeUInt16LE(channels, 22);
out.writeUInt32LE(rate, 24);
out.writeUInt32LE(rate * channels * 4, 28);
out.writeUInt16LE(channels * 4, 32);
out.writeUInt16LE(32, 34);
out.write('data', 36);
out.writeUInt32LE(out.length - 44, 40);
for (let channel = 0; channel < channels; channel++) {
    const samples = Float32Array.from({ length: frames }, (_, frame) => sample(frame * channels + channel));
    new Amplifier(module).process(samples);
    samples.forEach((value, frame) => out.writeFloatLE(value, 44 + 4 * (frame * channels + channel)));
}
writeFileSync(to, out);
console.log(`${frames} frames of ${channels} channels at ${rate} Hz`);
