# SPDX-License-Identifier: MIT
"""Servers of tests that run as long as a command, in a temporary directory that has the certificates of `wire/certificates`.

Every port is free, because the system chose it, and stays reserved, because the socket is passed on open and listening. So
no test has to wait: an early client waits in the backlog.
"""
import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def listener(family, address, port=0, is_listening=True):
    listening = socket.socket(family, socket.SOCK_STREAM)
    if family == socket.AF_INET6:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listening.bind((address, port))
    if is_listening:
        listening.listen(1024)
    return listening


def pair():
    """Listeners on one port of both loopback addresses."""
    for _ in range(100):
        first = listener(socket.AF_INET, "127.0.0.1")
        try:
            return [first, listener(socket.AF_INET6, "::1", first.getsockname()[1])]
        except OSError:
            first.close()
    sys.exit("no port that is free on both loopback addresses")


def start_nginx(directory, configuration, ports, values):
    """`ports` has the listeners that nginx takes over, `values` what else its files name, both by their names there."""
    values = values | {"DIRECTORY": directory, "USER": "user root;" if os.geteuid() == 0 else ""}
    values |= {key.upper(): sockets[0].getsockname()[1] for key, sockets in ports.items()}
    for file in configuration:
        text = file.read_text()
        for key, value in values.items():
            text = text.replace(f"@{key}@", str(value))
        (directory / file.name).write_text(text)
    descriptors = [listening.fileno() for sockets in ports.values() for listening in sockets]
    # The way in which nginx passes its sockets to its successor.
    environment = os.environ | {"NGINX": "".join(f"{descriptor};" for descriptor in descriptors)}
    arguments = ["nginx", "-p", directory, "-e", directory / "nginx-error.log", "-c", directory / "nginx.conf"]
    with open(directory / "nginx.log", "wb") as log:
        subprocess.Popen(arguments, env=environment, pass_fds=descriptors, stdout=log, stderr=log)
    for sockets in ports.values():
        for listening in sockets:
            listening.close()


def start_apache(directory, configuration, names, values):
    """The ports, by their names, on which Apache listens; `values` has what else its file names. It opens its own sockets: the
    ports were free a moment ago."""
    modules = next(path for path in ("/usr/lib/apache2/modules", "/usr/lib64/httpd/modules") if os.path.isdir(path))
    for _ in range(5):
        reserved = [listener(socket.AF_INET, "127.0.0.1", is_listening=False) for _ in names]
        ports = {name: listening.getsockname()[1] for name, listening in zip(names, reserved)}
        for listening in reserved:
            listening.close()
        text = configuration.read_text()
        for key, value in ({"DIRECTORY": directory, "MODULES": modules} | values | ports).items():
            text = text.replace(f"@{key.upper()}@", str(value))
        (directory / configuration.name).write_text(text)
        command = ["apache2", "-f", directory / configuration.name, "-D", "FOREGROUND"]
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        for _ in range(600):
            try:
                for port in ports.values():
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return ports
            except OSError:
                if server.poll() is not None:
                    break
                try:
                    server.wait(0.05)
                except subprocess.TimeoutExpired:
                    pass
    sys.exit("Apache does not start")


def tell(directory, command, **description):
    """Runs the command, which finds the description in a file."""
    (directory / "servers.json").write_text(json.dumps({"directory": str(directory)} | description))
    return subprocess.run(command, env=os.environ | {"PULSEKIT_WIRE": str(directory / "servers.json")}).returncode


def stop_all():
    """Ends the started processes and their orphans: `swift test` does not end its tests with it."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while True:
        for child in children.read_text().split():
            # The process may be gone already, and have left others behind.
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def main(run):
    # PR_SET_CHILD_SUBREAPER: orphans become children of this process.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([HERE / "wire" / "certificates", directory], check=True)
        try:
            return run(Path(directory), sys.argv[1:])
        finally:
            stop_all()
