// The page: a microphone or a file through the network, and the check.
import { hash, signal } from './network.mjs';

const module = await WebAssembly.compileStreaming(fetch('net.wasm'));
const said = document.querySelector('#said');

/// A node of the audio graph that amplifies.
async function amplifier(context) {
    await context.audioWorklet.addModule('worklet.mjs');
    return new AudioWorkletNode(context, 'amplifier', { processorOptions: { module } });
}

/// Plays what a source gives, until the next one.
let playing;
async function play(source) {
    await playing?.close();
    const context = (playing = new AudioContext({ sampleRate: 48000 }));
    (await source(context)).connect(await amplifier(context)).connect(context.destination);
    said.textContent = `${context.sampleRate} Hz`;
}

document.querySelector('#microphone').onclick = () =>
    play(async (context) => {
        const audio = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
        return context.createMediaStreamSource(await navigator.mediaDevices.getUserMedia({ audio }));
    });

document.querySelector('#file').onchange = ({ target }) =>
    play(async (context) => {
        const buffer = await context.decodeAudioData(await target.files[0].arrayBuffer());
        const source = new AudioBufferSourceNode(context, { buffer });
        source.start();
        return source;
    });

/// The signal of the check through the audio graph; gives the hash of what comes out.
async function check() {
    const samples = signal();
    const context = new OfflineAudioContext(1, samples.length, 48000);
    const buffer = context.createBuffer(1, samples.length, 48000);
    buffer.copyToChannel(samples, 0);
    const source = new AudioBufferSourceNode(context, { buffer });
    source.connect(await amplifier(context)).connect(context.destination);
    source.start();
    return hash((await context.startRendering()).getChannelData(0));
}

if (location.search === '?check') {
    const result = await check().catch((error) => `failed: ${error}`);
    await fetch('result', { method: 'POST', body: result });
}
