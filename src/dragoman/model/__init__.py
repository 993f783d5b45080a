"""The translation model and the language model: their layers, and their assembly from a configuration."""
