// node time.mjs program name...: the least time of `run` over that of the first program's, in rounds that take turns.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

const programs = [];
for (let i = 2; i < process.argv.length; i += 2) {
    const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[i]), { env: { machine_write() {} } });
    const [command, ...options] = process.argv[i + 1].split(' ');
    programs.push({ name: [basename(command), ...options].join(' '), run: instance.exports.run, least: Infinity });
}
for (const program of programs) program.bits = program.run() >>> 0;
for (let round = 0; round < 60; round++) {
    for (const program of programs) {
        const begin = performance.now();
        program.run();
        program.least = Math.min(program.least, performance.now() - begin);
    }
}
for (const { name, bits, least } of programs) {
    const same = bits === programs[0].bits ? 'same bits' : 'OTHER BITS';
    console.log(`${name}: ${(least / programs[0].least).toFixed(2)}, ${same}`);
}
