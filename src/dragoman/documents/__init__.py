"""Documents: their texts as HTML, translated sentence by sentence, and written again in their place."""
