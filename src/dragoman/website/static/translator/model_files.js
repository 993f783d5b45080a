// The model of the site: its files, opened.

import { Confidence } from "./confidence.js";
import { OnnxEngine, openSession } from "./onnx_engine.js";
import { SentenceTranslator } from "./sentence_translator.js";
import { TextSide } from "./text_side.js";

const RUNTIME = "runtime/ort.wasm.min.js";
const CONFIDENCE = "model/confidence.json";
const GLUE = "runtime/ort-wasm-simd-threaded.js";
const WASM = "runtime/ort-wasm-simd-threaded.wasm.gzipped"; // gzip, so that hosts without compression send less
const MOST_THREADS = 4;
const text = new TextDecoder("utf-8", { ignoreBOM: true });

/** The translator of the model; `root` is the address of the site's folder, `site` its site.json. */
export async function openModel(root, site, downloads) {
  const { search, facts } = site.model;
  const graphs = ["model/encoder.onnx", "model/step.onnx"];
  const sideFiles = Object.keys(site.files).filter((name) => name.startsWith("model/text/"));
  const confidenceFiles = CONFIDENCE in site.files ? [CONFIDENCE] : [];
  const files = await downloads.all([...graphs, ...sideFiles, ...confidenceFiles, RUNTIME, GLUE, WASM]);
  const { ort, sessions } = await openSessions(root, files, graphs);
  const [encoder, step] = sessions;
  const source = openSide("source", files);
  const target = openSide("target", files);
  const engine = new OnnxEngine(ort, { encoder, step }, facts);
  const copiesSegments = description("source", files).kind === "whitespace";
  const confidence = confidenceFiles.length ? new Confidence(JSON.parse(text.decode(files[CONFIDENCE]))) : null;
  return new SentenceTranslator(engine, source, target, search, copiesSegments, confidence);
}

/**
 * The runtime, and a session for each of the graphs: on several threads where the host's headers allow them, else on one.
 *
 * A policy may forbid the runtime's workers all the same; a second copy of the runtime then does without.
 */
async function openSessions(root, files, graphs) {
  const threads = mostThreads();
  try {
    return await openWith(threads, RUNTIME);
  } catch (error) {
    if (threads === 1) throw error;
    return openWith(1, `${RUNTIME}?one-thread`);
  }

  async function openWith(count, script) {
    const ort = await openRuntime(root, script, files[WASM], count);
    const sessions = [];
    for (const graph of graphs) sessions.push(await openSession(ort, files[graph]));
    return { ort, sessions };
  }
}

/** One core is left to the page: with threads on all of them, each step would wait for the slowest. */
function mostThreads() {
  if (!globalThis.crossOriginIsolated) return 1; // no memory is shared
  return Math.max(1, Math.min(MOST_THREADS, navigator.hardwareConcurrency - 1));
}

async function openRuntime(root, script, packed, threads) {
  const ort = await import(new URL(script, root).href);
  const unpacked = new Response(packed).body.pipeThrough(new DecompressionStream("gzip"));
  ort.env.wasm.wasmBinary = await new Response(unpacked).arrayBuffer();
  ort.env.wasm.wasmPaths = { mjs: new URL(GLUE, root).href };
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = "error";
  return ort;
}

function openSide(side, files) {
  const vocabulary = text.decode(files[`model/text/${side}.vocabulary`]);
  return new TextSide(description(side, files), files[`model/text/${side}.model`], vocabulary);
}

function description(side, files) {
  return JSON.parse(text.decode(files[`model/text/${side}.segmentation.json`]));
}
