"""The papers' tables and figures on a corpus of one's own: experiments, their runs, and the claims that they test."""
