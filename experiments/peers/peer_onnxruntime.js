// onnxruntime as a peer: a PPM of the network's size is read, converted and run; or raw numbers as the model's input has them.
// Node has no decoder of JPEG, so its picture costs less than the others'.
//     NODE_PATH=.../node_modules node peer_onnxruntime.js [--repeat N] [--threads N] [--dump FILE] MODEL.onnx PICTURE.ppm|INPUT.raw
//     ... --dump FILE  the last output, of a PPM; of raw numbers all outputs, one after the other, as floats
//     ... --plain      the graph is run as it is written: for comparisons, not for times
//     ... --idle       loads no model: the resident bytes of node and the library
'use strict';

const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');

const now = () => Number(process.hrtime.bigint()) / 1e6;

function readOptions(argv) {
  const options = { repeat: 1, threads: 1, dump: null, idle: false, optimization: 'all' };
  let i = 0;
  for (; i < argv.length && argv[i].startsWith('--'); i++) {
    if (argv[i] === '--idle') options.idle = true;
    else if (argv[i] === '--plain') options.optimization = 'disabled';
    else if (argv[i] === '--repeat') options.repeat = Number(argv[++i]);
    else if (argv[i] === '--threads') options.threads = Number(argv[++i]);
    else if (argv[i] === '--dump') options.dump = argv[++i];
    else throw new Error(`${argv[i]}: expected --repeat N, --threads N, --dump FILE, --plain or --idle`);
  }
  [options.model, options.picture] = argv.slice(i);
  if (!options.idle && !options.picture) throw new Error('expected MODEL.onnx PICTURE.ppm or INPUT.raw');
  return options;
}

function bytesOf(file, pattern) {
  const match = pattern.exec(fs.readFileSync(file, 'latin1'));
  return match ? Number(match[1]) * 1024 : -1;
}

const residentBytes = () => bytesOf('/proc/self/smaps_rollup', /^Rss: *(\d+) kB/m);
const peakBytes = () => bytesOf('/proc/self/status', /^VmHWM:\s*(\d+) kB/m);

const UNIT = Float32Array.from({ length: 256 }, (_, i) => i / 255);

let floats; // kept from run to run: garbage is not onnxruntime's memory

// 0 ... 1, channel by channel. The writer of our PPM puts no comments into it.
function readPicture(file) {
  const bytes = fs.readFileSync(file);
  const header = /^P6\s+(\d+)\s+(\d+)\s+255\s/.exec(bytes.toString('latin1', 0, 64));
  if (!header) throw new Error(`${path.basename(file)}: expected a PPM with 8 bits`);
  const width = Number(header[1]), height = Number(header[2]), n = width * height;
  if (!floats) floats = new Float32Array(3 * n);
  for (let i = 0, from = header[0].length; i < n; i++, from += 3) {
    floats[i] = UNIT[bytes[from]];
    floats[n + i] = UNIT[bytes[from + 1]];
    floats[2 * n + i] = UNIT[bytes[from + 2]];
  }
  return new ort.Tensor('float32', floats, [1, 3, height, width]);
}

const ARRAYS = { float32: Float32Array, int8: Int8Array, uint8: Uint8Array };

// The numbers as they lie; a dimension that is left open is 1.
function readFloats(file, session) {
  if (session.inputNames.length !== 1) throw new Error('expected a model with one input');
  const { shape: said, type } = session.inputMetadata[0];
  const shape = said.map((n) => (typeof n === 'number' && n > 0 ? n : 1));
  if (!ARRAYS[type]) throw new Error(`expected an input of ${Object.keys(ARRAYS).join(', ')}, found ${type}`);
  if (!floats) floats = new ARRAYS[type](shape.reduce((all, n) => all * n, 1));
  const descriptor = fs.openSync(file);
  const n = fs.readSync(descriptor, floats, 0, floats.byteLength, 0);
  fs.closeSync(descriptor);
  if (n !== floats.byteLength) throw new Error(`${path.basename(file)}: ends too early`);
  return new ort.Tensor(type, floats, shape);
}

const isRaw = (options) => options.picture.endsWith('.raw');

function dump(options, session, outputs) {
  const names = isRaw(options) ? session.outputNames : session.outputNames.slice(-1);
  const parts = names.map((name) => outputs[name]);
  if (parts.some((part) => !ARRAYS[part.type])) throw new Error('expected outputs of floats, or of 8 bits');
  fs.writeFileSync(options.dump, Buffer.concat(parts.map(({ data }) => Buffer.from(Float32Array.from(data).buffer))));
}

async function runModel(options) {
  const start = now();
  const session = await ort.InferenceSession.create(options.model, {
    executionProviders: ['cpu'],
    intraOpNumThreads: options.threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: options.optimization,
  });
  const report = { load_ms: now() - start, latencies_ms: [] };
  let outputs;
  for (let i = 0; i < options.repeat; i++) {
    const before = now();
    const picture = isRaw(options) ? readFloats(options.picture, session) : readPicture(options.picture);
    const between = now();
    outputs = await session.run({ [session.inputNames[0]]: picture });
    const after = now();
    report.image_ms = between - before;
    report.layers_ms = after - between;
    report.latencies_ms.push(after - before);
  }
  if (options.dump) dump(options, session, outputs);
  return report;
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  const { version } = JSON.parse(fs.readFileSync(
    path.join(path.dirname(require.resolve('onnxruntime-node')), '..', 'package.json'), 'utf8'));
  const report = options.idle ? {} : await runModel(options);
  console.log(JSON.stringify({ version, ...report, measured_resident_bytes: residentBytes(), vm_hwm_bytes: peakBytes() }));
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
