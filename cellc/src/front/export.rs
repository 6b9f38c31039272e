//! PyTorch's export of a network to ONNX, for messages about files other than models.

/// The call that exports a PyTorch network with an open number of steps in its input `x`.
pub(super) const EXPORT_WITH_OPEN_STEPS: &str = "torch.onnx.export(net.eval(), (x,), \"net.onnx\", \
    dynamic_shapes={\"x\": {1: torch.export.Dim(\"steps\")}})";
