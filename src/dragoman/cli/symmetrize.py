"""`dragoman symmetrize`: the word alignments of two directions, combined."""

SUMMARY = "combine word alignments of both directions"
DESCRIPTION = (
    "Combines source-to-target and target-to-source word alignments line by line with a symmetrization\n"
    "heuristic. Files are in Pharaoh format, i-j with the source word first. Indices are kept, so all\n"
    "files may count from 1."
)
EXAMPLES = (
    "dragoman symmetrize forward.align backward.align > both.align",
    "dragoman symmetrize de-en.align en-de.align --swapped --symmetrize intersection",
)

REQUEST = "dragoman.requests.alignment.SymmetrizationRequest"
RUN = "dragoman.workflows.links.symmetrize_files"
