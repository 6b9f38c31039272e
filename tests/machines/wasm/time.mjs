// node time.mjs program...: the time of each program's `run` over that of the first's, and what it gave. Programs take turns.
import { readFileSync } from 'node:fs';

const programs = [];
for (const file of process.argv.slice(2)) {
    const { instance } = await WebAssembly.instantiate(readFileSync(file), { env: { machine_write() {} } });
    programs.push({ run: instance.exports.run, result: instance.exports.run() >>> 0, least: Infinity });
}
for (let turn = 0; turn < 40; turn++) {
    for (const program of programs) {
        const begin = performance.now();
        program.run();
        program.least = Math.min(program.least, performance.now() - begin);
    }
}
for (const [number, { least, result }] of programs.entries()) {
    console.log(number, (least / programs[0].least).toFixed(2), result);
}
