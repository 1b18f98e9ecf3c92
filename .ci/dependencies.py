#!/usr/bin/env python3
"""What dependencies ask for: no newer compiler than ours, and their notices beside a binary.

    .ci/dependencies.py            looks at the compilers
    .ci/dependencies.py FILE       and writes their licences into FILE, which a wheel carries

Which licences and sources are allowed stands in .cargo/deny.toml, for cargo-deny.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXTS = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def linked(metadata):
    """The packages that are built for the program: no tests, no benchmarks."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    found, waiting = {}, [root]
    while waiting:
        at = waiting.pop()
        for dependency in nodes[at]["deps"]:
            built = any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])
            if built and dependency["pkg"] not in found:
                found[dependency["pkg"]] = packages[dependency["pkg"]]
                waiting.append(dependency["pkg"])
    by_name = sorted(found.values(), key=lambda package: (package["name"], package["version"]))
    return packages[root], by_name


def release(version):
    return tuple(int(part) for part in (version.split(".") + ["0", "0"])[:3])


def texts(package):
    """The licence files of a package; of MIT and others to choose from, MIT. Files of a folder inside are those of what
    the package holds of others (a font), and always belong to it."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and TEXTS.match(path.name)]
    files = [path for path in files if path.suffix.lower() not in {".rs", ".html", ".py", ".toml"}]
    inside = [path for path in files if path.parent != folder]
    mit = [path for path in files if "mit" in path.name.lower() and path not in inside]
    choice = " OR " in (package["license"] or "").replace("/", " OR ") and " AND " not in package["license"]
    told = [path for path in files if re.match("notice|copyright", path.name.lower()) and path not in mit + inside]
    chosen = mit + told + inside if choice and mit else files
    return [path.read_text(errors="replace").strip() for path in chosen]


def notices(packages):
    """All of them: a list of the packages, then each text once."""
    lines = ["mha contains these packages, each under the licence named beside it.", ""]
    lines += [f"{one['name']} {one['version']}: {one['license']}" for one in packages]
    seen = {}
    for one in packages:
        for text in texts(one):
            seen.setdefault(" ".join(text.split()), (text, []))[1].append(f"{one['name']} {one['version']}")
        if not texts(one):
            place = one["repository"] or f"https://crates.io/crates/{one['name']}"
            by = ", ".join(one["authors"]) or "its authors"
            text = f"{one['license']}\nCopyright {by}. The text of this licence stands with others here. Source: {place}"
            seen[one["id"]] = (text, [f"{one['name']} {one['version']}"])
    for text, names in seen.values():
        lines += ["", "-" * 100, ", ".join(names), "", text]
    return "\n".join(lines) + "\n"


def main():
    host = re.search("host: (.*)", subprocess.run(["rustc", "-vV"], capture_output=True, text=True).stdout).group(1)
    metadata = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    ours, packages = linked(json.loads(subprocess.check_output(metadata, cwd=ROOT)))
    wrong = []
    for one in packages:
        called = f"{one['name']} {one['version']}"
        if release(one["rust_version"] or "1.0") > release(ours["rust_version"]):
            wrong.append(f"{called} needs Rust {one['rust_version']}, and rust-version is {ours['rust_version']}")
    print(f"{len(packages)} packages in the program: {len(wrong)} that cannot be in it")
    if wrong:
        sys.exit("\n".join(wrong))
    if len(sys.argv) > 1:
        # What is built for this machine alone.
        here = json.loads(subprocess.check_output(metadata + ["--filter-platform", host], cwd=ROOT))
        text = notices(linked(here)[1])
        path = pathlib.Path(sys.argv[1])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"{path}: {len(text) // 1024} KiB")


main()
