"""Feature weights over n-best lists: reading them, reranking with them, and tuning them (MERT, PRO, MIRA)."""
