#include "amplifier.hpp"

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

// The callback never waits.
static_assert(std::atomic<Amplifier *>::is_always_lock_free, "pointers are swapped without a lock");

// Whether a model takes one sample per step and gives one, in place: what the callback does.
static bool is_amplifier(const cellc_model &model) {
    const auto is_sample = [](const cellc_tensor &tensor) {
        return tensor.size == 1 && tensor.element == CELLC_FLOAT32 && tensor.each_step == 1;
    };
    return model.interface_number == CELLC_INTERFACE && model.input_count == 1 && is_sample(model.inputs[0]) &&
           model.output_count == 1 && is_sample(model.outputs[0]) && model.in_place_output == 0;
}

void Channel::Free::operator()(void *memory) const noexcept { ::operator delete(memory, alignment); }

static const cellc_model &checked(const cellc_model &model) {
    if (!is_amplifier(model)) {
        throw std::invalid_argument(std::string(model.name) + " does not take one sample per step and give one");
    }
    return model;
}

Channel::Channel(const cellc_model &of)
    : model(&checked(of)),
      instance(::operator new(of.instance_size, std::align_val_t(of.instance_alignment)),
               Free{std::align_val_t(of.instance_alignment)}) {
    model->init(instance.get());
}

void Channel::process(float *block, std::size_t samples) noexcept {
    const void *input = block;
    void *output = block;
    model->steps(instance.get(), samples, &input, &output);
}

Amplifier::Amplifier(const cellc_model &of) : model(of), left(of), right(of) {
    // A model answers to silence until its state has settled: a tenth of a second of it is over before anybody hears it.
    std::vector<float> silence(4800);
    for (Channel *channel : {&left, &right}) {
        silence.assign(silence.size(), 0.0f);
        channel->process(silence.data(), silence.size());
    }
}

Plugin::Plugin(const cellc_model &model) : current(new Amplifier(model)) {}

Plugin::~Plugin() {
    delete current;
    delete next.load();
    delete retired.load();
}

void Plugin::process(float *left, float *right, std::size_t samples) noexcept {
    // What was put aside before must have been freed: there is room for one.
    if (retired.load(std::memory_order_acquire) == nullptr) {
        if (Amplifier *taken = next.exchange(nullptr, std::memory_order_acq_rel)) {
            retired.store(current, std::memory_order_release);
            current = taken;
        }
    }
    current->left.process(left, samples);
    current->right.process(right, samples);
}

void Plugin::change(const cellc_model &model) {
    collect();
    // one that the audio thread has not taken up yet is replaced
    delete next.exchange(new Amplifier(model), std::memory_order_acq_rel);
}

void Plugin::collect() { delete retired.exchange(nullptr, std::memory_order_acq_rel); }
