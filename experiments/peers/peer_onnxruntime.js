// onnxruntime as a peer: a PPM of the network's size is read, converted and run.
// Node has no decoder of JPEG, so its picture costs less than the others'.
//     NODE_PATH=.../node_modules node peer_onnxruntime.js [--repeat N] [--threads N] [--dump FILE] MODEL.onnx PICTURE.ppm
//     ... --idle       loads no model: the resident bytes of node and the library
'use strict';

const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');

const now = () => Number(process.hrtime.bigint()) / 1e6;

function readOptions(argv) {
  const options = { repeat: 1, threads: 1, dump: null, idle: false };
  let i = 0;
  for (; i < argv.length && argv[i].startsWith('--'); i++) {
    if (argv[i] === '--idle') options.idle = true;
    else if (argv[i] === '--repeat') options.repeat = Number(argv[++i]);
    else if (argv[i] === '--threads') options.threads = Number(argv[++i]);
    else if (argv[i] === '--dump') options.dump = argv[++i];
    else throw new Error(`${argv[i]}: expected --repeat N, --threads N, --dump FILE or --idle`);
  }
  [options.model, options.picture] = argv.slice(i);
  if (!options.idle && !options.picture) throw new Error('expected MODEL.onnx PICTURE.ppm');
  return options;
}

function residentBytes() {
  const match = /^Rss: *(\d+) kB/m.exec(fs.readFileSync('/proc/self/smaps_rollup', 'latin1'));
  return match ? Number(match[1]) * 1024 : -1;
}

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

async function runModel(options) {
  const start = now();
  const session = await ort.InferenceSession.create(options.model, {
    executionProviders: ['cpu'],
    intraOpNumThreads: options.threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
  });
  const report = { load_ms: now() - start, latencies_ms: [] };
  let outputs;
  for (let i = 0; i < options.repeat; i++) {
    const before = now();
    const picture = readPicture(options.picture);
    const between = now();
    outputs = await session.run({ [session.inputNames[0]]: picture });
    const after = now();
    report.image_ms = between - before;
    report.layers_ms = after - between;
    report.latencies_ms.push(after - before);
  }
  if (options.dump) {
    const { data } = outputs[session.outputNames.at(-1)];
    fs.writeFileSync(options.dump, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  }
  return report;
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  const { version } = JSON.parse(fs.readFileSync(
    path.join(path.dirname(require.resolve('onnxruntime-node')), '..', 'package.json'), 'utf8'));
  const report = options.idle ? {} : await runModel(options);
  console.log(JSON.stringify({ version, ...report, measured_resident_bytes: residentBytes() }));
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
