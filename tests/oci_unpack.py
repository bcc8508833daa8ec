#!/usr/bin/env python3
"""Unpacks an OCI image from a tar into a folder, as a container's engine would: every digest and size is checked. Prints the
architecture. usage: oci_unpack.py IMAGE.tar FOLDER"""

import gzip
import hashlib
import io
import json
import sys
import tarfile


def main():
    image, folder = sys.argv[1:]
    with tarfile.open(image) as tar:
        read = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}

    def blob(descriptor):
        data = read["blobs/" + descriptor["digest"].replace(":", "/")]
        assert len(data) == descriptor["size"], "a blob of another size"
        assert "sha256:" + hashlib.sha256(data).hexdigest() == descriptor["digest"], "a blob of another digest"
        return data

    assert json.loads(read["oci-layout"])["imageLayoutVersion"] == "1.0.0"
    (entry,) = json.loads(read["index.json"])["manifests"]
    manifest = json.loads(blob(entry))
    config = json.loads(blob(manifest["config"]))
    assert config["architecture"] == entry["platform"]["architecture"] and config["os"] == "linux"
    assert len(manifest["layers"]) == len(config["rootfs"]["diff_ids"])
    (docker,) = json.loads(read["manifest.json"])
    assert [docker["Config"], *docker["Layers"]] == \
        ["blobs/" + d["digest"].replace(":", "/") for d in (manifest["config"], *manifest["layers"])]
    assert sorted(n for n in read if n.startswith("blobs/")) == \
        sorted("blobs/" + d["digest"].replace(":", "/") for d in (entry, manifest["config"], *manifest["layers"])), "a blob of nobody"
    for layer, digest in zip(manifest["layers"], config["rootfs"]["diff_ids"]):
        data = gzip.decompress(blob(layer))
        assert "sha256:" + hashlib.sha256(data).hexdigest() == digest, "a layer of another digest"
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            assert all(m.uid == m.gid == 0 and not m.name.startswith("/") and ".." not in m.name for m in tar)
            tar.extractall(folder)
    entrypoint = config["config"]["Entrypoint"][0]
    with open(folder + entrypoint, "rb") as file:
        assert file.read(4) == b"\x7fELF", "what it runs is no program"
    print(config["architecture"])


if __name__ == "__main__":
    main()
