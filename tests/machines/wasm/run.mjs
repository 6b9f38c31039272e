// node run.mjs program: runs main, and writes what that writes.
import { readFileSync, writeSync } from 'node:fs';

let memory;
const machine_write = (bytes, size) => writeSync(1, new Uint8Array(memory.buffer, bytes, size));
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), { env: { machine_write } });
memory = instance.exports.memory;
process.exitCode = instance.exports.main();
