"""Word alignment: links and their file formats, links from attention, statistical aligners, and AER."""
