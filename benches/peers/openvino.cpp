// OpenVINO by its C++ API, on the IR that the bench wrote.
#include <algorithm>
#include <openvino/openvino.hpp>

#include "peer.hpp"

class OpenVino {
    ov::InferRequest request;
    std::vector<ov::Tensor> inputs, outputs;
    std::vector<float> first;

  public:
    explicit OpenVino(const Spec &spec) {
        ov::Core core;
        ov::CompiledModel model = core.compile_model(
            spec.words.at("ir"), "CPU", ov::inference_num_threads(1), ov::num_streams(1),
            ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY), ov::hint::inference_precision(ov::element::f32),
            ov::hint::enable_cpu_pinning(false));
        request = model.create_infer_request();
        for (size_t i = 0; i < model.inputs().size(); i++) {
            inputs.emplace_back(ov::element::f32, model.input(i).get_shape());
            request.set_input_tensor(i, inputs.back());
        }
        for (size_t i = 0; i < model.outputs().size(); i++) {
            outputs.emplace_back(ov::element::f32, model.output(i).get_shape());
            request.set_output_tensor(i, outputs.back());
        }
        reset();
    }

    const char *variant() const { return "itself"; }

    std::string version() const { return ov::get_openvino_version().buildNumber; }

    void reset() {
        for (ov::Tensor &input : inputs) std::fill_n(input.data<float>(), input.get_size(), 0.0f);
    }

    void call(const float *x) {
        std::copy_n(x, inputs[0].get_size(), inputs[0].data<float>());
        request.infer();
        // the last outputs are the states
        size_t states = inputs.size() - 1;
        for (size_t i = 0; i < states; i++) {
            const ov::Tensor &from = outputs[outputs.size() - states + i];
            std::copy_n(from.data<const float>(), from.get_size(), inputs[1 + i].data<float>());
        }
    }

    const std::vector<float> &output() {
        first.assign(outputs[0].data<float>(), outputs[0].data<float>() + outputs[0].get_size());
        return first;
    }
};

int main(int argc, char **argv) { return serve<OpenVino>(argc, argv); }
