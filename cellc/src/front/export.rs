//! The line by which PyTorch exports a network, for messages about files that are no models.

/// The call that exports a network of PyTorch, the number of steps of its input `x` open.
pub(super) const EXPORT_WITH_OPEN_STEPS: &str =
    "torch.onnx.export(net.eval(), (x,), \"net.onnx\", dynamic_shapes={\"x\": {1: torch.export.Dim(\"steps\")}})";
