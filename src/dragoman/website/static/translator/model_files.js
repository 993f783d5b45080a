// The model of the site: its files, opened.

import { OnnxEngine, openSession } from "./onnx_engine.js";
import { SentenceTranslator } from "./sentence_translator.js";
import { TextSide } from "./text_side.js";

const RUNTIME = "runtime/ort.wasm.min.js";
const GLUE = "runtime/ort-wasm-simd-threaded.js";
const WASM = "runtime/ort-wasm-simd-threaded.wasm.gzipped"; // gzip, so that hosts without compression send less
const text = new TextDecoder("utf-8", { ignoreBOM: true });

/** The translator of the model; `root` is the address of the site's folder, `site` its site.json. */
export async function openModel(root, site, downloads) {
  const { search, facts } = site.model;
  const graphs = ["model/encoder.onnx", "model/step.onnx"];
  const sideFiles = Object.keys(site.files).filter((name) => name.startsWith("model/text/"));
  const files = await downloads.all([...graphs, ...sideFiles, RUNTIME, GLUE, WASM]);
  const ort = await openRuntime(root, files);
  const [encoder, step] = [await openSession(ort, files[graphs[0]]), await openSession(ort, files[graphs[1]])];
  const source = openSide("source", files);
  const target = openSide("target", files);
  const engine = new OnnxEngine(ort, { encoder, step }, facts);
  const copiesSegments = description("source", files).kind === "whitespace";
  return new SentenceTranslator(engine, source, target, search, copiesSegments);
}

async function openRuntime(root, files) {
  const ort = await import(new URL(RUNTIME, root).href);
  const packed = new Response(files[WASM]).body.pipeThrough(new DecompressionStream("gzip"));
  ort.env.wasm.wasmBinary = await new Response(packed).arrayBuffer();
  ort.env.wasm.wasmPaths = { mjs: new URL(GLUE, root).href };
  ort.env.wasm.numThreads = 1; // as in Python: waiting for threads after each product costs more than it saves
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
