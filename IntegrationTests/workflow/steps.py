# SPDX-License-Identifier: MIT
"""Runs the steps of .github/workflows/platforms.yml, with stand-ins in place of Apple's tools and of Swift, and compares what
they were called with."""
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "platforms.yml"
XCODES = ["15.4", "16.4", "26.0", "26.0.1", "26.2", "26.10", "26.11_beta_2"]
DEVICES = {"devices": {
    "com.apple.CoreSimulator.SimRuntime.iOS-18-5": [{"name": "iPhone 16", "udid": "OLD", "isAvailable": True}],
    "com.apple.CoreSimulator.SimRuntime.iOS-26-10": [
        {"name": "iPad Air", "udid": "PAD", "isAvailable": True}, {"name": "iPhone 17", "udid": "NEW", "isAvailable": True},
        {"name": "iPhone 17 Pro", "udid": "ZZZ", "isAvailable": False}],
    "com.apple.CoreSimulator.SimRuntime.iOS-26-9": [{"name": "iPhone 17", "udid": "NEXT", "isAvailable": True}],
    "com.apple.CoreSimulator.SimRuntime.watchOS-26-10": [{"name": "iPhone watch", "udid": "WATCH", "isAvailable": True}]}}
# Each says who was called, in which Xcode, and with what.
STAND_IN = """#!/bin/bash
echo "$(basename "$0") ${DEVELOPER_DIR##*Xcode_} $*" >>"$CALLS"
[ "$(basename "$0") $1" != "xcrun simctl" ] || cat "$DEVICES"
"""


def combinations(matrix):
    """The jobs of a matrix. GitHub adds an entry of `include` to those that it does not contradict, or else as another job."""
    matrix = dict(matrix)
    added = matrix.pop("include", [])
    axes = [[(name, value) for value in values] for name, values in matrix.items()]
    found = [dict(one) for one in itertools.product(*axes)] if axes else []
    for entry in added:
        fitting = [one for one in found if axes and all(one[name] == entry[name] for name in matrix if name in entry)]
        for one in fitting:
            one.update(entry)
        if not fitting:
            found.append(dict(entry))
    return found


def run(job, values, folder):
    """The calls of a job's steps, and the error of the first that fails, or None."""
    folder.mkdir()
    calls, variables = folder / "calls", folder / "variables"
    calls.write_text("")
    variables.write_text("")
    context = {"runner.temp": str(folder / "temp"), **{f"matrix.{name}": value for name, value in values.items()}}
    environment = {**os.environ, "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}", "CALLS": str(calls),
                   "GITHUB_ENV": str(variables), "RUNNER_TEMP": context["runner.temp"], "DEVICES": str(folder.parent / "devices"),
                   "APPLICATIONS": str(folder.parent / "Applications")}

    def filled(text):
        return re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda match: context[match[1]], text)

    for step in job["steps"]:
        if "run" not in step:
            continue
        wanted = [pair for pair in re.findall(r"matrix\.(\w+) == '([\w.]+)'", step.get("if", ""))]
        if wanted and not any(values[name] == value for name, value in wanted):
            continue
        environment.update({name: filled(value) for name, value in step.get("env", {}).items()})
        # GitHub's default, and that in a container.
        shell = "sh" if "container" in job else "bash"
        result = subprocess.run([shell, "-e", "-c", filled(step["run"])], cwd=ROOT,
                                env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if result.returncode:
            return calls.read_text(), f"{step.get('name')}: {result.stderr.strip()}"
        environment.update(dict(line.split("=", 1) for line in variables.read_text().splitlines()))
    return re.sub(re.escape(context["runner.temp"]), "TEMP", calls.read_text()), None


BUILD = 'xcodebuild build -scheme PulseKit-Package -destination generic/platform={} -derivedDataPath TEMP/derived CODE_SIGNING_ALLOWED=NO'
TESTED = ["PulseModelsTests", "PulseUITests", "PulseObservabilityTests", "AppleTests"]
SWIFT = ["swift --version", "swift build --build-tests"]


def expected(name, values):
    """(program, arguments) of the calls of a job."""
    if name == "macos":
        return ["xcodebuild -version", *SWIFT, "swift test --skip-build --filter AppleTests", "swift test --skip-build"]
    if name == "devices":
        platform = values["platform"]
        loaded = [f"xcodebuild -downloadPlatform {platform}"] if platform in ("watchOS", "visionOS") else []
        return [*loaded, BUILD.format(platform)]
    if name == "simulator":
        only = " ".join(f"-only-testing:{target}" for target in TESTED)
        return ["xcrun simctl list devices available --json",
                "xcodebuild test -scheme PulseKit-Package -destination platform=iOS Simulator,id=NEW -derivedDataPath TEMP/derived "
                + only]
    tested = ["swift test"] if values["swift"] != "6.0" else []
    return ["swift --version", "swift build", *tested]


def main():
    jobs, wrong, count = yaml.safe_load(WORKFLOW.read_text())["jobs"], [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for xcode in XCODES:
            (folder / "Applications" / f"Xcode_{xcode}.app").mkdir(parents=True)
        (folder / "devices").write_text(json.dumps(DEVICES))
        (folder / "bin").mkdir()
        for tool in ("xcodebuild", "xcrun", "swift"):
            (folder / "bin" / tool).write_text(STAND_IN)
            (folder / "bin" / tool).chmod(0o755)
        for job, description in jobs.items():
            for values in combinations(description["strategy"]["matrix"]):
                count += 1
                calls, error = run(description, values, folder / str(count))
                xcode = {"16.4": "16.4.app/Contents/Developer", "26": "26.10.app/Contents/Developer", None: ""}[values.get("xcode")]
                lines = [f"{program} {xcode} {rest}" for program, _, rest in (call.partition(" ") for call in expected(job, values))]
                if error or calls.splitlines() != lines:
                    wrong.append(f"{job} {values}: {error or ''}\n{calls}instead of\n" + "\n".join(lines))
                if job == "macos":
                    made = os.listdir(folder / str(count) / "temp" / "identities")
                    wrong += [f"{job}: no {one}" for one in ("server.p12", "authority.der", "client.p12") if one not in made]
        # An Xcode that no runner has ends the job.
        _, error = run(jobs["macos"], {"runner": "macos-15", "xcode": "2"}, folder / "missing")
        if "no Xcode 2 in" not in (error or ""):
            wrong.append(f"a missing Xcode: {error}")
    folders = [path.name for path in (ROOT / "Tests").iterdir()] + [f"Pulse{path.name}Tests" for path in (ROOT / "Tests/PulseNetworkingTests").iterdir()]
    wrong += [f"no tests {target}" for target in TESTED if target not in folders]
    if len({values["platform"] for values in combinations(jobs["devices"]["strategy"]["matrix"])}) != 4 or count != 14:
        wrong.append(f"{count} jobs")
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"workflow: {count} jobs, {len(wrong)} problems")
    sys.exit(1 if wrong else 0)


main()
