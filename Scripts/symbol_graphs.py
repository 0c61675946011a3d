# SPDX-License-Identifier: MIT
"""The symbol graphs of built modules: of the debug build, and of the sources as Apple's systems see them."""
import functools
import json
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / ".build" / "debug" / "Modules"
# Scripts/check-apple leaves its modules there.
APPLE = ROOT / ".build" / "check-apple" / "modules"
# Every type has these conformances unless it says otherwise, or they follow from Sendable.
IMPLIED = {"Copyable", "Escapable", "SendableMetatype"}
EXPORT = re.compile(r"^@_exported import (\w+)", re.M)


class Problem(Exception):
    """What keeps a script from working, in a sentence for its user."""


@functools.cache
def package(root=ROOT):
    """What Package.swift describes."""
    # In a separate build folder, which no build has locked.
    command = ["swift", "package", "--package-path", str(root), "--scratch-path", str(root / ".build/affected"), "dump-package"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def sources(root, target):
    """The Swift files of a target that Package.swift describes."""
    folder = root / (target.get("path") or f"Sources/{target['name']}")
    others = {folder / name for name in target.get("exclude", [])}
    return [path for path in folder.rglob("*.swift") if not others & {path, *path.parents}]


def exports(root, module):
    """The modules that a module exports again."""
    target = next(target for target in package(root)["targets"] if target["name"] == module)
    return sorted({name for path in sources(root, target) for name in EXPORT.findall(path.read_text())})


def public_modules(root=ROOT):
    """The modules of the library products and those that they export again, each with its upcoming features."""
    described = package(root)
    targets = {target["name"]: target for target in described["targets"]}
    found = {name for product in described["products"] if "library" in product["type"] for name in product["targets"]}
    while more := {name for module in found for name in exports(root, module) if name in targets} - found:
        found |= more
    return {name: sorted(setting["kind"]["enableUpcomingFeature"]["_0"] for setting in targets[name].get("settings", [])
                         if "enableUpcomingFeature" in setting["kind"]) for name in sorted(found)}


def in_order(root=ROOT):
    """The public modules, each after those that it depends on."""
    needed = {target["name"]: [(one.get("byName") or one.get("target"))[0] for one in target["dependencies"]]
              for target in package(root)["targets"]}
    order = []

    def visit(name):
        if name not in order:
            for one in needed[name]:
                visit(one)
            order.append(name)

    public = public_modules(root)
    for name in public:
        visit(name)
    return [name for name in order if name in public]


def floor(root=ROOT):
    """{system: the oldest version that the package supports}, as symbol graphs have them."""
    names = {"ios": "iOS", "macos": "macOS", "tvos": "tvOS", "watchos": "watchOS", "visionos": "visionOS"}
    found = {}
    for platform in package(root)["platforms"]:
        major, minor = (platform["version"].split(".") + ["0"])[:2]
        found[names[platform["platformName"]]] = {"major": int(major), "minor": int(minor)}
    return found


def triple():
    info = subprocess.run(["swiftc", "-print-target-info"], capture_output=True, text=True, check=True).stdout
    return json.loads(info)["target"]["triple"]


def extract(module, folder, output, target):
    """Writes the graphs of a module in `folder`: one of its symbols, and one for each module whose types it extends."""
    if not (folder / f"{module}.swiftmodule").exists():
        raise Problem(f"no module {module} in {folder}: build it first")
    maps = sorted(folder.parent.glob("*.build/module.modulemap"))
    command = ["swift", "symbolgraph-extract", "-module-name", module, "-I", folder, "-target", target,
               *[part for path in maps for part in ("-Xcc", f"-fmodule-map-file={path}")],
               "-minimum-access-level", "public", "-skip-synthesized-members", "-emit-extension-block-symbols",
               "-output-dir", output]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode or not (output / f"{module}.symbols.json").exists():
        raise Problem(f"no symbol graph of {module}: {result.stderr.strip() or result.stdout.strip()}")


def graphs(module, folder, target):
    """The graphs of a module, parsed."""
    with tempfile.TemporaryDirectory() as output:
        extract(module, folder, Path(output), target)
        return [json.loads(path.read_text()) for path in sorted(Path(output).glob("*.json"))]
