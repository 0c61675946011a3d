// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import TestSupport
import Testing

@testable import PulseTesting

@Suite(.throttled)
struct SocketStreamTests {
    /// Both are there when the source starts: the system reports them once.
    @Test(arguments: [false, true])
    func noticesAnEndBehindUnreadBytes(byReset: Bool) async throws {
        let (stream, client) = try connection()
        try await client.send("bytes")
        client.close(resetting: byReset)
        stream.open()
        await end(of: stream)
        stream.close()
        await stream.disposal()
    }

    @Test(arguments: [false, true])
    func noticesAnEndWhileTheBufferIsFull(byReset: Bool) async throws {
        let (stream, client) = try connection()
        try await client.send("bytes")
        stream.limitReadAhead(to: 2)
        stream.open()
        // By now the source has paused.
        #expect(try await stream.receive() == Data("by".utf8))
        client.close(resetting: byReset)
        while let bytes = try? await stream.receive() { #expect(!bytes.isEmpty) }
        await end(of: stream)
        stream.close()
        await stream.disposal()
    }

    @Test func sendingFailsAfterTheClientHasLeft() async throws {
        let (stream, client) = try connection()
        stream.open()
        let sender = Task {
            while true { try await stream.send(Data(repeating: 0x61, count: 100_000)) }
        }
        #expect(try await client.receive(1000).count == 1000)
        client.close(resetting: true)
        await #expect(throws: (any Error).self) { try await sender.value }
        stream.close()
        await stream.disposal()
    }

    @Test func childProcessesInheritNoSocket() throws {
        let (listener, port) = try SocketDescriptor.listening(on: .ipv4, backlog: 1)
        let client = try WireClient.connect(to: port)
        let sockets = [listener, try #require(try listener.acceptConnection()), try SocketDescriptor.stream(AF_INET)]
        for socket in sockets {
            #expect(fcntl(socket.number, F_GETFD) == FD_CLOEXEC)
            socket.dispose()
        }
        client.close()
    }

    private func connection() throws -> (SocketStream, WireClient) {
        let (listener, port) = try SocketDescriptor.listening(on: .ipv4, backlog: 1)
        defer { listener.dispose() }
        let client = try WireClient.connect(to: port)
        let accepted = try #require(try listener.acceptConnection())
        return (
            SocketStream(
                SocketChannel(accepted), try .shared(), queue: DispatchQueue(label: "SocketStreamTests")), client
        )
    }

    private func end(of stream: SocketStream) async {
        await withCheckedContinuation { continuation in
            _ = stream.onPeerEnd { _ in continuation.resume() }
        }
    }
}
