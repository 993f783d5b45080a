-- The script of wrk for bench/serving.py: POST requests whose bodies are the lines of a file, in a random order.
--
-- Environment: BODIES, the file; URL_PATH, the path of the requests; PAUSE, the mean milliseconds between an answer and the
-- next request of the same connection (0: none). Prints one line of JSON after "RESULT ".

local bodies = {}
for line in io.lines(os.getenv("BODIES")) do
    bodies[#bodies + 1] = line
end
local path = os.getenv("URL_PATH")
local pause = tonumber(os.getenv("PAUSE") or "0")
local headers = { ["Content-Type"] = "application/json" }
local threads = {}

function setup(thread)
    thread:set("number", #threads + 1)
    threads[#threads + 1] = thread
end

function init(_)
    math.randomseed(number)
    counts = ""
    local_counts = {}
end

function request()
    return wrk.format("POST", path, headers, bodies[math.random(#bodies)])
end

if pause > 0 then
    function delay()
        -- Exponential, as of independent visitors; the server closes connections that are idle for 10 seconds.
        return math.min(-pause * math.log(1 - math.random()), 8000)
    end
end

function response(status, _, _)
    local_counts[status] = (local_counts[status] or 0) + 1
    -- Only strings and numbers can be read from another thread.
    local parts = {}
    for code, count in pairs(local_counts) do
        parts[#parts + 1] = code .. "=" .. count
    end
    counts = table.concat(parts, " ")
end

function done(summary, latency, _)
    local statuses = {}
    for _, thread in ipairs(threads) do
        for code, count in string.gmatch(thread:get("counts"), "(%d+)=(%d+)") do
            statuses[code] = (statuses[code] or 0) + tonumber(count)
        end
    end
    local shown = {}
    for code, count in pairs(statuses) do
        shown[#shown + 1] = string.format('"%s": %d', code, count)
    end
    io.write(string.format(
        'RESULT {"requests": %d, "seconds": %.3f, "p50_ms": %.3f, "p95_ms": %.3f, "p99_ms": %.3f, "statuses": {%s}, '
            .. '"connect": %d, "read": %d, "write": %d, "timeout": %d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(95) / 1e3,
        latency:percentile(99) / 1e3, table.concat(shown, ", "), summary.errors.connect, summary.errors.read,
        summary.errors.write, summary.errors.timeout))
end
