// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

import PulseTransports

/// The connection behind a 101.
@Suite(.tags(.threads, .addresses), .throttled)
struct UpgradedConnectionWireTests {
    @Test(arguments: UpgradeStage.Way.allCases, [1, 16 << 10, 100_000])
    func bytesGoBothWays(way: UpgradeStage.Way, size: Int) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .echo }
            let connection = try await stage.open()
            for _ in 0..<10 {
                let bytes = Data.pattern(size)
                try await connection.write(bytes)
                #expect(try await connection.read(count: size).isSame(as: bytes))
            }
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func bothDirectionsCarryMuchAtOnce(way: UpgradeStage.Way) async throws {
        let (piece, count) = (Data.pattern(300_000), 30)
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in
                .accepting { conversation in
                    async let sent: Void = {
                        for _ in 0..<count { try await conversation.send(piece) }
                    }()
                    var received = Data()
                    while received.count < piece.count * count, let bytes = try await conversation.receive() {
                        received.append(bytes)
                    }
                    try await sent
                    try await conversation.send(Data([received.isRepetition(of: piece) ? 1 : 0]))
                }
            }
            let connection = try await stage.open()
            async let written: Void = {
                for _ in 0..<count { try await connection.write(piece) }
            }()
            let all = try await connection.read(count: piece.count * count + 1)
            try await written
            #expect(all.count == piece.count * count + 1 && all.last == 1)
            #expect(all.dropLast().isRepetition(of: piece))
        }
    }

    /// One write is larger than all buffers on the way, and the reader comes late.
    @Test(arguments: UpgradeStage.Way.allCases)
    func aLargeWriteWaitsForItsReader(way: UpgradeStage.Way) async throws {
        let bytes = Data.pattern(24 << 20)
        let (permits, permitted) = AsyncStream<Void>.makeStream()
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { request in
                guard request.path == "/large" else { return .text("on") }
                return .accepting { conversation in
                    for await _ in permits {}
                    var received = Data()
                    while received.count < bytes.count, let bytes = try await conversation.receive() {
                        received.append(bytes)
                    }
                    try await conversation.send(Data([received == bytes ? 1 : 0]))
                }
            }
            let connection = try await stage.open("/large")
            let hasReturned = Locked(false)
            let writer = Task {
                try await connection.write(bytes)
                hasReturned.withLock { $0 = true }
            }
            for _ in 0..<100 { _ = try await stage.transport.send(stage.request(delivery: .buffered(limit: 9))) }
            #expect(!hasReturned.withLock { $0 })
            permitted.finish()
            try await writer.value
            #expect(try await connection.read() == Data([1]))
        }
    }

    /// Nothing is read ahead: what the server has sent is in the system's buffers.
    @Test(arguments: UpgradeStage.Way.allCases)
    func aReaderThatWaitsHoldsTheServerBack(way: UpgradeStage.Way) async throws {
        let (piece, count) = (Data.pattern(1 << 20), 24)
        let sent = Locked(0)
        try await UpgradeStage.run(way, sendBufferSize: 64 << 10) { stage in
            stage.server.fallback { request in
                guard request.path == "/much" else { return .text("on") }
                return .accepting { conversation in
                    for _ in 0..<count {
                        try await conversation.send(piece)
                        sent.withLock { $0 += 1 }
                    }
                }
            }
            let connection = try await stage.open("/much")
            for _ in 0..<100 { _ = try await stage.transport.send(stage.request(delivery: .buffered(limit: 9))) }
            #expect(sent.withLock { $0 } < count / 2)
            let all = try await connection.read(count: .max)
            #expect(all.count == piece.count * count)
            #expect(all.isRepetition(of: piece))
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func aCancelledReadLosesNoBytes(way: UpgradeStage.Way) async throws {
        let (piece, count) = (Data.pattern(50_000), 40)
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in
                .accepting { conversation in
                    for _ in 0..<count { try await conversation.send(piece) }
                }
            }
            let connection = try await stage.open()
            var all = Data()
            var (isOver, round) = (false, 0)
            while !isOver {
                round += 1
                let reader = Task { try await connection.read() }
                if round % 2 == 0 { await Task.yield() }
                if round % 3 != 0 { reader.cancel() }
                switch await reader.result {
                case .success(let bytes?): all.append(bytes)
                case .success(nil): isOver = true
                case .failure(let error): #expect(error is CancellationError)
                }
            }
            #expect(all.count == piece.count * count)
            #expect(all.isRepetition(of: piece))
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func aSecondReaderIsRefused(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .echo }
            let connection = try await stage.open()
            let first = Task.startingNow { try await connection.read() }
            await #expect {
                _ = try await connection.read()
            } throws: {
                PulseError(wrapping: $0).kind == .invalidRequest
            }
            try await connection.write(Data([1]))
            #expect(try await first.value == Data([1]))
        }
    }

    // MARK: The end

    @Test(arguments: UpgradeStage.Way.allCases)
    func theServersEndIsTheEndOfTheBytes(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .accepting { try await $0.send(Data("last".utf8)) } }
            let connection = try await stage.open()
            #expect(try await connection.read(count: .max) == Data("last".utf8))
            #expect(try await connection.read() == nil)
        }
    }

    /// The peer reads the end of the bytes, and still sends.
    @Test(arguments: UpgradeStage.Way.allCases.filter { !$0.isSecure })
    func aHalfClosedConnectionStillReads(way: UpgradeStage.Way) async throws {
        let bytes = Data.pattern(1 << 20)
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in
                .accepting { conversation in
                    var received = Data()
                    while let bytes = try await conversation.receive() { received.append(bytes) }
                    try await conversation.send(received)
                }
            }
            let connection = try await stage.open()
            try await connection.write(bytes)
            connection.finishWriting()
            #expect(try await connection.read(count: .max).isSame(as: bytes))
            let failure = await #expect(throws: TransportFailure.self) { try await connection.write(Data([1])) }
            #expect(failure?.phase == .beforeSend)
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func aResetIsALostConnection(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in
                .raw([.text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n"), .delay(0.01), .reset])
            }
            let connection = try await stage.open()
            let failure = await #expect(throws: TransportFailure.self) { while try await connection.read() != nil {} }
            #expect(failure?.code == .networkConnectionLost)
            let unsent = await #expect(throws: TransportFailure.self) {
                while true { try await connection.write(Data([1])) }
            }
            #expect(unsent?.phase == .beforeSend)
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func closingEndsBothWaits(way: UpgradeStage.Way) async throws {
        let large = Data(count: 24 << 20)
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in
                .accepting { conversation in
                    try await conversation.send(Data([1]))
                    _ = try await stage.server.wait { _ in false }
                }
            }
            let connection = try await stage.open()
            #expect(try await connection.read() == Data([1]))
            let reader = Task.startingNow { try await connection.read() }
            let writer = Task.startingNow { try await connection.write(large) }
            connection.close()
            await #expect(throws: CancellationError.self) { try await reader.value }
            await #expect(throws: CancellationError.self) { try await writer.value }
            await #expect(throws: CancellationError.self) { try await connection.read() }
            await #expect(throws: CancellationError.self) { try await connection.write(Data([1])) }
            connection.close()
            connection.finishWriting()
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func aCancelledWriteThatHasBegunClosesTheConnection(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .accepting { _ in _ = try await stage.server.wait { _ in false } } }
            let connection = try await stage.open()
            let writer = Task.startingNow { try await connection.write(Data(count: 24 << 20)) }
            writer.cancel()
            await #expect(throws: CancellationError.self) { try await writer.value }
            await #expect(throws: CancellationError.self) { try await connection.read() }
            await #expect(throws: CancellationError.self) { try await connection.write(Data([1])) }
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func aReleasedConnectionIsClosed(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .echo }
            do {
                let connection = try await stage.open()
                try await connection.write(Data([1]))
                #expect(try await connection.read() == Data([1]))
            }
            try await stage.server.connectionsClosedByClient()
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func aShutdownClosesOpenConnections(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .echo }
            let connections = [try await stage.open(), try await stage.open()]
            let reader = Task.startingNow { try await connections[0].read() }
            await stage.transport.shutdown()
            await #expect(throws: CancellationError.self) { try await reader.value }
            await #expect(throws: CancellationError.self) { try await connections[1].read() }
            await #expect(throws: CancellationError.self) { try await connections[1].write(Data([1])) }
            try await stage.server.wait { $0.openConnectionCount == 0 }
        }
    }

    /// An open connection keeps its thread, even without its transport.
    @Test(arguments: UpgradeStage.Way.allCases)
    func aConnectionOutlivesAReleasedTransport(way: UpgradeStage.Way) async throws {
        try await MockServer.run { server in
            server.fallback { _ in .echo }
            var connection: (any DuplexConnection)?
            do {
                let transport = StandardTransport()
                var urlRequest = URLRequest(url: server.baseURL)
                urlRequest.allHTTPHeaderFields = UpgradeStage.offer
                let request = TransportRequest(urlRequest: urlRequest, delivery: .upgrade, idleTimeout: 600)
                connection = try await transport.send(request).connection
            }
            let reader = Task.startingNow { [connection] in try await connection?.read() }
            try await connection?.write(Data([1]))
            #expect(try await reader.value == Data([1]))
            connection = nil
            try await server.connectionsClosedByClient()
        }
    }
}
#endif
