// SPDX-License-Identifier: MIT

import Foundation
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled)
struct CallbackConnectionTests {
    private let channel = ScriptedChannel()
    private let clock = TestClock()
    private let connection: CallbackConnection

    init() {
        connection = CallbackConnection(channel, clock: clock)
    }

    private func opener(timeout: TimeInterval = .infinity) -> Task<Void, any Error> {
        Task.startingNow { [connection] in try await connection.open(timeout: timeout) }
    }

    private func open() async throws {
        let opener = opener()
        channel.report(.ready(remoteAddress: "192.0.2.1"))
        try await opener.value
    }

    private func reader() -> Task<Data?, any Error> {
        Task.startingNow { [connection] in try await connection.read() }
    }

    private func writer(_ bytes: [UInt8]) -> Task<Void, any Error> {
        Task.startingNow { [connection] in try await connection.write(Data(bytes)) }
    }

    private func failure<Value: Sendable>(of task: Task<Value, any Error>) async -> TransportFailure? {
        await #expect(throws: TransportFailure.self) { _ = try await task.value }
    }

    // MARK: Opening

    @Test func aReadyChannelIsOpen() async throws {
        try await open()
        #expect(connection.remoteAddress == "192.0.2.1")
        #expect(channel.calls == [.start])
    }

    @Test(arguments: [false, true])
    func aChannelThatCannotConnectFailsAtOnceAndIsCancelled(waits: Bool) async {
        let opener = opener()
        let refused = CallbackFailure(cause: .posix(.ECONNREFUSED), underlying: POSIXError(.ECONNREFUSED))
        channel.report(waits ? .waiting(refused) : .failed(refused))
        let failure = await failure(of: opener)
        #expect(failure?.code == .cannotConnectToHost && failure?.phase == .beforeSend)
        #expect((failure?.underlying as? POSIXError)?.code == .ECONNREFUSED)
        #expect(channel.calls == [.start, .cancel])
        // Later events change nothing.
        channel.report(.ready(remoteAddress: nil))
        await #expect(throws: CancellationError.self) { try await connection.read() }
    }

