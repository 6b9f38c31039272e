// The audio thread: each channel has an amplifier.
import { Amplifier } from './network.mjs';

class Processor extends AudioWorkletProcessor {
    constructor({ processorOptions }) {
        super();
        this.module = processorOptions.module;
        this.amplifiers = [];
    }

    process([input], [output]) {
        output.forEach((samples, channel) => {
            this.amplifiers[channel] ??= new Amplifier(this.module);
            if (input[channel]) samples.set(input[channel]);
            this.amplifiers[channel].process(samples);
        });
        return true;
    }
}

registerProcessor('amplifier', Processor);
