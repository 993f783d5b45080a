"""Export of trained runs as folders that need only numpy and onnxruntime: ONNX graphs, text and configuration."""
