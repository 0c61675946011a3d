# SPDX-License-Identifier: MIT
"""Runs a client against the fuzzing server of Autobahn's test suite, and judges each case by the server's report.

Usage: check_autobahn.py PYTHON2 DIRECTORY CASE... -- COMMAND...
The command gets the server's URL as a further argument. It runs all cases as the agent PulseKit and has the reports written,
into the directory. The exit code is 0 if the server ran every case, and every one is OK or INFORMATIONAL.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from local_servers import listener

PASSED = ("OK", "INFORMATIONAL")
# Cases that may have another verdict, each with that verdict and the reason why the suite is wrong.
EXCLUDED = {}


def judge(results, count, excluded):
    """The counts by verdict, and a line for each fault in the results of `count` cases.

    A case has two verdicts: on what the client sent, and on how it closed. The worse one counts.
    """
    counts, faults = Counter(), []
    for case, result in sorted(results.items(), key=lambda item: [int(part) for part in item[0].split(".")]):
        verdicts = [result["behavior"], result["behaviorClose"]]
        verdict = next((verdict for verdict in verdicts if verdict not in PASSED), verdicts[0])
        counts[verdict] += 1
        expected, _ = excluded.get(case, (None, None))
        if verdict != expected and (expected or verdict not in PASSED):
            place = f" instead of {expected}, for which it is excluded" if expected else ""
            faults.append(f"{case}: {verdicts[0]}, close {verdicts[1]}{place}; see {result['reportfile']}")
    if not count or count != len(results):
        faults.append(f"{len(results)} of {count} cases have a result")
    return counts, faults


def self_test():
    def result(behavior, close="OK"):
        return {"behavior": behavior, "behaviorClose": close, "reportfile": "a.json"}

    good = {"1.1.1": result("OK"), "7.1.6": result("INFORMATIONAL", "INFORMATIONAL")}
    excluded = {"1.1.1": ("NON-STRICT", "a reason")}
    samples = [
        ("all pass", good, 2, {}, 0),
        ("no result at all", {}, 0, {}, 1),
        ("a missing case", good, 3, {}, 1),
        ("a bad close", good | {"1.1.1": result("OK", "WRONG CODE")}, 2, {}, 1),
        ("an excluded case with its verdict", good | {"1.1.1": result("NON-STRICT")}, 2, excluded, 0),
        ("an excluded case with a worse verdict", good | {"1.1.1": result("FAILED")}, 2, excluded, 1),
        ("an excluded case that passes", good, 2, excluded, 1),
    ]
    for verdict in ("FAILED", "NON-STRICT", "UNIMPLEMENTED", "UNCLEAN"):
        samples.append((verdict, good | {"1.1.1": result(verdict)}, 2, {}, 1))
    wrong = [name for name, *sample, count in samples if len(judge(*sample)[1]) != count]
    if wrong:
        sys.exit(f"autobahn: wrong about {wrong}")


def run(python, directory, cases, command):
    """The output of the command, while the server runs."""
    reports = Path(directory)
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    with listener(socket.AF_INET, "127.0.0.1") as listening, open(reports / "server.log", "wb") as log:
        descriptor, port = listening.fileno(), listening.getsockname()[1]
        server = subprocess.Popen(
            [python, "-u", HERE / "fuzzing_server.py", str(descriptor), str(port), reports, *cases],
            pass_fds=[descriptor], stdout=log, stderr=log)
        # The server's copy remains: without it, a client of a server that has failed is refused.
        listening.close()
        try:
            return subprocess.run([*command, f"http://127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
        finally:
            server.kill()
            server.wait()


def main(arguments):
    self_test()
    mark = arguments.index("--")
    python, directory, *cases = arguments[:mark]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    done = run(python, directory, cases, arguments[mark + 1:])
    index = Path(directory, "index.json")
    if done.returncode != 0 or not index.exists():
        sys.exit(f"autobahn: the client ended with code {done.returncode}; see {directory}/server.log")
    count = int(re.search(r"^cases: (\d+)$", done.stdout, re.M)[1])
    results = json.loads(index.read_text()).get("PulseKit", {})
    excluded = {case: reason for case, reason in EXCLUDED.items() if case in results}
    counts, faults = judge(results, count, excluded)
    for fault in faults:
        print(f"autobahn: {fault}")
    for case, (verdict, reason) in excluded.items():
        print(f"autobahn: {case} is excluded, {verdict}: {reason}")
    totals = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
    if faults:
        print(f"autobahn: the reports are in {Path(directory).resolve()}")
    print(f"autobahn: {count} cases: {totals}; {len(excluded)} excluded")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
