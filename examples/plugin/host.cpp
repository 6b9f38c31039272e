// Plays a second of sound through the plug-in on a thread of its own, changes the model meanwhile, and checks every sample.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "amplifier.hpp"
#include "clean.h"
#include "lead.h"

// Counts what the audio thread allocates and frees inside the callback.
static thread_local bool in_callback = false;
static std::atomic<int> allocations{0};

static void *allocate(std::size_t size, std::size_t alignment) {
    allocations += in_callback;
    // room for the alignment, and for the pointer to be freed in front
    const std::size_t space = size + alignment + sizeof(void *);
    auto *whole = static_cast<char *>(std::malloc(space));
    if (whole == nullptr) throw std::bad_alloc();
    std::size_t address = reinterpret_cast<std::size_t>(whole) + sizeof(void *);
    address += (alignment - address % alignment) % alignment;
    std::memcpy(reinterpret_cast<void *>(address - sizeof(void *)), &whole, sizeof whole);
    return reinterpret_cast<void *>(address);
}

static void release(void *memory) {
    allocations += in_callback;
    if (memory == nullptr) return;
    void *whole;
    std::memcpy(&whole, static_cast<char *>(memory) - sizeof whole, sizeof whole);
    std::free(whole);
}

void *operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void *operator new(std::size_t size, std::align_val_t alignment) { return allocate(size, std::size_t(alignment)); }
void operator delete(void *memory) noexcept { release(memory); }
void operator delete(void *memory, std::size_t) noexcept { release(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { release(memory); }

constexpr double RATE = 48000;
constexpr std::size_t BLOCK = 128, BLOCKS = 375, SAMPLES = BLOCK * BLOCKS;

// A decaying chord, another one on the right.
static std::vector<float> chord(double frequency) {
    std::vector<float> samples(SAMPLES);
    for (std::size_t i = 0; i < SAMPLES; i++) {
        const double t = double(i) / RATE, tau = 6.283185307179586;
        samples[i] = float(0.4 * std::exp(-2 * t) * (std::sin(tau * frequency * t) + std::sin(tau * 1.5 * frequency * t)));
    }
    return samples;
}

static bool same(const std::vector<float> &a, const std::vector<float> &b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

static int failures = 0;

static void check(const char *what, bool holds) {
    std::printf("%s: %s\n", what, holds ? "yes" : "NO");
    failures += !holds;
}

// A model in place and out of place, through the table.
static void in_place(const cellc_model &model) {
    const std::vector<float> input = chord(110);
    std::vector<float> apart(SAMPLES), block = input;
    void *instance = ::operator new(model.instance_size, std::align_val_t(model.instance_alignment));
    const void *from = input.data();
    void *to = apart.data();
    model.init(instance);
    model.steps(instance, SAMPLES, &from, &to);
    const char *isa = model.isa_name(instance);
    ::operator delete(instance, std::align_val_t(model.instance_alignment));
    // blocks of any size
    Channel channel(model);
    for (std::size_t at = 0, size = 1; at < SAMPLES; at += size, size = size * 5 % 257) {
        channel.process(block.data() + at, std::min(size, SAMPLES - at));
    }
    std::printf("%s: an instance has %zu bytes, runs on %s\n", model.name, model.instance_size, isa);
    check("  in place, in blocks, equals out of place, at once", same(block, apart) && !same(block, input));
}

int main() {
    for (const cellc_model *model : {&clean_model, &lead_model}) {
        // 0: the model's file gives no rate
        if (model->sample_rate != 0 && model->sample_rate != RATE) std::printf("%s wants %g Hz: resample\n", model->name, model->sample_rate);
        in_place(*model);
    }

    const std::vector<float> input[2] = {chord(110), chord(165)};
    std::vector<float> output[2] = {input[0], input[1]};
    Plugin plugin(clean_model);
    std::atomic<std::size_t> done{0};
    std::size_t changed = BLOCKS;
    std::thread audio([&] {
        for (std::size_t block = 0; block < BLOCKS; block++) {
            // a host would wait for the sound card; here the last third waits for the other thread, so that the change is heard
            while (block == BLOCKS * 2 / 3 && done < BLOCKS) std::this_thread::yield();
            in_callback = true;
            plugin.process(output[0].data() + block * BLOCK, output[1].data() + block * BLOCK, BLOCK);
            in_callback = false;
            if (changed == BLOCKS && &plugin.model() == &lead_model) changed = block;
            if (block < BLOCKS / 3) done = block + 1;
        }
    });
    while (done < BLOCKS / 3) std::this_thread::yield();
    plugin.change(lead_model);
    done = BLOCKS;
    audio.join();
    plugin.collect();

    // the same by hand: one model up to the change, then the other
    Amplifier before(clean_model), after(lead_model);
    bool as_expected = true;
    for (int side = 0; side < 2; side++) {
        std::vector<float> expected = input[side];
        Channel &first = side == 0 ? before.left : before.right, &second = side == 0 ? after.left : after.right;
        first.process(expected.data(), changed * BLOCK);
        second.process(expected.data() + changed * BLOCK, SAMPLES - changed * BLOCK);
        as_expected &= same(expected, output[side]);
    }
    check("the model changed while it played", changed >= BLOCKS / 3 && changed < BLOCKS);
    check("both channels, before and after, have the bits of the models alone", as_expected);
    check("the callback allocated and freed nothing", allocations == 0);
    return failures;
}
