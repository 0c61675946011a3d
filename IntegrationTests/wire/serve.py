# SPDX-License-Identifier: MIT
"""Starts the servers of the tests, runs a command and stops them again, whatever the outcome.

Usage: serve.py COMMAND...
All files are in a temporary directory. `servers.json`, whose path the command finds in PULSEKIT_WIRE, has all
addresses. It exits with the command's status.
"""
import asyncio
import collections
import ctypes
import socket
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import peers

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from local_servers import listener, main, pair, start_nginx, tell

MEBIBYTE = 1 << 20


def gzip_of_zeros(mebibytes):
    """The same piece repeatedly, each byte-aligned, which is valid in a gzip member."""
    zeros = bytes(MEBIBYTE)
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = compressor.compress(zeros) + compressor.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(mebibytes):
        checksum = zlib.crc32(zeros, checksum)
    size = mebibytes * MEBIBYTE & 0xFFFFFFFF
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    return head + piece * mebibytes + b"\x03\x00" + checksum.to_bytes(4, "little") + size.to_bytes(4, "little")


def brotli(data):
    library = ctypes.CDLL("libbrotlienc.so.1")
    size = ctypes.c_size_t(len(data) + 1024)
    buffer = ctypes.create_string_buffer(size.value)
    arguments = 5, 22, 0, ctypes.c_size_t(len(data)), data, ctypes.byref(size), buffer
    assert library.BrotliEncoderCompress(*arguments)
    return buffer.raw[: size.value]


def zstandard(data):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compress.restype = ctypes.c_size_t
    buffer = ctypes.create_string_buffer(len(data) + 1024)
    size = library.ZSTD_compress(buffer, ctypes.c_size_t(len(buffer)), data, ctypes.c_size_t(len(data)), 3)
    return buffer.raw[:size]


def write_files(directory):
    text = b"".join(b"line %d\n" % number for number in range(10_000))
    zeros = bytes(64 * MEBIBYTE)
    files = {
        "text": text,
        "text.gzip": zlib.compress(text, 6, 31),
        "text.br": brotli(text),
        "text.zstd": zstandard(text),
        "bomb.gzip": gzip_of_zeros(1024),
        "bomb.br": brotli(zeros),
        "bomb.zstd": zstandard(zeros),
    }
    for name, data in files.items():
        (directory / name).write_bytes(data)
    for name, mebibytes in {"medium": 8, "big": 256}.items():
        with open(directory / name, "wb") as file:
            file.truncate(mebibytes * MEBIBYTE)


def start_openssl(directory, name, *options):
    """The port, as the server prints it, of a server whose responses tell whether it has resumed a session."""
    arguments = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-www"]
    arguments += ["-cert", "server.pem", "-key", "server.key", "-cert_chain", "intermediate.pem", *options]
    with open(directory / f"{name}.log", "wb") as log:
        process = subprocess.Popen(arguments, cwd=directory, stdout=subprocess.PIPE, stderr=log, text=True)
    for line in process.stdout:
        if line.startswith("ACCEPT "):
            # Keep reading, or the pipe fills up.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return int(line.rpartition(":")[2])
    sys.exit(f"serve.py: openssl s_server does not start: {(directory / f'{name}.log').read_text()}")


def start_nghttpd(directory):
    """The port of nghttp2's server, which pads its frames, sends trailers, takes four streams at a time and echoes uploads."""
    # Bound and not listening: with this option on both sockets the server can take the port, and no other process gets it.
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    port = reserved.getsockname()[1]
    arguments = ["nghttpd", "--verbose", "--address=127.0.0.1", "--htdocs=files", "--echo-upload", "--trailer=x-sum: 1"]
    arguments += ["--padding=200", "--max-concurrent-streams=4", str(port), "server.key", "server-chain.pem"]
    process = subprocess.Popen(arguments, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in process.stdout:
        if b"listen" in line:
            # Keep reading, or the pipe fills up.
            threading.Thread(target=lambda: collections.deque(process.stdout, maxlen=0), daemon=True).start()
            return reserved, port
    sys.exit("serve.py: nghttpd does not start")


def can_replace_system_trust(directory):
    mount = f"mount --bind {directory}/system /etc/ssl/certs"
    return subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode == 0


def run(directory, command):
    (directory / "files").mkdir()
    write_files(directory / "files")
    ports = {name: pair() for name in ("plain", "tls", "tls_http1", "tls12")}
    # Listening without an acceptor: every client waits forever.
    silent = listener(socket.AF_INET, "127.0.0.1")
    places = {name: sockets[0].getsockname()[1] for name, sockets in ports.items()}
    configuration = [HERE / "nginx.conf", HERE / "locations.conf"]
    start_nginx(directory, configuration, ports, {"SILENT": silent.getsockname()[1]})

    demand = ["-Verify", "1", "-CAfile", "clients.pem", "-verify_return_error"]
    for name, options in {"tickets": [], "client13": demand, "client12": demand + ["-tls1_2"]}.items():
        places[name] = start_openssl(directory, name, *options)

    reserved, places["nghttpd"] = start_nghttpd(directory)
    servers = peers.Peers(peers.tls(directory), peers.tls(directory, "h2", "http/1.1"))
    sockets = {name: listener(socket.AF_INET, "127.0.0.1") for name in servers.handlers() if name != "chatty"}
    places |= {name: listening.getsockname()[1] for name, listening in sockets.items()}
    sockets["chatty"] = socket.socket(socket.AF_UNIX)
    sockets["chatty"].bind(str(directory / "chatty.socket"))
    sockets["chatty"].listen()
    # Bound and not listening: every client is refused, and no other process can take the port.
    refusing = listener(socket.AF_INET, "127.0.0.1", is_listening=False)
    places["refusing"] = refusing.getsockname()[1]
    threading.Thread(target=lambda: asyncio.run(peers.serve(servers, sockets)), daemon=True).start()

    with reserved:
        return tell(directory, command, ports=places, canReplaceSystemTrust=can_replace_system_trust(directory))


if __name__ == "__main__":
    sys.exit(main(run))
