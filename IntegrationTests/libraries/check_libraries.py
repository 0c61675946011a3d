# SPDX-License-Identifier: MIT
"""Runs tests with one combination of OpenSSL and nghttp2 after the other, and prints a table.

Usage: check_libraries.py FOLDER TESTS [--probe | TEXT...]    TESTS is the executable of the tests
"""
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

SYSTEM, NONE = "system", "none"

# Requirements of pip, with the Python of the wheel, and the version in them; where both come from one wheel, OpenSSL first.
OPENSSL_111G = ("psycopg2-binary==2.8.6", "3.9")
OPENSSL_111W = ("psycopg2-binary==2.9.10", "3.11")
OPENSSL_309 = ("pygit2==1.12.2", "3.11")
OPENSSL_315 = ("pygit2==1.15.1", "3.11")
OPENSSL_331 = ("psycopg-binary==3.1.20", "3.11")
OPENSSL_359 = ("psycopg-binary==3.3.9", "3.11")
NGHTTP2_135 = ("pyproj==3.0.1", "3.9")
NGHTTP2_143 = ("pyproj==3.4.1", "3.11")
NGHTTP2_154 = ("pyproj==3.6.1", "3.11")
NGHTTP2_160 = ("pyproj==3.7.2", "3.11")
RED_HAT_111K = ("pycurl==7.45.3", "3.11")
OPENSSL_341_NGHTTP2_164 = ("pycurl==7.45.6", "3.11")
OPENSSL_353_NGHTTP2_167 = ("pycurl==7.45.7", "3.11")
OPENSSL_362_NGHTTP2_169 = ("pycurl==7.46.0", "3.11")
# 3.6.5 and 1.70.0, or what came later.
NEWEST = ("pycurl", "3.11")

# OpenSSL and nghttp2.
COMBINATIONS = [
    (SYSTEM, SYSTEM),
    (OPENSSL_111G, NGHTTP2_143),
    (OPENSSL_111W, NGHTTP2_154),
    (RED_HAT_111K, NGHTTP2_135),
    (OPENSSL_309, NGHTTP2_160),
    (OPENSSL_315, OPENSSL_341_NGHTTP2_164),
    (OPENSSL_331, OPENSSL_353_NGHTTP2_167),
    (OPENSSL_341_NGHTTP2_164, OPENSSL_362_NGHTTP2_169),
    (OPENSSL_353_NGHTTP2_167, NGHTTP2_143),
    (OPENSSL_359, NEWEST),
    (OPENSSL_362_NGHTTP2_169, NGHTTP2_154),
    (NEWEST, NEWEST),
    (SYSTEM, NONE),
    (NONE, SYSTEM),
]

# Tests of what a library does in another way.
SKIPPED = {
    # Red Hat lets SHA-1 pass at each level.
    ("OpenSSL", RED_HAT_111K): ["aServerIsTrustedForItsNamesAndItsChain"],
    # 1.67 ends the connection for a malformed response, where the versions before and after it end the stream.
    ("nghttp2", OPENSSL_353_NGHTTP2_167): [
        "framesHaveTheirOutcome", "aStreamErrorIsToldAtOnceAndSentLater", "aMalformedHeadEndsItsStreamOnly",
    ],
}

# The names that Sources/CPulsePlatform and Sources/CPulseTesting open.
OPENSSL = ["libssl.so.3", "libssl.so.4", "libssl.so.1.1"]
NGHTTP2 = "libnghttp2.so.14"
# The latest function that HTTP/2 needs.
NEEDED = "nghttp2_option_set_max_outbound_ack"

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
    texts, has_http2 = {"OpenSSL": None, "nghttp2": None}, False
    for name in OPENSSL:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.OpenSSL_version.restype = ctypes.c_char_p
        # Such as `OpenSSL 1.1.1k  FIPS 25 Mar 2021`.
        words = library.OpenSSL_version(0).decode().split()
        texts["OpenSSL"] = words[1] + " FIPS" * (words[2] == "FIPS")
        break
    try:
        library = ctypes.CDLL(NGHTTP2)
        library.nghttp2_version.restype = ctypes.POINTER(Version)
        texts["nghttp2"], has_http2 = library.nghttp2_version(0).contents.text.decode(), hasattr(library, NEEDED)
    except OSError:
        pass
    maps = Path("/proc/self/maps").read_text()
    files = sorted(set(re.findall(r"/\S*/lib(?:ssl|crypto|nghttp2)[-.]\S*", maps)))
    print(json.dumps({"versions": texts, "has_http2": has_http2, "files": files}))


