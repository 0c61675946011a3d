# SPDX-License-Identifier: MIT
"""Runs tests with one combination of OpenSSL and nghttp2 after the other, and prints a table.

Usage: check_libraries.py FOLDER TESTS [--probe | TEXT...]    TESTS is the executable of the tests
"""
import ctypes
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

SYSTEM, NONE = "system", "none"

# Requirements of pip, with the Python of the wheel: the oldest OpenSSL 1.1.1, and the last of each later series. pycurl without a
# version is the newest: it brings later ones when they exist.
PSYCOPG_OLDEST, PSYCOPG_1 = ("psycopg2-binary==2.8.6", "3.9"), ("psycopg2-binary==2.9.10", "3.11")
PYGIT_30, PYGIT_31 = ("pygit2==1.12.2", "3.11"), ("pygit2==1.15.1", "3.11")
PSYCOPG_33, PSYCOPG_35 = ("psycopg-binary==3.1.20", "3.11"), ("psycopg-binary==3.3.9", "3.11")
PYPROJ_43, PYPROJ_54, PYPROJ_60 = ("pyproj==3.4.1", "3.11"), ("pyproj==3.6.1", "3.11"), ("pyproj==3.7.2", "3.11")
PYCURL_OLD, PYCURL_64 = ("pycurl==7.45.3", "3.11"), ("pycurl==7.45.6", "3.11")
PYCURL_67, PYCURL_69, PYCURL = ("pycurl==7.45.7", "3.11"), ("pycurl==7.46.0", "3.11"), ("pycurl", "3.11")

# Where OpenSSL and nghttp2 come from.
COMBINATIONS = [
    (SYSTEM, SYSTEM),
    (PSYCOPG_OLDEST, PYPROJ_43),
    (PSYCOPG_1, PYPROJ_54),
    # Red Hat's OpenSSL 1.1.1, and an nghttp2 that is too old.
    (PYCURL_OLD, PYCURL_OLD),
    (PYGIT_30, PYPROJ_60),
    (PYGIT_31, PYCURL_64),
    (PSYCOPG_33, PYCURL_67),
    (PYCURL_64, PYCURL_69),
    (PSYCOPG_35, PYCURL),
    (PYCURL_69, PYPROJ_43),
    (PYCURL, PYCURL),
    (SYSTEM, NONE),
    (NONE, SYSTEM),
]

# The names that Sources/CPulsePlatform opens.
OPENSSL = ["libssl.so.3", "libssl.so.4", "libssl.so.1.1"]
NGHTTP2 = "libnghttp2.so.14"
OLDEST_NGHTTP2 = (1, 40)

CLEARTEXT = ["StandardTransportWireTests"]
TLS = [
    "TLS[A-Za-z]*Tests", "HTTP1OverTLSWireTests", "SocketTransportTLSWireTests", "UpgradeTLSWireTests", "ClientCertificateWireTests",
    "SystemAuthoritiesWireTests", "CertificateAuthoritiesTests", "PinnedKeysTests", "MockServerTLSTests", "HashLibraryTests",
]
HTTP2 = ["HTTP2[A-Za-z]*Tests", "BackendResponseTests"]
MISSING = ["MissingOpenSSLTests"]

# The level of distributions, which the tests of weak certificates expect. OpenSSL's own is 1 up to 3.1.
CONFIGURATION = """openssl_conf = all
[all]
ssl_conf = modules
[modules]
system_default = level
[level]
CipherString = DEFAULT@SECLEVEL=2
"""


class Version(ctypes.Structure):
    _fields_ = [("age", ctypes.c_int), ("number", ctypes.c_int), ("text", ctypes.c_char_p)]


def loaded():
    """What this process loads by the names that the sources open, as JSON: versions and files."""
    texts = {"OpenSSL": None, "nghttp2": None}
    for name in OPENSSL:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.OpenSSL_version.restype = ctypes.c_char_p
        texts["OpenSSL"] = library.OpenSSL_version(0).decode().split()[1]
        break
    try:
        version = ctypes.CDLL(NGHTTP2).nghttp2_version
        version.restype = ctypes.POINTER(Version)
        texts["nghttp2"] = version(0).contents.text.decode()
    except OSError:
        pass
    maps = Path("/proc/self/maps").read_text()
    print(json.dumps({"versions": texts, "files": sorted(set(re.findall(r"/\S*/lib(?:ssl|crypto|nghttp2)[-.]\S*", maps)))}))


