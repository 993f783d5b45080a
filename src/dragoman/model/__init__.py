"""The translation model: five parts and the file that puts them together."""
