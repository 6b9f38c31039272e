// A stereo amplifier whose model can change while it plays.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "cellc_model.h"

// One channel: a model, and the memory that holds its state.
class Channel {
public:
    explicit Channel(const cellc_model &model);

    // Replaces the samples of a block by the amplifier's.
    void process(float *block, std::size_t samples) noexcept;

private:
    struct Free {
        std::align_val_t alignment;
        void operator()(void *memory) const noexcept;
    };

    const cellc_model *model;
    std::unique_ptr<void, Free> instance;
};

// What the audio thread runs: both channels of one model. Everything is allocated and settled when it has been made.
class Amplifier {
public:
    explicit Amplifier(const cellc_model &model);

    const cellc_model &model;
    Channel left, right;
};

class Plugin {
public:
    explicit Plugin(const cellc_model &model);
    ~Plugin();
    Plugin(const Plugin &) = delete;
    Plugin &operator=(const Plugin &) = delete;

    // The audio callback: processes both channels in place. It neither allocates, nor frees, nor waits for another thread.
    void process(float *left, float *right, std::size_t samples) noexcept;

    // Any other thread, one at a time: prepares a model, which the audio thread takes up with its next block.
    void change(const cellc_model &model);

    // The same thread: frees the model that the audio thread has put aside, if there is one. Call it from time to time.
    void collect();

    // The audio thread: the model that the last block was processed by.
    const cellc_model &model() const noexcept { return current->model; }

private:
    Amplifier *current;                       // the audio thread's
    std::atomic<Amplifier *> next{nullptr};   // prepared, not yet taken up
    std::atomic<Amplifier *> retired{nullptr}; // put aside, not yet freed
};