    @Test func aSlowChannelRunsIntoTheConnectTimeout() async {
        let opener = opener(timeout: 10)
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 10)
        let failure = await failure(of: opener)
        #expect(failure?.code == .timedOut && failure?.phase == .beforeSend)
        #expect(channel.calls == [.start, .cancel])
    }

    @Test func theConnectTimeoutEndsWithTheConnect() async throws {
        let opener = opener(timeout: 10)
        await clock.sleepers(atLeast: 1, for: .timeout)
        channel.report(.ready(remoteAddress: nil))
        try await opener.value
        await clock.advance(by: 1000)
        let reader = reader()
        try channel.deliver([1])
        #expect(try await reader.value == Data([1]))
    }

    @Test(arguments: [false, true])
    func aCancelledOrClosedConnectEnds(isClosed: Bool) async {
        let opener = opener()
        if isClosed { connection.close() } else { opener.cancel() }
        await #expect(throws: CancellationError.self) { try await opener.value }
        #expect(channel.calls == [.start, .cancel])
    }

    @Test func aCancelledTaskDoesNotConnect() async {
        await #expect(throws: CancellationError.self) {
            withUnsafeCurrentTask { $0?.cancel() }
            try await connection.open(timeout: 1)
        }
        #expect(channel.calls == [.cancel])
    }

    // MARK: Reading

    @Test func nothingIsReadAhead() async throws {
        try await open()
        #expect(channel.calls == [.start])
        let reader = reader()
        try channel.deliver([1, 2])
        #expect(try await reader.value == Data([1, 2]))
        #expect(channel.calls == [.start, .receive(upTo: 64 << 10)])
    }

    @Test func bytesThatComeWithTheEndAreReadBeforeIt() async throws {
        try await open()
        let reader = reader()
        try channel.deliver([1], isEnd: true)
        #expect(try await reader.value == Data([1]))
        for _ in 0..<2 { #expect(try await connection.read() == nil) }
        #expect(channel.receiveCount == 0)
    }

    @Test(arguments: [false, true])
    func bytesThatComeWithAFailureAreReadBeforeIt(isEnd: Bool) async throws {
        try await open()
        let reader = reader()
        try channel.deliver([1], isEnd: isEnd, ScriptedChannel.reset)
        #expect(try await reader.value == Data([1]))
        for _ in 0..<2 {
            let failure = await failure(of: self.reader())
            #expect(failure?.code == .networkConnectionLost && failure?.phase == .maybeSent)
        }
        #expect(channel.receiveCount == 0)
    }

    /// The event may overtake bytes that the channel has received before.
    @Test(arguments: [false, true])
    func bytesThatComeAfterTheEventOfAFailureAreRead(isReading: Bool) async throws {
        try await open()
        let early = isReading ? reader() : nil
        channel.report(.failed(ScriptedChannel.reset))
        let reader = early ?? self.reader()
        try channel.deliver([1])
        #expect(try await reader.value == Data([1]))
        let next = self.reader()
        try channel.deliver(
            nil, isEnd: true, CallbackFailure(cause: .posix(.ENODATA), underlying: POSIXError(.ENODATA)))
        // The first failure is the cause of the later ones.
        #expect((await failure(of: next)?.underlying as? POSIXError)?.code == .ECONNRESET)
    }

    @Test func anEndStaysAnEndAfterAFailure() async throws {
        try await open()
        let reader = reader()
        try channel.deliver(isEnd: true)
        #expect(try await reader.value == nil)
        channel.report(.failed(ScriptedChannel.reset))
        #expect(try await connection.read() == nil)
    }

    @Test func aCancelledReadLeavesItsBytesToTheNext() async throws {
        try await open()
        let first = reader()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        let second = reader()
        // One receive at a time.
        #expect(channel.receiveCount == 1)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        try channel.deliver([1])
        #expect(try await connection.read() == Data([1]))
        let third = reader()
        try channel.deliver([2])
        #expect(try await third.value == Data([2]))
    }

    @Test func aReadByACancelledTaskAsksForNothing() async throws {
        try await open()
        await #expect(throws: CancellationError.self) {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await connection.read()
        }
        #expect(channel.calls == [.start])
    }

    @Test func aSecondReaderIsRefused() async throws {
        try await open()
        let first = reader()
        await #expect {
            _ = try await connection.read()
        } throws: {
            PulseError(wrapping: $0).kind == .invalidRequest
        }
        try channel.deliver([1])
        #expect(try await first.value == Data([1]))
    }

    // MARK: Writing

    @Test func aWriteReturnsWhenTheSystemHasTheBytes() async throws {
        try await open()
        let hasReturned = Locked(false)
        let writer = Task.startingNow { [connection] in
            try await connection.write(Data([1, 2]))
            hasReturned.withLock { $0 = true }
        }
        #expect(channel.calls == [.start, .send([1, 2])])
        #expect(!hasReturned.withLock { $0 })
        try channel.take()
        try await writer.value
        let next = self.writer([3])
        try channel.take()
        try await next.value
    }

    @Test(arguments: [false, true])
    func aFailedWriteMayBeSentAndLaterOnesAreNot(byEvent: Bool) async throws {
        try await open()
        let first = writer([1])
        if byEvent { channel.report(.failed(ScriptedChannel.reset)) } else { try channel.take(ScriptedChannel.reset) }
        let failure = await failure(of: first)
        #expect(failure?.code == .networkConnectionLost && failure?.phase == .maybeSent)
        let later = await self.failure(of: writer([2]))
        #expect(later?.code == .networkConnectionLost && later?.phase == .beforeSend)
        #expect(channel.calls == [.start, .send([1])])
    }

    @Test func aTakenWriteSucceedsAlthoughTheChannelFailsNext() async throws {
        try await open()
        let first = writer([1])
        try channel.take()
        channel.report(.failed(ScriptedChannel.reset))
        try await first.value
    }

    @Test func aSecondWriterIsRefused() async throws {
        try await open()
        let first = writer([1])
        await #expect {
            try await connection.write(Data([2]))
        } throws: {
            PulseError(wrapping: $0).kind == .invalidRequest
        }
        try channel.take()
        try await first.value
        #expect(channel.calls == [.start, .send([1])])
    }

    @Test func aCancelledWriteClosesTheConnection() async throws {
        try await open()
        let writer = writer([1])
        writer.cancel()
        await #expect(throws: CancellationError.self) { try await writer.value }
        #expect(channel.calls == [.start, .send([1]), .cancel])
        await #expect(throws: CancellationError.self) { try await connection.read() }
        try channel.take()
    }

    @Test func aWriteByACancelledTaskSendsNothing() async throws {
        try await open()
        await #expect(throws: CancellationError.self) {
            withUnsafeCurrentTask { $0?.cancel() }
            try await connection.write(Data([1]))
        }
        let writer = writer([2])
        try channel.take()
        try await writer.value
        #expect(channel.calls == [.start, .send([2])])
    }

    @Test func theEndOfTheDirectionFollowsItsBytes() async throws {
        try await open()
        let writer = writer([1])
        connection.finishWriting()
        connection.finishWriting()
        try channel.take()
        try await writer.value
        let failure = await failure(of: self.writer([2]))
        #expect(failure?.phase == .beforeSend && (failure?.underlying as? POSIXError)?.code == .EPIPE)
        let reader = reader()
        try channel.deliver([3])
        #expect(try await reader.value == Data([3]))
        #expect(channel.calls == [.start, .send([1]), .finish, .receive(upTo: 64 << 10)])
    }

    /// Another task ends the direction while the channel gets the last bytes.
    @Test func theEndOfTheDirectionDoesNotOvertakeItsBytes() async throws {
        try await open()
        channel.once { [connection] in connection.finishWriting() }
        let writer = writer([1])
        try channel.take()
        try await writer.value
        #expect(channel.calls == [.start, .send([1]), .finish])
    }

    // MARK: Closing

    @Test func closingEndsBothWaitsAndAllLaterOnes() async throws {
        try await open()
        let (reader, writer) = (reader(), writer([1]))
        connection.close()
        await #expect(throws: CancellationError.self) { try await reader.value }
        await #expect(throws: CancellationError.self) { try await writer.value }
        try channel.deliver([1])
        try channel.take(ScriptedChannel.reset)
        await #expect(throws: CancellationError.self) { try await connection.read() }
        await #expect(throws: CancellationError.self) { try await connection.write(Data([1])) }
        connection.finishWriting()
        connection.close()
        #expect(channel.calls == [.start, .receive(upTo: 64 << 10), .send([1]), .cancel])
    }

    /// A receive that a cancelled read has left behind does not keep the connection.
    @Test func aReleasedConnectionCancelsItsChannel() async throws {
        let channel = ScriptedChannel()
        do {
            let connection = CallbackConnection(channel, clock: clock)
            let opener = Task.startingNow { try await connection.open(timeout: 9) }
            channel.report(.ready(remoteAddress: nil))
            try await opener.value
            connection.begin(idleTimeout: 5)
            let reader = Task.startingNow { try await connection.read() }
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
        }
        #expect(channel.calls == [.start, .receive(upTo: 64 << 10), .cancel])
        try channel.deliver([1])
    }

    /// The cancellation comes when the channel has the call, and before the task waits.
    @Test(arguments: [false, true])
    func aCancellationBeforeTheWaitEndsIt(writes: Bool) async throws {
        try await open()
        channel.once { withUnsafeCurrentTask { $0?.cancel() } }
        await #expect(throws: CancellationError.self) {
            if writes { try await writer([1]).value } else { _ = try await reader().value }
        }
    }

    @Test func aClosedConnectionHasNoTaskLeft() async throws {
        let opener = opener(timeout: 10)
        await clock.sleepers(atLeast: 1, for: .timeout)
        connection.close()
        await #expect(throws: CancellationError.self) { try await opener.value }
        #expect(clock.sleeperCount(for: .timeout) == 0)
    }

    @Test func aTimeoutExpiresNotBeforeItsTime() {
        var state = CallbackConnection.State()
        state.limit(to: 5, now: 1)
        #expect(state.expire(now: 5).isEmpty && state.end == nil)
        #expect(state.expire(now: 6).isEmpty && state.end is TransportFailure)
    }

    // MARK: The exchange

    @Test func aRequestCountsAsSentOnceTheChannelHasIt() async throws {
        try await open()
        connection.begin(idleTimeout: .infinity)
        await clock.advance(by: 3)
        connection.send(Data([1, 2]), ifIdle: false, isBatched: false)
        #expect(connection.sent.count == 2 && connection.sent.time == clock.uptime)
        channel.report(.failed(ScriptedChannel.reset))
        connection.send(Data([3]), ifIdle: false, isBatched: false)
        #expect(connection.sent.count == 2)
        #expect(channel.calls == [.start, .send([1, 2])])
    }

    @Test func theIdleTimeoutCountsFromTheLastByte() async throws {
        try await open()
        connection.begin(idleTimeout: 5)
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 4)
        connection.send(Data([1]), ifIdle: false, isBatched: false)
        let reader = reader()
        await clock.advance(by: 4)
        try channel.take()
        await clock.advance(by: 4)
        try channel.deliver([2])
        #expect(try await reader.value == Data([2]))
        let waiting = self.reader()
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 4)
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 1)
        let failure = await failure(of: waiting)
        #expect(failure?.code == .timedOut && failure?.phase == .maybeSent)
        #expect(await self.failure(of: writer([1]))?.phase == .beforeSend)
    }

    @Test func anUpgradedConnectionHasNoTimeoutAndReturnsTheUnreadBytesFirst() async throws {
        try await open()
        connection.begin(idleTimeout: 5)
        await clock.sleepers(atLeast: 1, for: .timeout)
        connection.upgrade(unread: Data([1, 2]))
        await clock.advance(by: 1000)
        #expect(try await connection.read() == Data([1, 2]))
        let reader = reader()
        try channel.deliver([3])
        #expect(try await reader.value == Data([3]))
    }

    @Test func theUnreadBytesPrecedeThoseOfACancelledRead() async throws {
        try await open()
        let reader = reader()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        try channel.deliver([3])
        connection.upgrade(unread: Data([1, 2]))
        #expect(try await connection.read() == Data([1, 2, 3]))
        connection.close()
        connection.upgrade(unread: Data([4]))
        await #expect(throws: CancellationError.self) { try await connection.read() }
    }
}
