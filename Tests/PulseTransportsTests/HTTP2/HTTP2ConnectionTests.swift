// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled, .enabled(if: HTTP2Session.isSupported))
struct HTTP2ConnectionTests {
    // MARK: Responses

    @Test func aResponseIsReadWhole() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send() }
        let head = try #require(await stage.peer.frame(.headers))
        #expect(head.isEnd && stage.connection.idleSince == nil)
        stage.peer.send(
            .head(head.stream, 200, [("x", "y")]), .data(head.stream, "he"), .data(head.stream, "llo"),
            .trailers(head.stream, [("t", "u")]))
        let response = try #require(try await call.value)
        #expect(response.statusCode == 200 && response.headers["X"] == "y" && response.trailers["T"] == "u")
        #expect(response.data == Data("hello".utf8))
        let timings = try #require(response.timings)
        #expect(timings.networkProtocol == "h2" && timings.remoteAddress == "192.0.2.1")
        #expect(timings.bytesReceived == 5 && timings.bytesDecoded == 5)
        #expect(timings.firstByte != nil && timings.lastByte != nil && timings.requestSent != nil)
        #expect(stage.connection.idleSince != nil && stage.connection.isOpen)
        await stage.peer.settle()
        #expect(!stage.peer.frames.contains { $0.kind == .reset })
    }

    @Test func streamsAreAnsweredInAnyOrder() async throws {
        let stage = try await HTTP2Stage()
        let calls = (0..<20).map { _ in Task { try await stage.send() } }
        var streams: [Int32] = []
        for _ in calls { streams.append(try #require(await stage.peer.frame(.headers)).stream) }
        for stream in streams.reversed() { stage.peer.send(.head(stream, 200)) }
        for stream in streams { stage.peer.send(.data(stream, "\(stream)", isEnd: true)) }
        var bodies: Set<String> = []
        for call in calls {
            let response = try #require(try await call.value)
            bodies.insert(String(decoding: response.data, as: UTF8.self))
        }
        #expect(bodies == Set(streams.map { "\($0)" }))
        #expect(Set(streams).count == 20 && stage.connection.idleSince != nil)
    }

    @Test func aStreamThatIsNotReadHoldsNoOther() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send(delivery: .streamed) }
        let slow = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.head(slow, 200))
        let bytes = try #require(try await call.value?.bytes)
        let block = [UInt8](repeating: 7, count: 16 << 10)
        for _ in 0..<(HTTP2Session.streamWindow / block.count) { stage.peer.send(.data(slow, block)) }
        let other = Task { try await stage.send() }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.head(stream, 200), .data(stream, "well", isEnd: true))
        #expect(try await other.value?.data == Data("well".utf8))
        // The window is used up, and opens as the reader reads.
        #expect(!stage.peer.frames.contains { $0.kind == .windowUpdate && $0.stream == slow })
        var count = 0
        var iterator = bytes.makeAsyncIterator()
        while count < HTTP2Session.streamWindow, let piece = try await iterator.next() { count += piece.count }
        #expect(await stage.peer.frame(.windowUpdate, on: slow) != nil)
        stage.peer.send(.data(slow, "end", isEnd: true))
        let (last, end) = (try await iterator.next(), try await iterator.next())
        #expect(last == Data("end".utf8) && end == nil)
        #expect(count == HTTP2Session.streamWindow && stage.connection.idleSince != nil)
    }

    @Test func anErrorOfAStreamIsCut() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send(delivery: .streamed) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.head(stream, 404))
        let block = [UInt8](repeating: 7, count: 16 << 10)
        for _ in 0..<5 { stage.peer.send(.data(stream, block)) }
        let response = try #require(try await call.value)
        #expect(response.isTruncated && response.data.count == PulseResponse.errorBodyLimit)
        #expect(await stage.peer.frame(.reset, on: stream)?.number() == 8)
    }

    @Test func aMisdirectedRequestRetiresTheConnection() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send() }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.head(stream, 421, isEnd: true))
        #expect(try await call.value?.statusCode == 421)
        await stage.peer.closed()
        #expect(!stage.connection.isOpen && !stage.connection.reserve())
    }

    // MARK: Cancellation

    @Test func aCancelledStreamLeavesTheOthers() async throws {
        let stage = try await HTTP2Stage()
        let cancelled = Task { try await stage.send() }
        let first = try #require(await stage.peer.frame(.headers)).stream
        let other = Task { try await stage.send() }
        let second = try #require(await stage.peer.frame(.headers)).stream
        // The server is there.
        await stage.peer.settle()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(await stage.peer.frame(.reset, on: first)?.number() == 8)
        #expect(stage.connection.isOpen)
        stage.peer.send(.head(first, 200), .head(second, 200), .data(second, "well", isEnd: true))
        #expect(try await other.value?.data == Data("well".utf8))
    }

    @Test func aDroppedStreamIsCancelled() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send(delivery: .streamed) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.head(stream, 200), .data(stream, "part"))
        try #require(try await call.value?.bytes).cancel()
        #expect(await stage.peer.frame(.reset, on: stream)?.number() == 8)
        #expect(stage.connection.isOpen && stage.connection.idleSince != nil)
    }

    @Test func aCancelledRequestIsNotSent() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { () -> PulseResponse? in
            while !Task.isCancelled { await Task.yield() }
            return try await stage.send()
        }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await stage.peer.settle()
        #expect(!stage.peer.frames.contains { $0.kind == .headers })
        #expect(stage.connection.isOpen && stage.connection.idleSince != nil)
    }

    /// It comes too soon to say that the server is gone.
    @Test func aCancellationAtOnceLeavesTheConnection() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send() }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(await stage.peer.frame(.reset, on: stream)?.number() == 8)
        #expect(stage.connection.isOpen && stage.connection.idleSince != nil)
    }

    /// The server may be gone.
    @Test func aCancellationAfterSilenceRetiresTheConnection() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send() }
        _ = await stage.peer.frame(.headers)
        await stage.clock.advance(by: 2)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await stage.peer.closed()
        #expect(!stage.connection.isOpen && stage.changes.withLock { $0 } > 0)
    }

    // MARK: Ends

    @Test func aGoAwayEndsTheStreamsAboveItsLast() async throws {
        let stage = try await HTTP2Stage()
        let calls = (0..<2).map { _ in Task { try await stage.send() } }
        var streams: [Int32] = []
        for _ in calls { streams.append(try #require(await stage.peer.frame(.headers)).stream) }
        streams.sort()
        stage.peer.send(
            .goAway(last: streams[0]), .head(streams[0], 200), .data(streams[0], "well", isEnd: true))
        var bodies: [Data] = []
        var failures: [TransportFailure] = []
        for call in calls {
            switch await call.result {
            case .success(let response): bodies.append(try #require(response).data)
            case .failure(let error): failures.append(try #require(error as? TransportFailure))
            }
        }
        #expect(bodies == [Data("well".utf8)])
        #expect(failures.map(\.phase) == [.beforeSend] && failures.map(\.isStaleConnection) == [true])
        // Its streams are over.
        await stage.peer.closed()
        #expect(!stage.connection.isOpen)
    }

    @Test(arguments: [(7, false), (1, false), (2, true), (0, true), (11, false)] as [(UInt32, Bool)])
    func aResetEndsOneStream(code: UInt32, hasHead: Bool) async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send() }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        if hasHead { stage.peer.send(.head(stream, 200), .data(stream, "part")) }
        stage.peer.send(.reset(stream, code))
        let failure = try #require(await call.failure as? TransportFailure)
        #expect(failure.phase == (code == 7 ? .beforeSend : hasHead ? .responseStarted : .maybeSent))
        #expect(failure.code == (code == 1 ? .badServerResponse : .networkConnectionLost))
        #expect(failure.isStaleConnection == (code == 7) && failure.response?.statusCode == (hasHead ? 200 : nil))
        #expect(stage.connection.isOpen && stage.connection.idleSince != nil)
    }

    @Test func aServerMayRequireHTTP1() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send() }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.reset(stream, 13))
        await #expect(throws: HTTP2Exchange.RequiresHTTP1.self) { try await call.value }
    }

    @Test func aMalformedHeadEndsItsStreamOnly() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send() }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.head(stream, 200, [("Upper", "case")]))
        #expect((await call.failure as? TransportFailure)?.code == .badServerResponse)
        #expect(await stage.peer.frame(.reset, on: stream)?.number() == 1)
        #expect(stage.connection.isOpen)
    }

    @Test func aBrokenConnectionEndsAllStreams() async throws {
        let stage = try await HTTP2Stage()
        let calls = (0..<2).map { _ in Task { try await stage.send() } }
        for _ in calls { _ = await stage.peer.frame(.headers) }
        stage.peer.send(.data(0, "on no stream"))
        for call in calls { #expect((await call.failure as? TransportFailure)?.code == .badServerResponse) }
        #expect(await stage.peer.frame(.goAway)?.number(at: 4) == 1)
        await stage.peer.closed()
        #expect(!stage.connection.isOpen)
    }

    @Test(arguments: [false, true], [false, true])
    func aLostConnectionEndsItsStreams(hasHead: Bool, isReused: Bool) async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send(isReused: isReused) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        if hasHead { stage.peer.send(.head(stream, 200)) }
        stage.peer.end()
        let failure = try #require(await call.failure as? TransportFailure)
        #expect(failure.code == .networkConnectionLost)
        #expect(failure.phase == (hasHead ? .responseStarted : .maybeSent))
        #expect(failure.isStaleConnection == (isReused && !hasHead))
        await stage.peer.closed()
        #expect(!stage.connection.isOpen && stage.changes.withLock { $0 } > 0)
        // The pool forgets it.
        #expect(stage.connection.idleSince != nil)
    }

    /// The header fields say that the server has begun to respond, and only END_STREAM makes it whole.
    @Test(arguments: [false, true])
    func aResponseMayBeCutAtEachByte(isReused: Bool) async throws {
        let head = HTTP2ConnectionPeer.Frame.head(1, 200).bytes
        let rest = [HTTP2ConnectionPeer.Frame.data(1, "well"), .trailers(1, [("x", "y")])].flatMap(\.bytes)
        let bytes = Data(head + rest)
        for count in 0...bytes.count {
            let stage = try await HTTP2Stage()
            let call = Task { try await stage.send(isReused: isReused) }
            #expect(await stage.peer.frame(.headers)?.stream == 1)
            // No bytes would be the end.
            if count > 0 { stage.peer.send(bytes: bytes.prefix(count)) }
            stage.peer.end()
            guard count < bytes.count else {
                #expect(try await call.value?.data == Data("well".utf8))
                continue
            }
            let failure = try #require(await call.failure as? TransportFailure, "\(count)")
            let hasHead = count >= head.count
            #expect(failure.code == .networkConnectionLost, "\(count)")
            #expect(failure.phase == (hasHead ? .responseStarted : .maybeSent), "\(count)")
            #expect(failure.isStaleConnection == (isReused && !hasHead), "\(count)")
        }
    }

    /// The second request waits behind the first, for which the socket has no room.
    @Test func aRequestThatIsNotSentIsReplaced() async throws {
        let stage = try await HTTP2Stage()
        stage.peer.block()
        let first = Task { try await stage.send() }
        await stage.stream(1) { $0.isTaken }
        let second = Task { try await stage.send() }
        await stage.stream(3)
        let onNewConnection = Task { try await stage.send(isReused: false) }
        await stage.stream(5)
        stage.peer.end()
        #expect((await first.failure as? TransportFailure)?.phase == .maybeSent)
        let replaced = try await second.value
        #expect(replaced == nil)
        #expect((await onNewConnection.failure as? TransportFailure)?.phase == .beforeSend)
    }

    @Test(arguments: [false, true])
    func aSocketThatTakesNothingHasSentNothing(isReused: Bool) async throws {
        let stage = try await HTTP2Stage()
        stage.peer.failSends()
        let call = Task { try await stage.send(isReused: isReused) }
        if isReused {
            let response = try await call.value
            #expect(response == nil)
        } else {
            #expect((await call.failure as? TransportFailure)?.phase == .beforeSend)
        }
        #expect(!stage.connection.isOpen)
    }

    /// The server says what it has not processed, and closes the connection meanwhile.
    @Test func whatCameBeforeAFailedWriteIsRead() async throws {
        let stage = try await HTTP2Stage()
        stage.peer.failSends(.maybeSent, endsReading: false)
        let call = Task { try await stage.send() }
        await stage.stream(1) { $0.isBegun && $0.reader != nil }
        stage.peer.send(.goAway(last: 0))
        stage.peer.end()
        let failure = try #require(await call.failure as? TransportFailure)
        #expect(failure.phase == .beforeSend && failure.isStaleConnection)
    }

    @Test func aRetiredConnectionClosesAfterItsLastStream() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send(delivery: .streamed) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        #expect(stage.connection.reserve())
        stage.connection.retire()
        #expect(!stage.connection.isOpen && !stage.connection.reserve())
        stage.peer.send(.head(stream, 200), .data(stream, "well", isEnd: true))
        let bytes = try #require(try await call.value?.bytes)
        await stage.peer.settle()
        // A place that was reserved before can still be used.
        let last = Task { try await stage.run() }
        let second = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.head(second, 204, isEnd: true))
        #expect(try await last.value?.statusCode == 204)
        #expect(await stage.peer.frame(.goAway)?.number(at: 4) == 0)
        await stage.peer.closed()
        #expect(try await bytes.collect(upTo: 100) == Data("well".utf8))
    }

    @Test func aClosedConnectionCancelsItsStreams() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send() }
        _ = await stage.peer.frame(.headers)
        stage.connection.close()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(stage.peer.isClosed && !stage.connection.isOpen && !stage.connection.reserve())
    }

    @Test func aConnectionWithoutAnOwnerCloses() async throws {
        let peer = try await HTTP2Stage().peer
        await peer.closed()
    }

    @Test func thePlacesAreThoseOfTheServer() async throws {
        let stage = try await HTTP2Stage([(3, 2)])
        #expect(stage.connection.reserve() && stage.connection.reserve() && !stage.connection.reserve())
        let before = stage.changes.withLock { $0 }
        stage.connection.giveBack()
        #expect(stage.changes.withLock { $0 } == before + 1)
        #expect(stage.connection.idleSince == nil)
        stage.connection.giveBack()
        #expect(stage.connection.idleSince != nil)
        stage.peer.send(.settings([(3, 3)]))
        await stage.peer.settle()
        #expect(stage.changes.withLock { $0 } == before + 3)
        #expect((0..<3).allSatisfy { _ in stage.connection.reserve() } && !stage.connection.reserve())
    }

    /// It is not the end of the connection (RFC 9113, section 6.5.2).
    @Test func aServerMayAllowNoStreamForAWhile() async throws {
        let stage = try await HTTP2Stage([(3, 0)])
        #expect(!stage.connection.reserve() && stage.connection.isOpen && stage.connection.streamLimit == 0)
        let before = stage.changes.withLock { $0 }
        stage.peer.send(.settings([(3, 1)]))
        await stage.peer.settle()
        #expect(stage.changes.withLock { $0 } == before + 1)
        let call = Task { try await stage.send() }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.settings([(3, 0)]), .head(stream, 204, isEnd: true))
        #expect(try await call.value?.statusCode == 204)
        #expect(!stage.connection.reserve() && stage.connection.isOpen)
    }

    /// A server refuses the streams beyond its limit, and says its limit after the client's first requests.
    @Test func thePlacesBeforeTheSettingsAreThoseThatAreExpected() async throws {
        let stage = try await HTTP2Stage(nil, expectedLimit: 2)
        #expect(stage.connection.streamLimit == nil)
        #expect(stage.connection.reserve() && stage.connection.reserve() && !stage.connection.reserve())
        stage.peer.send(.settings([(3, 3)]), .settingsAck)
        await stage.peer.settle()
        #expect(stage.connection.streamLimit == 3)
        #expect(stage.connection.reserve() && !stage.connection.reserve())
        let atLeastOne = try await HTTP2Stage(nil, expectedLimit: 0).connection
        #expect(atLeastOne.reserve() && !atLeastOne.reserve())
        let unknown = try await HTTP2Stage(nil).connection
        #expect((0..<100).allSatisfy { _ in unknown.reserve() } && !unknown.reserve())
    }

    // MARK: Idle times

    @Test func aSilentServerTimesOut() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send(idleTimeout: 30) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        await stage.clock.advance(by: 31)
        let failure = try #require(await call.failure as? TransportFailure)
        #expect(failure.code == .timedOut && failure.phase == .maybeSent)
        #expect(await stage.peer.frame(.reset, on: stream)?.number() == 8)
        await stage.peer.closed()
    }

    /// The socket has no room for the second request.
    @Test func aSocketWithoutRoomTimesOut() async throws {
        let stage = try await HTTP2Stage()
        stage.peer.block()
        let first = Task { try await stage.send(idleTimeout: 600) }
        await stage.stream(1) { $0.isTaken }
        let call = Task { try await stage.send(idleTimeout: 30) }
        await stage.stream(3) { $0.reader != nil }
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        await stage.clock.advance(by: 31)
        let failure = try #require(await call.failure as? TransportFailure)
        #expect(failure.code == .timedOut && failure.phase == .beforeSend)
        #expect(!stage.connection.isOpen)
        stage.connection.close()
        await #expect(throws: CancellationError.self) { try await first.value }
    }

    /// Other streams are no sign of life of this one, but of the connection.
    @Test func onlyTheBytesOfItsStreamDeferATimeout() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send(idleTimeout: 30) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        await stage.clock.advance(by: 20)
        stage.peer.send(.head(stream, 200))
        await stage.stream(stream) { $0.head != nil && $0.reader != nil }
        await stage.clock.advance(by: 20)
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        await stage.peer.settle()
        #expect(stage.connection.idleSince == nil)
        await stage.clock.advance(by: 11)
        let failure = try #require(await call.failure as? TransportFailure)
        #expect(failure.code == .timedOut && failure.phase == .responseStarted)
        #expect(await stage.peer.frame(.reset, on: stream) != nil)
        #expect(stage.connection.isOpen)
    }

    /// As over HTTP/1.1: 102 and 103 say that the server is at work.
    @Test func anInterimResponseDefersATimeout() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send(idleTimeout: 30) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        for _ in 0..<3 {
            await stage.clock.advance(by: 20)
            stage.peer.send(.head(stream, 102))
            await stage.peer.settle()
        }
        stage.peer.send(.head(stream, 200, isEnd: true))
        #expect(try await call.value?.statusCode == 200)

        let second = Task { try await stage.send(idleTimeout: 30) }
        let silent = try #require(await stage.peer.frame(.headers)).stream
        await stage.stream(silent) { $0.reader != nil }
        stage.peer.send(.head(silent, 102))
        await stage.peer.settle()
        await stage.clock.advance(by: 31)
        let failure = try #require(await second.failure as? TransportFailure)
        #expect(failure.code == .timedOut && failure.phase == .maybeSent)
    }

    @Test func aSlowReaderIsNotTheServersFault() async throws {
        let stage = try await HTTP2Stage()
        let call = Task { try await stage.send(delivery: .streamed, idleTimeout: 30) }
        let stream = try #require(await stage.peer.frame(.headers)).stream
        stage.peer.send(.head(stream, 200))
        let bytes = try #require(try await call.value?.bytes)
        await stage.clock.advance(by: 100)
        stage.peer.send(.data(stream, "well", isEnd: true))
        #expect(try await bytes.collect(upTo: 100) == Data("well".utf8))
    }
}

extension Task where Failure == any Error {
    /// The error that the task throws; nil if it succeeds.
    var failure: (any Error)? {
        get async {
            switch await result {
            case .success: nil
            case .failure(let error): error
            }
        }
    }
}
#endif
