// oneDNN's RNN primitives, of versions 2 and 3. Its GRU that resets before the product knows no activation but tanh.
#include <algorithm>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "peer.hpp"

using namespace dnnl;
using Tag = memory::format_tag;

class OneDnn {
    const Spec &spec;
    std::string cell;
    engine cpu{engine::kind::cpu, 0};
    stream queue{cpu};
    std::unique_ptr<primitive> step;
    memory x, y;
    // the states that are read and those that are written: every call swaps them
    std::vector<memory> h, c;
    std::vector<std::unordered_map<int, memory>> arguments;
    size_t turn = 0;
    std::vector<float> head, result;

    memory plain(const memory::dims &dims, Tag tag) {
        memory m({dims, memory::data_type::f32, tag}, cpu);
        float *data = static_cast<float *>(m.get_data_handle());
        std::fill_n(data, m.get_desc().get_size() / sizeof(float), 0.0f);
        return m;
    }

    // In the layout that the primitive asks for.
    memory laid_out(memory from, const memory::desc &wanted) {
        if (from.get_desc() == wanted) return from;
        memory to(wanted, cpu);
        reorder(from, to).execute(queue, from, to);
        queue.wait();
        return to;
    }

    // OpenVINO's [G*H, K] as [K, G, H], the gates in oneDNN's order.
    memory weights(const float *from, size_t k, const std::vector<size_t> &gates) {
        memory to = plain({1, 1, memory::dim(k), memory::dim(gates.size()), memory::dim(spec.units)}, Tag::ldigo);
        float *data = static_cast<float *>(to.get_data_handle());
        for (size_t i = 0; i < k; i++)
            for (size_t gate : gates)
                for (size_t o = 0; o < spec.units; o++) *data++ = from[(gate * spec.units + o) * k + i];
        return to;
    }

    template <class Forward, class... Start> void prepare(const std::vector<size_t> &gates, size_t bias_parts, bool has_c, Start... start) {
        memory::dim t = spec.steps, n = spec.batch, i = spec.inputs, u = spec.units, g = gates.size(), parts = bias_parts;
        auto any = [](const memory::dims &dims) { return memory::desc(dims, memory::data_type::f32, Tag::any); };
        x = plain({t, n, i}, Tag::tnc), y = plain({t, n, u}, Tag::tnc);
        for (int k = 0; k < 2; k++) {
            h.push_back(plain({1, 1, n, u}, Tag::ldnc));
            if (has_c) c.push_back(plain({1, 1, n, u}, Tag::ldnc));
        }
        std::vector<float> all = spec.floats("weights");
        const float *w = all.data(), *r = w + g * u * i, *b = r + g * u * u;
        memory bias = plain({1, 1, parts, u}, Tag::ldgo);
        float *into = static_cast<float *>(bias.get_data_handle());
        for (size_t part = 0; part < bias_parts; part++) {
            size_t from = part < gates.size() ? gates[part] : part;
            into = std::copy_n(b + from * spec.units, spec.units, into);
        }
        head.assign(b + bias_parts * spec.units, static_cast<const float *>(all.data()) + all.size());
        memory::desc layer = any({1, 1, i, g, u}), iter = any({1, 1, u, g, u});
        auto direction = rnn_direction::unidirectional_left2right;
        auto forward = [&](auto... tensors) {
#if DNNL_VERSION_MAJOR >= 3
            return typename Forward::primitive_desc(cpu, prop_kind::forward_inference, start..., direction, tensors...);
#else
            return typename Forward::primitive_desc(typename Forward::desc(prop_kind::forward_inference, start..., direction, tensors...), cpu);
#endif
        };
        memory::desc xd = x.get_desc(), hd = h[0].get_desc(), bd = bias.get_desc(), yd = y.get_desc();
        auto ready = [&](auto description) {
            memory wl = laid_out(weights(w, spec.inputs, gates), description.weights_layer_desc());
            memory wi = laid_out(weights(r, spec.units, gates), description.weights_iter_desc());
            step = std::make_unique<Forward>(description);
            for (int k = 0; k < 2; k++) {
                arguments.push_back({{DNNL_ARG_SRC_LAYER, x}, {DNNL_ARG_SRC_ITER, h[k]}, {DNNL_ARG_WEIGHTS_LAYER, wl},
                                     {DNNL_ARG_WEIGHTS_ITER, wi}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST_LAYER, y},
                                     {DNNL_ARG_DST_ITER, h[1 - k]}});
                if (has_c) {
                    arguments.back().insert({DNNL_ARG_SRC_ITER_C, c[k]});
                    arguments.back().insert({DNNL_ARG_DST_ITER_C, c[1 - k]});
                }
            }
        };
        if constexpr (std::is_same_v<Forward, lstm_forward>) {
            memory::desc cd = c[0].get_desc();
            ready(forward(xd, hd, cd, layer, iter, bd, yd, hd, cd));
        } else {
            ready(forward(xd, hd, layer, iter, bd, yd, hd));
        }
    }

  public:
    explicit OneDnn(const Spec &spec) : spec(spec), cell(spec.words.at("cell")) {
        if (cell == "gru_after") prepare<lbr_gru_forward>({0, 1, 2}, 4, false);
        else if (cell == "gru_before") prepare<gru_forward>({0, 1, 2}, 3, false);
        else if (cell == "rnn") prepare<vanilla_rnn_forward>({0}, 1, false, algorithm::eltwise_tanh);
        // oneDNN has i before f
        else if (cell == "lstm") prepare<lstm_forward>({1, 0, 2, 3}, 4, true);
        else throw std::runtime_error("oneDNN has no " + cell);
    }

    const char *variant() const { return cell == "gru_before" ? "tanh" : "itself"; }

    std::string version() const {
        const dnnl_version_t *v = dnnl_version();
        return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
    }

    void reset() {
        for (auto *states : {&h, &c})
            for (memory &m : *states) std::fill_n(static_cast<float *>(m.get_data_handle()), spec.batch * spec.units, 0.0f);
    }

    void call(const float *from) {
        std::copy_n(from, spec.x_len, static_cast<float *>(x.get_data_handle()));
        step->execute(queue, arguments[turn]);
        queue.wait();
        turn = 1 - turn;
        const float *out = static_cast<const float *>(y.get_data_handle());
        if (!spec.head) return;
        // the layer behind the cell, which is small: units weights and a bias
        result.assign(1, head[spec.units]);
        for (size_t j = 0; j < spec.units; j++) result[0] += head[j] * out[j];
    }

    const std::vector<float> &output() {
        const float *out = static_cast<const float *>(y.get_data_handle());
        if (!spec.head) result.assign(out, out + spec.batch * spec.steps * spec.units);
        return result;
    }
};

int main(int argc, char **argv) { return serve<OneDnn>(argc, argv); }
