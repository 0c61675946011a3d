# SPDX-License-Identifier: MIT
"""Runs the fuzzing server of Autobahn's test suite on a listening socket of its parent, until it is stopped.

`wstest -m fuzzingserver` does the same on every address of the machine; this one is on loopback. For Python 2, as the suite.

Usage: fuzzing_server.py DESCRIPTOR PORT DIRECTORY CASE...
"""
import socket
import sys

# It installs the reactor of Twisted, and so comes first.
from autobahntestsuite import fuzzing
from twisted.internet import reactor

descriptor, port, directory = sys.argv[1:4]
# Twisted demands it of a descriptor that it adopts.
socket.fromfd(int(descriptor), socket.AF_INET, socket.SOCK_STREAM).setblocking(False)
spec = {"url": "ws://127.0.0.1:" + port, "outdir": directory, "cases": sys.argv[4:]}
reactor.adoptStreamPort(int(descriptor), socket.AF_INET, fuzzing.FuzzingServerFactory(spec))
reactor.run()
