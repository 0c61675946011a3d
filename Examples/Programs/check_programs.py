# SPDX-License-Identifier: MIT
"""Runs the programs against a server on loopback, and kills them in between.

Usage: check_programs.py FOLDER-OF-THE-PROGRAMS
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import server as servers

FOLDER = Path(sys.argv[1])
ENVIRONMENT = {**os.environ, "no_proxy": "*", "TOKEN": servers.TOKEN}
LIMIT = servers.LIMIT
world = servers.World()


def check(what, condition, shown=""):
    if not condition:
        raise SystemExit(f"Programs: FAILED: {what}\n{shown}")


def start(name, *arguments):
    return subprocess.Popen([FOLDER / name, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def run(name, *arguments, text=""):
    return subprocess.run([FOLDER / name, *map(str, arguments)], input=text, capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=2 * LIMIT)


def kill(program):
    program.kill()
    program.communicate()
    world.release.set()


def killed_at_stall(method, after, name, *arguments, until=lambda: True):
    """Kills a program while the server holds a body of that method."""
    world.forget()
    world.stalls[method] = after
    program = start(name, *arguments)
    try:
        check(f"{name} comes to the server", world.arrived.wait(LIMIT), arguments)
        eventually(f"{name} has stored what has come", until)
    finally:
        kill(program)


def eventually(what, condition):
    ends = time.monotonic() + LIMIT
    while not condition():
        check(what, time.monotonic() < ends)
        time.sleep(0.02)


def sent(method):
    return [(path, headers) for verb, path, headers in world.requests if verb == method]


def check_notes(folder, port):
    url = f"http://127.0.0.1:{port}"

    def states():
        return run("notes", url, folder, "list").stdout

    adding = start("notes", url, folder, "add")
    try:
        for text in ("Buy tea", "Water the plants", ""):
            adding.stdin.write(text + "\n")
            adding.stdin.flush()
            line = adding.stdout.readline()
            check("a note without a server is queued", line == f"queued\t{text}\n", line)
    finally:
        kill(adding)
    waiting = "queued\tBuy tea\nqueued\tWater the plants\nqueued\t\n"
    check("a kill loses none", states() == waiting, states())
    ran = run("notes", url, folder, "sync")
    check("without a server all wait on", ran.returncode == 69 and states() == waiting, (ran, states()))

    server = servers.start(world, port)
    world.notes["0"] = {"id": "6F9619FF-8B86-D011-B42D-00C04FC964FF", "text": "From the phone"}
    ran = run("notes", url, folder, "sync")
    check("a sync sends them", ran.returncode == 0, ran)
    texts = [note["text"] for note in world.notes.values()]
    check("in the order in which they were written", texts == ["From the phone", "Buy tea", "Water the plants"], texts)
    check("with a key each", len({headers["Idempotency-Key"] for _, headers in sent("PUT")}) == 3, world.requests)
    known = "saved\tBuy tea\nsaved\tWater the plants\nrefused\t\nsaved\tFrom the phone\n"
    check("and learns what has become of each", states() == known, states())
    world.forget()
    run("notes", url, folder, "sync")
    check("a second sync sends none", sent("PUT") == [], world.requests)

    servers.stop(server)
    check("a later note is queued", run("notes", url, folder, "add", text="Feed the cat\n").stdout == "queued\tFeed the cat\n")
    server = servers.start(world, port)
    killed_at_stall("PUT", 0, "notes", url, folder, "sync")
    keys = [headers["Idempotency-Key"] for _, headers in sent("PUT")]
    ran = run("notes", url, folder, "sync")
    keys += [headers["Idempotency-Key"] for _, headers in sent("PUT")][len(keys):]
    check("a note whose response was lost by a kill is sent again, with its key", len(keys) == 2 and len(set(keys)) == 1, keys)
    check("and is saved, once", states() == known + "saved\tFeed the cat\n" and len(world.notes) == 4, states())
    check("with a server a note is saved at once", run("notes", url, folder, "add", text="Rest\n").stdout == "saved\tRest\n")
    servers.stop(server)


def check_chat(url):
    world.forget()
    servers.Handler.say(world, "Grace", "Hello")
    world.cuts = {2: False, 3: True}
    chat = start("chat", url, "tea house")
    try:
        chat.stdin.write("One pot, please\n")
        chat.stdin.flush()
        shown = [chat.stdout.readline() for _ in range(2)]
        check("a post comes back", shown == ["Grace: Hello\n", "Ada: One pot, please\n"], shown)
        rest, told = chat.communicate("And two cups\nThank you\n", timeout=2 * LIMIT)
    finally:
        chat.kill()
    check("the chat ends once all has come back", chat.returncode == 0, told)
    shown = "".join(shown) + rest
    wanted = "Grace: Hello\nAda: One pot, please\nAda: And two cups\nAda: Thank you\n"
    check("over two losses each message is shown once", shown == wanted, (shown, world.posts))
    check("a post that was lost was sent again", world.posts[1] == world.posts[2] and len(set(world.posts)) == 3, world.posts)
    check("a connection asks for what came since", world.joins[:2] == [0, 2] and len(world.joins) == 3, world.joins)
    check("each handshake has the room", [path for path, _ in sent("GET")] == 3 * ["/rooms/tea%20house"], world.requests)
    check("the losses are told", told.count("reconnects after") == 2, told)


def check_backup(url, folder):
    original, restored = folder / "original", folder / "restored"
    big = os.urandom(24 << 20)
    (original / "letters").mkdir(parents=True)
    (original / "big.bin").write_bytes(big)
    (original / "letters" / "to Ada?.txt").write_text("Dear Ada")

    killed_at_stall("PATCH", 5 << 20, "backup", url, "my laptop", "push", original)
    check("a kill leaves an unfinished upload", list(world.files) == [] and len(world.uploads) == 1, world.files)
    world.forget()
    ran = run("backup", url, "my laptop", "push", original)
    check("the next push ends well", ran.returncode == 0, ran)
    offsets = [int(headers["Upload-Offset"]) for _, headers in sent("PATCH")]
    check("it goes on where the server was", offsets == [5 << 20, 0] and len(world.uploads) == 2, (offsets, world.requests))
    check("all has come", world.files["big.bin"][1] == big and world.files["letters/to Ada?.txt"][1] == b"Dear Ada")
    world.forget()
    (original / "letters" / "to Ada?.txt").write_text("Dear Ada, ")
    ran = run("backup", url, "my laptop", "push", original)
    check("a push sends what has changed alone", ran.returncode == 0 and len(sent("POST")) == 1, (ran, world.requests))

    killed_at_stall("GET", 12 << 20, "backup", url, "my laptop", "restore", restored,
                    until=lambda: any(restored.glob(".*-state")))
    check("a kill leaves no half file", not (restored / "big.bin").exists())
    world.forget()
    ran = run("backup", url, "my laptop", "restore", restored)
    check("the next restore ends well", ran.returncode == 0, ran)
    ranges = [int(re.fullmatch(r"bytes=(\d+)-", headers["Range"])[1]) for _, headers in sent("GET") if "Range" in headers]
    check("it asks for the rest", len(ranges) == 1 and 4 << 20 <= ranges[0] <= 12 << 20, ranges)
    check("all is there", (restored / "big.bin").read_bytes() == big
          and (restored / "letters" / "to Ada?.txt").read_text() == "Dear Ada, ")
    world.forget()
    world.files["../outside.txt"] = (0, b"no")
    ran = run("backup", url, "my laptop", "restore", restored)
    check("a restored folder needs nothing, and takes nothing outside of it",
          ran.returncode == 0 and len(sent("GET")) == 1 and not (folder / "outside.txt").exists(), (ran, world.requests))


with tempfile.TemporaryDirectory() as name:
    directory = Path(name)
    reserved = servers.start(world)
    servers.stop(reserved)
    check_notes(directory / "notes", reserved.server_port)
    shared = servers.start(world)
    address = f"http://127.0.0.1:{shared.server_port}"
    check_chat(address)
    check_backup(address, directory)
    servers.stop(shared)
print("Programs: notes, chat and backup go on after kills and losses")
