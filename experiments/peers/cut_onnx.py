#!/usr/bin/python3
"""Cuts a quantized ONNX model (QDQ) into its operators, so that each can be given the values of
onnxruntime's previous operators.

  cut_onnx.py MODEL.onnx INPUT.raw FOLDER

FOLDER/K.TYPE.raw has the values of 8-bit tensor K as onnxruntime computes them. FOLDER/piece-K.onnx
has the operators between such tensors, some in parallel. Standard output: JSON, for each piece
{"inputs": {"name in the piece": "file of its values"}, "outputs": {"name": "file"}}.

Needs Debian's python3-onnx and what experiments/peers/install.sh installs."""

import json
import os
import subprocess
import sys

import onnx
from onnx import helper

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_INPUTS, MOST_OUTPUTS = 16, 16   # limits of run_inference's options
GIVEN = "_given"


class Cutter:
    """A model with 8-bit tensors between its operators."""

    def __init__(self, path):
        self.model = onnx.load(path)
        graph = self.model.graph
        self.constants = {one.name: one for one in graph.initializer}
        self.makers = {name: node for node in graph.node for name in node.output}
        self.inputs = {one.name: one for one in graph.input}
        self.numbers = [node.output[0] for node in graph.node if node.op_type == "QuantizeLinear"]
        self.types = {node.output[0]: self.constants[node.input[2]].data_type for node in graph.node if node.op_type == "QuantizeLinear"}
        self.types.update((one.name, one.type.tensor_type.elem_type) for one in graph.input)
        self.shapes, self.files = {}, {}   # of 8-bit tensors and the input

    def run(self, given, folder):
        """Runs the model with onnxruntime, which also gives the shapes."""
        path, modules = os.path.join(folder, "whole.onnx"), os.path.join(os.environ.get("BUILD", os.path.join(HERE, "..", "..", "build")), "peers", "node_modules")
        graph = self.model.graph
        self.write(path, graph.node, graph.input, self.numbers, graph.initializer)
        done = subprocess.run(["node", os.path.join(HERE, "numbers_onnxruntime.js"), path, given, folder], capture_output=True, text=True,
                              env=dict(os.environ, NODE_PATH=os.path.abspath(modules)), check=False)
        os.unlink(path)
        if done.returncode != 0:
            raise OSError("onnxruntime: " + (done.stderr.strip().splitlines() or ["exit status %d" % done.returncode])[-1])
        for name, (file, shape) in zip(self.numbers, json.loads(done.stdout)):
            self.files[name], self.shapes[name] = file, shape
        for one in graph.input:
            self.shapes[one.name] = [size.dim_value or 1 for size in one.type.tensor_type.shape.dim]
            self.files[one.name] = given

    def needs(self, tensor):
        """Nodes between a tensor and the 8-bit tensors it is computed from, in order; and these
        tensors."""
        nodes, ends = [], []

        def visit(name):
            if name in self.constants or not name:
                return
            if (name in self.types and name != tensor) or name in self.inputs:
                if name not in ends:
                    ends.append(name)
                return
            node = self.makers[name]
            for one in node.input:
                visit(one)
            if node not in nodes:
                nodes.append(node)

        visit(tensor)
        return nodes, ends

    def pieces(self):
        """(nodes, inputs, outputs), with at most as many tensors as there are options."""
        now = ([], [], [])
        for tensor in self.numbers:
            nodes, ends = self.needs(tensor)
            joined = now[1] + [end for end in ends if end not in now[1]]
            if now[2] and (len(now[2]) == MOST_OUTPUTS or len(joined) > MOST_INPUTS):
                yield now
                now, joined = ([], [], []), ends
            now = (now[0] + [node for node in nodes if node not in now[0]], joined, now[2] + [tensor])
        if now[2]:
            yield now

    def info(self, name, tensor):
        return helper.make_tensor_value_info(name, self.types[tensor], self.shapes.get(tensor))

    def write_piece(self, path, nodes, inputs, outputs):
        """Renames inputs, because some are also outputs."""
        copies, read = [], set()
        for node in nodes:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.input[:] = [name + GIVEN if name in inputs else name for name in node.input]
            read.update(copy.input)
            copies.append(copy)
        self.write(path, copies, [self.info(name + GIVEN, name) for name in inputs], outputs,
                   [one for name, one in self.constants.items() if name in read])

    def write(self, path, nodes, inputs, outputs, constants):
        graph = helper.make_graph(nodes, "cut", inputs, [self.info(name, name) for name in outputs], constants)
        made = helper.make_model(graph, opset_imports=list(self.model.opset_import))
        made.ir_version = self.model.ir_version
        onnx.save(made, path)

    def cut(self, given, folder):
        self.run(given, folder)
        told = []
        for k, (nodes, inputs, outputs) in enumerate(self.pieces()):
            self.write_piece(os.path.join(folder, "piece-%d.onnx" % k), nodes, inputs, outputs)
            told.append({"inputs": {name + GIVEN: self.files[name] for name in inputs}, "outputs": {name: self.files[name] for name in outputs}})
        return told


def main():
    if len(sys.argv) != 4:
        print("cut_onnx.py: expected MODEL.onnx INPUT.raw FOLDER", file=sys.stderr)
        return 2
    try:
        json.dump(Cutter(sys.argv[1]).cut(*sys.argv[2:]), sys.stdout)
    except (KeyError, OSError) as error:
        print("cut_onnx.py: %s: %s" % (sys.argv[1], error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