def wheel(folder, requirement, python):
    """The path of a wheel, downloaded unless it is there."""
    place = folder / "wheels" / requirement.replace("==", "-")
    if "==" not in requirement:
        shutil.rmtree(place, ignore_errors=True)
    if not list(place.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"]
        subprocess.run([*command, "--only-binary=:all:", "--python-version", python, "--dest", place, requirement], check=True)
    return next(place.glob("*.whl"))


def unpack(path, kind, place):
    """Unpacks the libraries of a kind, which keep the names by which they need each other, and adds the names that are opened."""
    # The libcrypto of old wheels needs their zlib.
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
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    # The loader stops at a file that is no library, and so does not find the system's.
    for name, source in [(NGHTTP2, nghttp2), *((name, openssl) for name in OPENSSL)]:
        if source != SYSTEM:
            (place / name).write_text("hidden\n")
    for source, kind in [(openssl, "ssl"), (nghttp2, "nghttp2")]:
        if source not in (SYSTEM, NONE):
            unpack(wheel(folder, *source), kind, place)
    (place / "openssl.cnf").write_text(CONFIGURATION)
    # Foundation needs libcurl, which would load the system's OpenSSL and nghttp2 in any case. No test here uses it, so that an empty
    # library will do, with the version of its symbols that Debian has.
    (place / "libcurl.map").write_text("CURL_OPENSSL_4 { };\n")
    options = ["-Wl,-soname,libcurl.so.4", f"-Wl,--version-script={place}/libcurl.map"]
    compiler = os.environ.get("CC", "clang")
    subprocess.run([compiler, "-shared", "-x", "c", "/dev/null", "-o", place / "libcurl.so.4", *options], check=True)
    said = subprocess.run([sys.executable, __file__], env=environment(place), stdout=subprocess.PIPE, check=True).stdout
    seen = json.loads(said)
    for source, kind in [(openssl, "OpenSSL"), (nghttp2, "nghttp2")]:
        assert (seen["versions"][kind] is None) == (source == NONE), f"{kind} of {source}: {seen}"
    return place, seen


def environment(place):
    return {**os.environ, "LD_LIBRARY_PATH": str(place), "OPENSSL_CONF": str(place / "openssl.cnf")}


def suites(seen):
    """The names of the suites for a combination."""
    if seen["versions"]["OpenSSL"] is None:
        return CLEARTEXT + MISSING
    return CLEARTEXT + TLS + (HTTP2 if seen["has_http2"] else [])


def run(tests, place, seen, skipped):
    """Runs the tests of a combination, and returns what the table says of it, and whether they have passed."""
    log, trace = place.with_suffix(".log"), place / "loader"
    pattern = rf"^[A-Za-z]+Tests\.({'|'.join(suites(seen))})/"
    command = [tests, "--testing-library", "swift-testing", "--filter", pattern]
    if skipped:
        command += ["--skip", "|".join(skipped)]
    variables = {**environment(place), "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(trace)}
    began = time.monotonic()
    with log.open("w") as output, subprocess.Popen(command, env=variables, stdout=output, stderr=output) as process:
        code = process.wait()
    text = log.read_text(errors="replace")
    summary = re.findall(r"Test run with ([1-9]\d*) tests?\b.*", text)
    inits = re.findall(r"calling init: (\S+)", Path(f"{trace}.{process.pid}").read_text(errors="replace"))
    files = sorted({os.path.realpath(path) for path in inits if re.match(r"lib(ssl|crypto|nghttp2)[-.]", Path(path).name)})
    result = "passed"
    if code or not summary:
        result = f"failed: {log}"
        print("\n".join(line for line in text.splitlines() if line.startswith("✘") or "rror:" in line))
    elif files != sorted(map(os.path.realpath, seen["files"])):
        result = f"loaded {files} in place of {seen['files']}"
    return f"{summary[-1] if summary else 0:>5}  {time.monotonic() - began:5.0f}  {result}", result == "passed"


def main(folder, tests, *texts):
    folder = Path(folder).resolve()
    rows, failed = [], 0
    for number, combination in enumerate(COMBINATIONS, 1):
        place, seen = prepare(folder, number, *combination)
        title = "".join(f"{f'{kind} {version}' if version else f'no {kind}':<21}" for kind, version in seen["versions"].items())
        if texts != ("--probe",):
            if texts and not any(text in title for text in texts):
                continue
            skipped = [test for side in zip(seen["versions"], combination) for test in SKIPPED.get(side, [])]
            said, has_passed = run(tests, place, seen, skipped)
            title += said
            failed += not has_passed
        print(title, flush=True)
        rows.append(title)
    print(f"\n{'tests':>47}{'s':>7}\n" + "\n".join(rows))
    sys.exit(f"libraries: {failed} of {len(rows)} combinations failed" if failed or not rows else 0)


if sys.argv[1:]:
    main(*sys.argv[1:])
else:
    loaded()
