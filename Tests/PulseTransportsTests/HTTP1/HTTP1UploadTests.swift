// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads), .throttled)
struct HTTP1UploadTests {
    /// The loop may have sent the last byte while the writing task still has the connection.
    @Test(arguments: [4, nil] as [Int64?])
    func aBodyIsSentWhenItsTaskHasReturned(length: Int64?) async throws {
        let connection = ScriptedConnection(holdsWrites: true)
        let upload = upload(try feed(length) { ByteStream([Data("body".utf8)]) }, over: connection)
        await connection.firstWrite()
        #expect(connection.sent.count > 4 && !upload.isSent)
        connection.releaseWrites()
        try await upload.end()
        #expect(upload.isSent && connection.hasEndedReading)
        let framed = length == nil ? "4\r\nbody\r\n0\r\n\r\n" : "body"
        #expect(connection.written == framed)
    }

    /// A source without an end, as that of a body that is passed on.
    @Test func aBodyOfKnownLengthNeedsNoEndOfItsSource() async throws {
        let connection = ScriptedConnection()
        let isFirst = Locked(true)
        let upload = upload(
            try feed(4) {
                ByteStream(next: {
                    let first = isFirst.withLock { first in
                        defer { first = false }
                        return first
                    }
                    return first ? Data("body".utf8) : try await Self.forever()
                })
            }, over: connection)
        try await upload.end()
        #expect(upload.isSent && connection.limits.last == 9)
    }

    /// The server is not slow while it waits for the source.
    @Test func onlyAWriteIsTimed() async throws {
        let connection = ScriptedConnection()
        let upload = upload(
            try feed(nil) { ByteStream([Data("a".utf8), Data("b".utf8)]) }, over: connection)
        try await upload.end()
        let limits = connection.limits
        #expect(limits == [.infinity, 9, .infinity, 9, .infinity, 9, .infinity, 9])
    }

    @Test func aRefusedBodyEndsBeforeItsNextChunk() async throws {
        let connection = ScriptedConnection(holdsWrites: true)
        let upload = upload(
            try feed(2) { ByteStream([Data("a".utf8), Data("b".utf8)]) }, over: connection)
        await connection.firstWrite()
        upload.stop()
        connection.releaseWrites()
        try await upload.end()
        #expect(connection.written == "a" && !upload.isSent && connection.limits.last == 9)
    }

    /// The connection has a lock of its own, and may call back.
    @Test func aStopDuringAChangeOfTheLimitIsTheLast() async throws {
        let connection = ScriptedConnection(holdsWrites: true)
        let upload = upload(
            try feed(2) { ByteStream([Data("a".utf8), Data("b".utf8)]) }, over: connection)
        await connection.firstWrite()
        connection.onLimit = { if $0 == .infinity { upload.stop() } }
        connection.releaseWrites()
        try await upload.end()
        connection.onLimit = nil
        #expect(connection.written == "a" && !upload.isSent)
        #expect(connection.limits == [.infinity, 9, 9, .infinity, 9])
    }

    @Test func theFailureOfASourceClosesTheConnection() async throws {
        struct Broken: Error {}
        let connection = ScriptedConnection()
        let upload = upload(
            try feed(9) { ByteStream(next: { throw Broken() }) }, over: connection)
        await #expect(throws: (any Error).self) { try await upload.end() }
        #expect(upload.failure != nil && !upload.isSent && connection.isClosed)
    }

    /// The wait ends at once, also if the source goes on.
    @Test func aCancelledWaitLeavesTheSource() async throws {
        let upload = upload(
            try feed(9) { ByteStream(next: { try await Self.forever() }) }, over: ScriptedConnection())
        let wait = Task { try await upload.end() }
        wait.cancel()
        await #expect(throws: CancellationError.self) { try await wait.value }
        #expect(!upload.isSent)
    }

