#!/usr/bin/env python3
"""Writes a container image as one tar file: an OCI image layout with the manifest that `docker load` needs.

Its one layer has only the files that are named. The same files give the same bytes.
"""

import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import tarfile

# Machine name: architecture and variant in the OCI specification.
PLATFORMS = {"x86_64": ("amd64", None), "aarch64": ("arm64", "v8"), "armv7": ("arm", "v7")}
NOBODY = 65534
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def add(tar, name, data, created, mode=0o644):
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(data), mode, created
    tar.addfile(info, io.BytesIO(data))


def layer_of(files, created):
    """A tar file of the files and their folders, sorted."""
    folders = {folder for path in files for folder in parents(path)} | {"data", "tmp"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(folders | set(files)):
            if path in folders:
                info = tarfile.TarInfo(path)
                info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o1777 if path == "tmp" else 0o755, created
                tar.addfile(info)
            else:
                with open(files[path], "rb") as file:
                    add(tar, path, file.read(), created, 0o755 if os.access(files[path], os.X_OK) else 0o644)
    return out.getvalue()


def parents(path):
    while path := os.path.dirname(path):
        yield path


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--architecture", required=True, choices=PLATFORMS)
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--created", type=int, required=True, metavar="SECONDS", help="since 1970, of everything in it")
    parser.add_argument("--entrypoint", required=True)
    parser.add_argument("out")
    parser.add_argument("files", nargs="+", metavar="PATH=FILE", help="what the image has at PATH")
    o = parser.parse_args()
    blobs = {}

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}

    architecture, variant = PLATFORMS[o.architecture]
    platform = {"architecture": architecture, "os": "linux"} | ({"variant": variant} if variant else {})
    files = dict(pair.split("=", 1) for pair in o.files)
    created = datetime.datetime.fromtimestamp(o.created, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    tar = layer_of(files, o.created)
    layer = blob(gzip.compress(tar, 9, mtime=0), LAYER)
    config = blob(as_json(platform | {
        "created": created,
        "config": {"Entrypoint": [o.entrypoint], "Env": ["PATH=/bin"], "User": f"{NOBODY}:{NOBODY}", "WorkingDir": "/data",
                   "Labels": {"org.opencontainers.image.title": o.name, "org.opencontainers.image.version": o.version,
                              "org.opencontainers.image.licenses": "MIT"}},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(tar).hexdigest()]},
        "history": [{"created": created, "created_by": "make release"}]}), CONFIG)
    manifest = blob(as_json({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]}), MANIFEST)
    manifest |= {"platform": platform, "annotations": {"org.opencontainers.image.ref.name": o.version}}
    path = {one["digest"]: "blobs/" + one["digest"].replace(":", "/") for one in (layer, config)}
    docker = [{"Config": path[config["digest"]], "RepoTags": [f"{o.name}:{o.version}"], "Layers": [path[layer["digest"]]]}]
    with tarfile.open(o.out + ".part", "w", format=tarfile.USTAR_FORMAT) as out:
        add(out, "oci-layout", as_json({"imageLayoutVersion": "1.0.0"}), o.created)
        add(out, "index.json", as_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest]}), o.created)
        add(out, "manifest.json", as_json(docker), o.created)
        for digest in sorted(blobs):
            add(out, "blobs/sha256/" + digest, blobs[digest], o.created)
    os.rename(o.out + ".part", o.out)


if __name__ == "__main__":
    main()
