// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled)
struct SocketConnectingTests {
    private let loop: SocketLoop

    init() throws {
        loop = try SocketLoop()
    }

    /// A task that connects and drops the connection.
    private func connecting(toFirstOf addresses: [SocketAddress], _ clock: TestClock = TestClock()) -> Task<
        Void, any Error
    > {
        Task.startingNow { [loop] in
            _ = try await loop.connect(toFirstOf: addresses, clock: clock)
        }
    }

    /// Where nothing listens.
    private static func closedAddress() throws -> SocketAddress {
        try #require(SocketAddress("127.0.0.1", port: 1))
    }

    // MARK: One address

    @Test func aConnectionCarriesBytesInBothDirections() async throws {
        let listener = try LoopbackListener()
        let connection = try await loop.connect(to: listener.address)
        #expect(connection.remoteAddress == "127.0.0.1")
        connection.begin(idleTimeout: .infinity)
        let far = try loop.connection(SocketChannel(listener.accept(saying: [1, 2])), remoteAddress: nil)
        #expect(try await connection.read() == Data([1, 2]))
        try await connection.write(Data([3]))
        #expect(try await far.read() == Data([3]))
        connection.close()
        #expect(try await far.read() == nil)
        await loop.shutdown()
    }

    /// The event of the connection may be that of its first bytes, too.
    @Test func bytesThatComeWithTheConnectionAreRead() async throws {
        let still = SocketLoop(try SocketLoop.Core())
        let listener = try LoopbackListener()
        let connection = try await still.connect(to: listener.address)
        connection.begin(idleTimeout: .infinity)
        let far = try listener.accept(saying: [7])
        let reader = Task.startingNow { try await connection.read() }
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { buffer in
            _ = still.core.turn(with: buffer, waits: false)
        }
        #expect(try await reader.value == Data([7]))
        close(far)
        await loop.shutdown()
    }

    @Test func aRefusalIsTheSystemsError() async throws {
        let address = try Self.closedAddress()
        let failure = await #expect(throws: ConnectionFailure.self) { try await loop.connect(to: address) }
        #expect(failure?.number == ECONNREFUSED && failure?.description == "Connection refused")
        while !loop.connections.isEmpty { await Task.yield() }
        await loop.shutdown()
    }

    @Test func aCancelledAttemptEndsAtOnce() async throws {
        let listener = try SilentListener()
        let task = connecting(toFirstOf: [listener.address])
        while loop.connections.isEmpty { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        while !loop.connections.isEmpty { await Task.yield() }
        await loop.shutdown()
    }

    @Test func aShutdownEndsAnAttempt() async throws {
        let listener = try SilentListener()
        let task = connecting(toFirstOf: [listener.address])
        while loop.connections.isEmpty { await Task.yield() }
        await loop.shutdown()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// An event of an earlier connection with the same number.
    @Test func anEventAloneMakesNoConnection() async throws {
        let listener = try SilentListener()
        let task = connecting(toFirstOf: [listener.address])
        while loop.connections.isEmpty { await Task.yield() }
        let connection = try #require(loop.connections.first)
        for _ in 0..<3 {
            var waiters: [SocketConnection.Waiter] = []
            let event = pulse_poller_event(number: 0, is_readable: true, is_writable: true, has_ended: true)
            withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { buffer in
                connection.handle(event, with: buffer, now: 0, &waiters)
            }
            for waiter in waiters { waiter.resume() }
            for _ in 0..<20 { await Task.yield() }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await loop.shutdown()
    }

    /// The system says so at once, and reports no room later.
    @Test func aFullQueueOfAUnixSocketIsWaitedFor() async throws {
        let (listener, clock) = (try FullUnixListener(), TestClock())
        let task = Task.startingNow { [loop] in
            try await loop.connect(toFirstOf: [listener.address], clock: clock)
        }
        for _ in 0..<3 {
            await clock.sleepers(atLeast: 1, for: .backoff)
            await clock.advance(by: 0.1)
        }
        await clock.sleepers(atLeast: 1, for: .backoff)
        close(try listener.accept())
        await clock.advance(by: 0.1)
        let connection = try await task.value
        connection.close()
        await loop.shutdown()
    }

    // MARK: Several addresses

    /// The clock stands still: no attempt waits for its turn.
    @Test func aRefusalLetsTheNextAddressBegin() async throws {
        let listener = try LoopbackListener()
        let addresses = [try Self.closedAddress(), try Self.closedAddress(), listener.address]
        let connection = try await loop.connect(toFirstOf: addresses, clock: TestClock())
        close(try listener.accept())
        while loop.connections.count > 1 { await Task.yield() }
        connection.close()
        await loop.shutdown()
    }

    @Test func aSilentAddressLosesTheRace() async throws {
        let (silent, listener, clock) = (try SilentListener(), try LoopbackListener(), TestClock())
        let task = Task.startingNow { [loop] in
            try await loop.connect(toFirstOf: [silent.address, listener.address], clock: clock)
        }
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 0.2)
        #expect(loop.connections.count == 1)
        await clock.advance(by: 0.05)
        let connection = try await task.value
        close(try listener.accept())
        // The loser is closed before the winner is returned.
        while loop.connections.count > 1 { await Task.yield() }
        connection.close()
        await loop.shutdown()
    }

    @Test func theLastFailureIsThatOfTheRace() async throws {
        let nowhere = try #require(SocketAddress(path: "/nothing/such.sock"))
        let addresses = [try Self.closedAddress(), nowhere]
        let failure = await #expect(throws: ConnectionFailure.self) {
            try await loop.connect(toFirstOf: addresses, clock: TestClock())
        }
        #expect(failure?.number == ENOENT)
        await loop.shutdown()
    }

    @Test func aCancelledRaceEndsAllItsAttempts() async throws {
        let (one, other, clock) = (try SilentListener(), try SilentListener(), TestClock())
        let task = connecting(toFirstOf: [one.address, other.address], clock)
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 0.25)
        while loop.connections.count < 2 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        while !loop.connections.isEmpty { await Task.yield() }
        await loop.shutdown()
    }

    // MARK: Failures

    @Test(
        arguments: [
            (ECONNREFUSED, .cannotConnectToHost), (EMFILE, .resourceUnavailable), (ENFILE, .resourceUnavailable),
            (ENOBUFS, .resourceUnavailable), (ENOMEM, .resourceUnavailable), (EHOSTUNREACH, .notConnectedToInternet),
            (ETIMEDOUT, .cannotConnectToHost),
        ] as [(Int32, URLError.Code)])
    func theSystemsErrorHasACode(number: Int32, code: URLError.Code) {
        let failure = ConnectionFailure(number: number).failure(hasTriedBothFamilies: false)
        #expect(failure.code == code && failure.phase == .beforeSend)
    }
}
#endif