    @Test func aHeadThatWasNotSentBeginsNoBody() async throws {
        let connection = ScriptedConnection(isStale: true)
        let makes = Locked(0)
        let upload = upload(
            try feed(nil) {
                makes.withLock { $0 += 1 }
                return ByteStream([])
            }, over: connection)
        try await upload.end()
        #expect(makes.withLock { $0 } == 0 && !upload.isSent)
    }

    private func upload(_ feed: BodyFeed, over connection: ScriptedConnection) -> BodyUpload {
        BodyUpload(feed, over: HTTP1UploadChannel(connection, for: feed, idleTimeout: 9))
    }

    private func feed(_ length: Int64?, _ make: @escaping @Sendable () -> ByteStream) throws -> BodyFeed {
        try #require(try BodyFeed(.stream(RequestBody.Stream(length: length, make: make)), progress: nil))
    }

    /// Never returns, as a source that ignores cancellation.
    private static func forever() async throws -> Data? {
        // The task is never resumed: a checked continuation would report that.
        try await withUnsafeThrowingContinuation { (_: UnsafeContinuation<Data?, any Error>) in }
    }
}

/// A connection whose head of 10 bytes is sent.
private final class ScriptedConnection: ReusableConnection {
    private struct State {
        var holdsWrites: Bool
        var held: CheckedContinuation<Void, Never>?
        var first: CheckedContinuation<Void, Never>?
        var written = Data()
        var limits: [TimeInterval] = []
        var onLimit: (@Sendable (TimeInterval) -> Void)?
        var isClosed = false
        var hasEndedReading = false
    }

    private let isStale: Bool
    private let state: Locked<State>

    init(holdsWrites: Bool = false, isStale: Bool = false) {
        self.isStale = isStale
        state = Locked(State(holdsWrites: holdsWrites))
    }

    var written: String { String(decoding: state.withLock { $0.written }, as: UTF8.self) }
    var limits: [TimeInterval] { state.withLock { $0.limits } }
    /// Runs before a limit applies.
    var onLimit: (@Sendable (TimeInterval) -> Void)? {
        get { state.withLock { $0.onLimit } }
        set { state.withLock { $0.onLimit = newValue } }
    }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    var hasEndedReading: Bool { state.withLock { $0.hasEndedReading } }

    /// Returns once bytes are written, while their write waits.
    func firstWrite() async {
        await withCheckedContinuation { waiter in
            let isThere = state.withLock { state in
                if state.written.isEmpty { state.first = waiter }
                return !state.written.isEmpty
            }
            if isThere { waiter.resume() }
        }
    }

    func releaseWrites() {
        state.withLock { state in
            state.holdsWrites = false
            return state.held.take()
        }?.resume()
    }

    // MARK: ReusableConnection

    let remoteAddress: String? = nil
    var sent: (count: Int, time: TimeInterval) { (isStale ? 0 : 10 + state.withLock { $0.written.count }, 0) }
    var mayHaveSent: Bool { !isStale }

    func begin(idleTimeout: TimeInterval) {}
    func limitIdleTime(to timeout: TimeInterval) {
        onLimit?(timeout)
        state.withLock { $0.limits.append(timeout) }
    }
    func send(_ bytes: Data, ifIdle: Bool, isBatched: Bool) {}
    func beginStreaming() {}
    func endReading() { state.withLock { $0.hasEndedReading = true } }
    func upgrade(unread: Data) {}
    func read() async throws -> Data? { nil }
    func finishWriting() {}
    func close() { state.withLock { $0.isClosed = true } }

    func finishSending() async throws {
        if isStale { throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend) }
    }

    func write(_ bytes: Data) async throws {
        await withCheckedContinuation { waiter in
            let (first, isHeld) = state.withLock { state in
                state.written += bytes
                if state.holdsWrites { state.held = waiter }
                return (state.first.take(), state.holdsWrites)
            }
            first?.resume()
            if !isHeld { waiter.resume() }
        }
    }
}