def wheel(folder, requirement, python):
    """The path of a wheel, downloaded unless it is there."""
    place = folder / "wheels" / requirement.replace("==", "-")
    if not list(place.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"]
        subprocess.run([*command, "--only-binary=:all:", "--python-version", python, "--dest", place, requirement], check=True)
    return next(place.glob("*.whl"))


def unpack(path, kind, place):
    """Unpacks the libraries of a kind, which keep the names by which they need each other, and adds the names that are opened."""
    kinds = {"ssl": "ssl|crypto|z", "nghttp2": "nghttp2"}[kind]
    found = False
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            name = re.fullmatch(rf"lib({kinds})[-.]\S*?\.so\.(\S+)", member.rpartition("/")[2])
            if name is None:
                continue
            (place / name[0]).write_bytes(archive.read(member))
            if name[1] != kind:
                continue
            version = "1.1" if name[2].startswith("1.1") else name[2].split(".")[0]
            opened = f"lib{kind}.so.{version}"
            (place / opened).unlink(missing_ok=True)
            if opened != name[0]:
                (place / opened).symlink_to(name[0])
            found = True
    assert found, f"{path} has no lib{kind}"


def prepare(folder, number, openssl, nghttp2):
    """Makes the folder of a combination, and returns it with what a process loads from there."""
    place = folder / f"combination-{number}"
    subprocess.run(["rm", "-rf", place], check=True)
    place.mkdir(parents=True)
    # The loader stops at a file that is no library, and so does not find the system's.
    for name, source in [(NGHTTP2, nghttp2), *((name, openssl) for name in OPENSSL)]:
        if source != SYSTEM:
            (place / name).write_text("hidden\n")
    for source, kind in [(openssl, "ssl"), (nghttp2, "nghttp2")]:
        if source not in (SYSTEM, NONE):
            unpack(wheel(folder, *source), kind, place)
    (place / "openssl.cnf").write_text(CONFIGURATION)
    # Foundation needs libcurl, which would load the system's OpenSSL and nghttp2 in any case. No test here uses it.
    compiler = os.environ.get("CC", "clang")
    stub = [compiler, "-shared", "-x", "c", "/dev/null", "-o", place / "libcurl.so.4", "-Wl,-soname,libcurl.so.4"]
    subprocess.run(stub, check=True)
    said = subprocess.run([sys.executable, __file__], env=environment(place), stdout=subprocess.PIPE, check=True).stdout
    seen = json.loads(said)
    for source, kind in [(openssl, "OpenSSL"), (nghttp2, "nghttp2")]:
        assert (seen["versions"][kind] is None) == (source == NONE), f"{kind} of {source}: {seen}"
    return place, seen


def environment(place):
    return {**os.environ, "LD_LIBRARY_PATH": str(place), "OPENSSL_CONF": str(place / "openssl.cnf")}


def suites(versions):
    """The names of the suites for a combination."""
    if versions["OpenSSL"] is None:
        return CLEARTEXT + MISSING
    nghttp2 = versions["nghttp2"]
    has_http2 = nghttp2 is not None and tuple(map(int, nghttp2.split(".")[:2])) >= OLDEST_NGHTTP2
    return CLEARTEXT + TLS + (HTTP2 if has_http2 else [])


def run(tests, place, seen):
    """Runs the tests of a combination, and returns what the table says of it, and whether they have passed."""
    log, trace = place.with_suffix(".log"), place / "loader"
    pattern = rf"^[A-Za-z]+Tests\.({'|'.join(suites(seen['versions']))})/"
    command = [tests, "--testing-library", "swift-testing", "--filter", pattern]
    variables = {**environment(place), "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(trace)}
    began = time.monotonic()
    with log.open("w") as output, subprocess.Popen(command, env=variables, stdout=output, stderr=output) as process:
        code = process.wait()
    text = log.read_text(errors="replace")
    summary = re.findall(r"Test run with ([1-9]\d*) tests?\b.*", text)
    inits = re.findall(r"calling init: (\S+)", Path(f"{trace}.{process.pid}").read_text(errors="replace"))
    files = sorted({os.path.realpath(path) for path in inits if re.match(r"lib(ssl|crypto|nghttp2)[-.]", Path(path).name)})
    result = "passed"
    if files != [os.path.realpath(path) for path in seen["files"]]:
        result = f"loaded other libraries: {files} for {seen['files']}"
    elif code or not summary:
        result = f"failed: {log}"
        print("\n".join(line for line in text.splitlines() if line.startswith("✘") or "rror:" in line))
    return f"{summary[-1] if summary else 0:>5}  {time.monotonic() - began:5.0f}  {result}", result == "passed"


def main(folder, tests, *texts):
    folder = Path(folder).resolve()
    rows, failed, began = [], 0, time.monotonic()
    for number, combination in enumerate(COMBINATIONS, 1):
        place, seen = prepare(folder, number, *combination)
        title = "  ".join(f"{f'{kind} {version}' if version else f'no {kind}':<15}" for kind, version in seen["versions"].items())
        if texts != ("--probe",):
            if texts and not any(text in title for text in texts):
                continue
            said, has_passed = run(tests, place, seen)
            title += said
            failed += not has_passed
        print(title, flush=True)
        rows.append(title)
    print(f"\n{'':34}tests      s\n" + "\n".join(rows))
    sys.exit(f"libraries: {failed} of {len(rows)} combinations failed" if failed or not rows else 0)


if sys.argv[1:]:
    main(*sys.argv[1:])
else:
    loaded()
