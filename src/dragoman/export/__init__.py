"""A trained run as a folder that needs numpy and onnxruntime only: ONNX graphs, text processing, configuration."""
