// What every peer in C++ shares: the workload as its arguments say it, and the turns that it takes over its standard input and output.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

struct Spec {
    std::map<std::string, std::string> words;
    size_t inputs, units, batch, steps;
    bool head;
    std::vector<float> x; // of several calls
    size_t x_len;         // of one

    Spec(int argc, char **argv) {
        for (int i = 1; i < argc; i++) {
            std::string word = argv[i];
            size_t sign = word.find('=');
            if (sign != std::string::npos) words[word.substr(0, sign)] = word.substr(sign + 1);
        }
        inputs = number("inputs"), units = number("units"), batch = number("batch"), steps = number("steps");
        head = number("head") != 0;
        x = floats("x");
        x_len = batch * steps * inputs;
    }

    size_t number(const char *key) const { return std::stoul(words.at(key)); }

    std::vector<float> floats(const char *key) const {
        std::ifstream file(words.at(key), std::ios::binary | std::ios::ate);
        if (!file) throw std::runtime_error("cannot read " + words.at(key));
        std::vector<float> values(size_t(file.tellg()) / sizeof(float));
        file.seekg(0);
        file.read(reinterpret_cast<char *>(values.data()), std::streamsize(values.size() * sizeof(float)));
        return values;
    }
};

// A peer has: void reset(); void call(const float *x); const std::vector<float> &output();
template <class Peer> void take_turns(const Spec &spec, Peer &peer) {
    size_t rows = spec.x.size() / spec.x_len, calls = 0;
    std::string word;
    while (std::cin >> word) {
        if (word == "reset") {
            peer.reset();
            calls = 0;
            std::printf("ok\n");
        } else if (word == "call") {
            peer.call(&spec.x[calls++ % rows * spec.x_len]);
            const std::vector<float> &output = peer.output();
            std::printf("%zu\n", output.size());
            std::fwrite(output.data(), sizeof(float), output.size(), stdout);
        } else if (word == "run") {
            size_t count;
            std::cin >> count;
            auto start = std::chrono::steady_clock::now();
            for (size_t i = 0, row = 0; i < count; i++) {
                peer.call(&spec.x[row * spec.x_len]);
                if (++row == rows) row = 0;
            }
            auto time = std::chrono::steady_clock::now() - start;
            std::printf("%lld\n", (long long)std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
        }
        std::fflush(stdout);
    }
}

// Greets with what is computed and with a version, or says why the workload cannot be computed. A line is its end there.
template <class Peer> int serve(int argc, char **argv) {
    try {
        Spec spec(argc, argv);
        Peer peer(spec);
        std::printf("ready %s %s\n", peer.variant(), peer.version().c_str());
        std::fflush(stdout);
        take_turns(spec, peer);
        return 0;
    } catch (const std::exception &error) {
        std::string what = error.what();
        std::printf("absent %s\n", what.substr(0, what.find('\n')).c_str());
        return 0;
    }
}
