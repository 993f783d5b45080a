"""`dragoman serve`: models behind an HTTP server."""

SUMMARY = "serve translations over HTTP"
DESCRIPTION = (
    "Serves a page for browsers at / and three interfaces for programs: that of LibreTranslate (POST\n"
    "/translate, /detect, /translate_file, GET /languages), a part of DeepL's (POST /v2/translate) and\n"
    "its own (POST /v1/translate, /v1/complete). GET /spec describes all requests. A model is loaded at\n"
    "its first request, and again when its folder has changed. The log goes to standard error, one JSON\n"
    "object per line. On SIGTERM the server finishes its open requests and exits."
)
EXAMPLES = (
    "dragoman serve LIGHT",
    "dragoman serve DE-EN EN-DE --port 8000 --keep-loaded 500",
    "dragoman serve DE-EN --memory memory.tmx",
    "dragoman serve de:en=RUN --api-keys keys.txt --rate 60",
)

REQUEST = "dragoman.requests.serving.ServingRequest"
RUN = "dragoman.serving.server.serve_folders"
