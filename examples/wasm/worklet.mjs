// The audio thread: each channel has a network.
import { Network } from './network.mjs';

class Amplifier extends AudioWorkletProcessor {
    constructor({ processorOptions }) {
        super();
        this.module = processorOptions.module;
        this.networks = [];
    }

    process([input], [output]) {
        output.forEach((samples, channel) => {
            this.networks[channel] ??= new Network(this.module);
            if (input[channel]) samples.set(input[channel]);
            this.networks[channel].process(samples);
        });
        return true;
    }
}

registerProcessor('amplifier', Amplifier);
