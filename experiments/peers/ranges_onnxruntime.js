// The least and the largest element of every output of a model, over some inputs of raw floats: JSON, {"name": [least, largest]}.
//     NODE_PATH=.../node_modules node ranges_onnxruntime.js MODEL.onnx INPUT.raw...
'use strict';

const fs = require('fs');
const ort = require('onnxruntime-node');

function readFloats(file, session) {
  const shape = session.inputMetadata[0].shape.map((n) => (typeof n === 'number' && n > 0 ? n : 1));
  const bytes = fs.readFileSync(file);
  const floats = new Float32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 4));
  if (floats.length !== shape.reduce((all, n) => all * n, 1)) throw new Error(`${file}: expected ${shape.join(' x ')} floats`);
  return new ort.Tensor('float32', Float32Array.from(floats), shape);
}

async function main() {
  const [model, ...inputs] = process.argv.slice(2);
  const session = await ort.InferenceSession.create(model, { executionProviders: ['cpu'], graphOptimizationLevel: 'disabled' });
  const ranges = {};
  for (const input of inputs) {
    const outputs = await session.run({ [session.inputNames[0]]: readFloats(input, session) });
    for (const name of session.outputNames) {
      if (outputs[name].type !== 'float32') continue;
      const range = ranges[name] || (ranges[name] = [Infinity, -Infinity]);
      for (const x of outputs[name].data) {
        if (x < range[0]) range[0] = x;
        if (x > range[1]) range[1] = x;
      }
    }
  }
  console.log(JSON.stringify(ranges));
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
