// node check.mjs HASH: the network in node and, where it is installed, in Chromium gives these bits.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Amplifier, hash, signal } from './network.mjs';
import { server } from './serve.mjs';

const expected = process.argv[2];
const verdict = (name, found) => {
    console.log(`${name}: ${found}, ${found === expected ? 'the bits of this machine' : `NOT ${expected}`}`);
    if (found !== expected) process.exitCode = 1;
};

const samples = signal();
const amplifier = new Amplifier(new WebAssembly.Module(readFileSync(new URL('net.wasm', import.meta.url))));
const begin = performance.now();
amplifier.process(samples);
const time = performance.now() - begin;
verdict('node', hash(samples));
console.log(`a second of sound took ${time.toFixed(1)} ms`);

const browser = process.env.CHROMIUM ?? 'chromium';
const flags = '--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync';
const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
let found, end;
// the browser's helpers may still write there for a while
const clear = (tries) => {
    try {
        rmSync(profile, { recursive: true, force: true });
    } catch {
        if (tries > 0) setTimeout(() => clear(tries - 1), 200);
    }
};
const ended = new Promise((resolve) => (end = resolve));
const serving = server((posted) => end((found = posted)));
serving.listen(0, 'localhost', () => {
    const page = `http://localhost:${serving.address().port}/?check`;
    const child = spawn(browser, [...flags.split(' '), `--user-data-dir=${profile}`, page], { stdio: 'ignore' });
    child.on('error', () => end(console.log('skipped: no chromium')));
    const late = setTimeout(() => end((found = 'no result in 60 s')), 60000);
    ended.then(() => {
        clearTimeout(late);
        if (child.exitCode !== null || child.pid === undefined) child.emit('done');
        else child.once('exit', () => child.emit('done')).kill();
    });
    child.once('done', () => {
        if (found !== undefined) verdict('chromium', found);
        serving.closeAllConnections();
        serving.close();
        clear(25);
    });
});
