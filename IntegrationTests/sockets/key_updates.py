# SPDX-License-Identifier: MIT
"""TLS 1.3 servers before a server in cleartext that update their keys (RFC 8446, section 4.6.3). One does so with each piece
that it sends. The other one asks the client to do so, too, and again with the first piece after the client has done so.
Python's `ssl` has no function for it, so this calls OpenSSL.
"""
import asyncio
import ctypes
from ctypes import c_char_p, c_int, c_long, c_size_t, c_void_p

library = ctypes.CDLL("libssl.so.3")
crypto = ctypes.CDLL("libcrypto.so.3")

MessageCallback = ctypes.CFUNCTYPE(None, c_int, c_int, c_int, c_void_p, c_size_t, c_void_p, c_void_p)


def declare(source, name, result, *arguments):
    function = getattr(source, name)
    function.restype, function.argtypes = result, arguments
    return function


TLS_server_method = declare(library, "TLS_server_method", c_void_p)
SSL_CTX_new = declare(library, "SSL_CTX_new", c_void_p, c_void_p)
SSL_CTX_ctrl = declare(library, "SSL_CTX_ctrl", c_long, c_void_p, c_int, c_long, c_void_p)
SSL_CTX_use_certificate_chain_file = declare(library, "SSL_CTX_use_certificate_chain_file", c_int, c_void_p, c_char_p)
SSL_CTX_use_PrivateKey_file = declare(library, "SSL_CTX_use_PrivateKey_file", c_int, c_void_p, c_char_p, c_int)
SSL_CTX_set_msg_callback = declare(library, "SSL_CTX_set_msg_callback", None, c_void_p, MessageCallback)
SSL_new = declare(library, "SSL_new", c_void_p, c_void_p)
SSL_free = declare(library, "SSL_free", None, c_void_p)
SSL_set_bio = declare(library, "SSL_set_bio", None, c_void_p, c_void_p, c_void_p)
SSL_set_accept_state = declare(library, "SSL_set_accept_state", None, c_void_p)
SSL_do_handshake = declare(library, "SSL_do_handshake", c_int, c_void_p)
SSL_read = declare(library, "SSL_read", c_int, c_void_p, c_char_p, c_int)
SSL_write = declare(library, "SSL_write", c_int, c_void_p, c_char_p, c_int)
SSL_get_error = declare(library, "SSL_get_error", c_int, c_void_p, c_int)
SSL_key_update = declare(library, "SSL_key_update", c_int, c_void_p, c_int)
SSL_shutdown = declare(library, "SSL_shutdown", c_int, c_void_p)
BIO_s_mem = declare(crypto, "BIO_s_mem", c_void_p)
BIO_new = declare(crypto, "BIO_new", c_void_p, c_void_p)
BIO_read = declare(crypto, "BIO_read", c_int, c_void_p, c_char_p, c_int)
BIO_write = declare(crypto, "BIO_write", c_int, c_void_p, c_char_p, c_int)

PEM, SET_MIN_PROTO_VERSION, TLS_1_3 = 1, 123, 0x0304
HANDSHAKE, KEY_UPDATE, WANT_READ = 22, 24, 2
NOT_REQUESTED, REQUESTED = 0, 1
SIZE = 16384


class Terminator:
    def __init__(self, directory, port, is_requesting):
        self.port = port
        self.is_requesting = is_requesting
        # The messages of all connections by the server and by the clients.
        self.sent = self.received = 0
        # By their address in OpenSSL.
        self.connections = {}
        self.context = SSL_CTX_new(TLS_server_method())
        # Kept, since OpenSSL has only its address.
        self.callback = MessageCallback(self.count)
        SSL_CTX_set_msg_callback(self.context, self.callback)
        assert SSL_CTX_ctrl(self.context, SET_MIN_PROTO_VERSION, TLS_1_3, None) == 1
        assert SSL_CTX_use_certificate_chain_file(self.context, f"{directory}/server-chain.pem".encode()) == 1
        assert SSL_CTX_use_PrivateKey_file(self.context, f"{directory}/server.key".encode(), PEM) == 1

    def count(self, is_written, _version, kind, data, size, ssl, _argument):
        if kind != HANDSHAKE or not size or ctypes.string_at(data, 1)[0] != KEY_UPDATE:
            return
        if is_written:
            self.sent += 1
        else:
            self.received += 1
        self.connections[ssl].is_waiting = bool(is_written)

    async def handle(self, reader, writer):
        connection = Connection(self, reader, writer)
        self.connections[connection.ssl] = connection
        try:
            await connection.accept()
            upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                down = asyncio.create_task(connection.send_all(upstream_reader))
                up = asyncio.create_task(connection.receive_all(upstream_writer))
                _, pending = await asyncio.wait([up, down], return_when=asyncio.FIRST_COMPLETED)
                for task in pending:
                    task.cancel()
                await asyncio.gather(up, down, return_exceptions=True)
            finally:
                upstream_writer.close()
            connection.shut_down()
        except OSError:
            pass  # the client has left
        finally:
            del self.connections[connection.ssl]
            SSL_free(connection.ssl)
            writer.close()


class Connection:
    """TLS over memory, which never blocks, and is used by one thread."""

    def __init__(self, terminator, reader, writer):
        self.is_requesting = terminator.is_requesting
        # For the client's update.
        self.is_waiting = False
        self.ssl, self.reader, self.writer = SSL_new(terminator.context), reader, writer
        self.input, self.output = BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem())
        self.buffer = ctypes.create_string_buffer(SIZE)
        SSL_set_bio(self.ssl, self.input, self.output)
        SSL_set_accept_state(self.ssl)

    async def accept(self):
        while SSL_do_handshake(self.ssl) != 1:
            self.flush()
            await self.fill()
        self.flush()

    async def fill(self):
        data = await self.reader.read(65536)
        if not data:
            raise ConnectionError("the client has left")
        BIO_write(self.input, data, len(data))

    def flush(self):
        while (count := BIO_read(self.output, self.buffer, SIZE)) > 0:
            self.writer.write(self.buffer.raw[:count])

    async def receive_all(self, target):
        while True:
            while (count := SSL_read(self.ssl, self.buffer, SIZE)) > 0:
                target.write(self.buffer.raw[:count])
            self.flush()
            if SSL_get_error(self.ssl, count) != WANT_READ:
                return
            await target.drain()
            await self.fill()

    async def send_all(self, source):
        while data := await source.read(SIZE):
            # OpenSSL's clients fail if another update follows a request while their write is blocked (its issue 13729).
            if not self.is_requesting:
                SSL_key_update(self.ssl, NOT_REQUESTED)
            elif not self.is_waiting:
                SSL_key_update(self.ssl, REQUESTED)
            if SSL_write(self.ssl, data, len(data)) != len(data):
                raise ConnectionError("OpenSSL refuses to send")
            self.flush()
            await self.writer.drain()

    def shut_down(self):
        SSL_shutdown(self.ssl)
        self.flush()
