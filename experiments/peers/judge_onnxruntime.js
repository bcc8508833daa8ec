// What onnxruntime puts out for files that come through standard input with an input and what they are to put out (frames of
// tests/differential/random_graphs.c), one after the other, as they are written: optimised, onnxruntime differs from itself.
//     random_graphs onnx FIRST COUNT | NODE_PATH=.../node_modules node judge_onnxruntime.js
'use strict';

const fs = require('fs');
const ort = require('onnxruntime-node');

const count = { graphs: 0, floats: 0, refused: 0, failures: 0 };
let worst = 0;

// The next n bytes of standard input; null where it has ended.
function take(n) {
  const bytes = Buffer.alloc(n);
  for (let got = 0; got < n;) {
    const more = fs.readSync(0, bytes, got, n - got, null);
    if (more === 0) return null;
    got += more;
  }
  return bytes;
}

const takeWord = () => take(4).readUInt32LE(0);
const takeFloats = (n) => { const bytes = take(4 * n); return new Float32Array(bytes.buffer, bytes.byteOffset, n); };

function fail(number, text) {
  console.log(`FAIL graph ${number}: ${text}`);
  count.failures++;
}

function compare(number, output, results) {
  const found = results[output.name];
  if (!found || found.data.length !== output.floats.length) {
    fail(number, `output ${output.name}: ${found ? found.data.length : 'no'} values, expected ${output.floats.length}`);
    return;
  }
  let most = 0;
  for (let i = 0; i < output.floats.length; i++) {
    const d = Math.abs(found.data[i] - output.floats[i]) / output.off;
    if (!(d <= most)) most = d;
  }
  count.floats += output.floats.length;
  if (!(most <= 1)) fail(number, `output ${output.name} is off by ${most.toFixed(2)} times what it may be`);
  else worst = Math.max(worst, most);
}

async function judge() {
  const [number, bytes, n, nOutputs] = [takeWord(), takeWord(), takeWord(), takeWord()];
  const file = take(bytes), input = takeFloats(n), outputs = [];
  for (let i = 0; i < nOutputs; i++) {
    const nameBytes = takeWord(), floats = takeWord();
    outputs.push({ name: take(nameBytes).toString(), off: takeFloats(1)[0], floats: takeFloats(floats) });
  }
  let session;
  try {
    session = await ort.InferenceSession.create(file, { graphOptimizationLevel: 'disabled', intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential', logSeverityLevel: 4 });
  } catch (error) {
    console.log(`refused: graph ${number}: ${String(error.message).split('\n')[0]}`);
    count.refused++;
    return;
  }
  const dims = session.inputMetadata[0].shape;
  const results = await session.run({ [session.inputNames[0]]: new ort.Tensor('float32', input, dims) });
  for (const output of outputs) compare(number, output, results);
  count.graphs++;
  await session.release();
}

(async () => {
  for (let magic; (magic = take(4)) !== null && magic.toString() === 'MGRF';) await judge();
  console.log(`${count.failures ? 'FAIL' : 'ok'} ${count.graphs} graphs as onnxruntime puts them out, ${count.floats} values, ${worst.toFixed(2)} of what they may be off at most; ` +
    `${count.refused} refused, ${count.failures} failures`);
  process.exit(count.failures ? 1 : 0);
})();
