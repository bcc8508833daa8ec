// Every output of a model of one input, as it lies, in FOLDER/K.TYPE.raw of output K; JSON: [file, dimensions] of each.
//     NODE_PATH=.../node_modules node numbers_onnxruntime.js MODEL.onnx INPUT.raw FOLDER
'use strict';

const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');

const ARRAYS = { float32: Float32Array, int8: Int8Array, uint8: Uint8Array };

async function main() {
  const [model, input, folder] = process.argv.slice(2);
  const session = await ort.InferenceSession.create(model, { executionProviders: ['cpu'], executionMode: 'sequential' });
  const { shape: said, type } = session.inputMetadata[0];
  const shape = said.map((n) => (typeof n === 'number' && n > 0 ? n : 1));
  const bytes = fs.readFileSync(input);
  const values = new ARRAYS[type](Uint8Array.from(bytes).buffer);
  const outputs = await session.run({ [session.inputNames[0]]: new ort.Tensor(type, values, shape) });
  const told = session.outputNames.map((name, k) => {
    const { data, dims, type: kind } = outputs[name], file = path.join(folder, `${k}.${kind}.raw`);
    fs.writeFileSync(file, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    return [file, dims];
  });
  console.log(JSON.stringify(told));
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
