# SPDX-License-Identifier: MIT
"""Starts the servers of Go, Apache and Hummingbird over one directory of files, runs a command and stops them again, whatever
the outcome.

Usage: servers.py GO HUMMINGBIRD COMMAND...    the programs of two of the servers
Addresses and ports are as in `../wire/serve.py`. The files are in `files` of the directory.
"""
import collections
import gzip
import socket
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from local_servers import listener, main, start_apache, tell


def write_files(directory):
    text = b"".join(b"line %d\n" % number for number in range(10_000))
    files = {
        "text": text,
        "text.gzip": gzip.compress(text),
        "large": (bytes(range(251)) * (8 << 20))[: 8 << 20],
        "missing": b"missing\n" * 12_800,
    }
    for name, data in files.items():
        (directory / name).write_bytes(data)


def start_go(directory, program):
    sockets = {name: listener(socket.AF_INET, "127.0.0.1") for name in ("go_plain", "go_tls")}
    descriptors = [listening.fileno() for listening in sockets.values()]
    with open(directory / "go.log", "wb") as log:
        command = [program, directory, *map(str, descriptors)]
        subprocess.Popen(command, pass_fds=descriptors, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    places = {name: listening.getsockname()[1] for name, listening in sockets.items()}
    for listening in sockets.values():
        listening.close()
    return places


def start_hummingbird(directory, program):
    """Hummingbird opens its own sockets, on ports that the system chooses, and prints each as `NAME PORT`."""
    with open(directory / "hummingbird.log", "wb") as log:
        server = subprocess.Popen([program, directory], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
    places = {}
    for line in server.stdout:
        name, port = line.split()
        places[f"hummingbird_{name}"] = int(port)
        if len(places) == 2:
            # Keep reading, or the pipe fills up.
            threading.Thread(target=lambda: collections.deque(server.stdout, maxlen=0), daemon=True).start()
            return places
    sys.exit(f"Hummingbird does not start: {(directory / 'hummingbird.log').read_text()}")


def run(directory, arguments):
    go, hummingbird, *command = arguments
    (directory / "files").mkdir()
    write_files(directory / "files")
    places = start_go(directory, go)
    fields = "\n".join(f'    Header set X-Field-{number} "{"a" * 4096}"' for number in range(10))
    values = {"GO_PLAIN": places["go_plain"], "HEAD": fields}
    places |= start_apache(directory, HERE / "apache.conf", ["apache_plain", "apache_tls"], values)
    places |= start_hummingbird(directory, hummingbird)
    return tell(directory, command, ports=places)


if __name__ == "__main__":
    sys.exit(main(run))
