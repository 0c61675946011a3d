// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

/// What a session sends, and when.
@Suite(.tags(.addresses), .throttled)
struct HTTP2SessionSendingTests {
    private typealias F = HTTP2Frames

    private static func bytes(_ count: Int, _ byte: UInt8 = 7) -> Data { Data(repeating: byte, count: count) }

    /// The bodies in what a session sends, by stream.
    private func bodies(_ bytes: Data) -> [UInt32: [UInt8]] {
        var bodies: [UInt32: [UInt8]] = [:]
        for frame in HTTP2Frame.read(Array(bytes)).frames where frame.name == "DATA" {
            bodies[frame.stream, default: []] += frame.payload
        }
        return bodies
    }

    // MARK: Requests

    @Test func theFirstBytesArePrefaceSettingsAndWindow() throws {
        let log = try HTTP2SessionLog()
        try log.request()
        let outgoing = try log.session.takeOutgoing(atMost: 1 << 20)
        #expect(outgoing.bytes.starts(with: F.preface))
        let frames = HTTP2Frame.read(Array(outgoing.bytes)).frames
        #expect(frames.map(\.description) == ["SETTINGS 0", "WINDOW_UPDATE 0 16711681", "HEADERS 1 end"])
        let window = UInt32(HTTP2Session.streamWindow)
        #expect(
            frames.first?.payload
                == F.joined([[0, 2], F.number(0), [0, 4], F.number(window), [0, 6], F.number(300 << 10)]))
        #expect(outgoing.begun == [1] && outgoing.ended == [1])
        let rest = try log.session.takeOutgoing(atMost: 1 << 20)
        #expect(rest.bytes.isEmpty && rest.begun.isEmpty && rest.ended.isEmpty)
    }

    @Test func streamsHaveOddNumbers() throws {
        let log = try HTTP2SessionLog.open()
        let streams = try (0..<4).map { _ in try log.request() }
        #expect(streams == [1, 3, 5, 7])
        #expect(try log.sent() == ["HEADERS 1 end", "HEADERS 3 end", "HEADERS 5 end", "HEADERS 7 end"])
    }

    /// The largest request that the client allows, in fields that no code shortens.
    @Test func aLargeHeadGoesOutInFrames() throws {
        let log = try HTTP2SessionLog.open()
        let value = [UInt8](repeating: 0xFF, count: 63_000)
        let stream = try log.session.submit(
            [(":method", Array("GET".utf8)), (":scheme", Array("https".utf8)), (":path", [0x2F]), ("x", value)],
            hasBody: false)
        #expect(stream == 1)
        let first = try log.session.takeOutgoing(atMost: 1000)
        #expect(first.bytes.count == 1000 && first.begun == [1] && first.ended.isEmpty)
        let rest = try log.session.takeOutgoing(atMost: 1 << 20)
        #expect(rest.begun.isEmpty && rest.ended == [1])
        let frames = HTTP2Frame.read(Array(first.bytes + rest.bytes)).frames
        #expect(
            frames.map(\.description)
                == ["HEADERS 1 end", "CONTINUATION 1", "CONTINUATION 1", "CONTINUATION 1"])
        let count = frames.map(\.payload.count).reduce(0, +)
        #expect(count > value.count)
    }

    /// What a session sends for one request, up to that number of bytes.
    private func request(atMost limit: Int) throws -> HTTP2Session.Outgoing {
        let log = try HTTP2SessionLog()
        let stream = try log.request("POST", hasBody: true)
        log.session.send(Self.bytes(5), isLast: true, on: stream)
        var all = HTTP2Session.Outgoing(bytes: Data(), begun: [], ended: [])
        while true {
            let outgoing = try log.session.takeOutgoing(atMost: limit - all.bytes.count)
            guard !outgoing.bytes.isEmpty else { return all }
            all.bytes += outgoing.bytes
            all.begun += outgoing.begun
            all.ended += outgoing.ended
        }
    }

    /// A request that is cut counts as begun from the first byte of its HEADERS on, and as sent with its last byte.
    @Test func aRequestIsCutAtEveryByte() throws {
        let bytes = try request(atMost: 1 << 20).bytes
        let frames = HTTP2Frame.read(Array(bytes)).frames
        #expect(frames.map(\.name) == ["SETTINGS", "WINDOW_UPDATE", "HEADERS", "DATA"])
        let start = F.preface.count + frames.prefix(2).reduce(0) { $0 + 9 + $1.payload.count }
        for count in 0...bytes.count {
            let part = try request(atMost: count)
            #expect(part.bytes == bytes.prefix(count), "\(count)")
            #expect(part.begun == (count > start ? [1] : []), "\(count)")
            #expect(part.ended == (count == bytes.count ? [1] : []), "\(count)")
        }
    }

    /// The client's table becomes empty (RFC 7541, section 4.2).
    @Test func aServerMayForbidTheTableOfFields() throws {
        let log = try HTTP2SessionLog.open()
        func block() throws -> [UInt8] {
            try log.request()
            let bytes = try log.session.takeOutgoing(atMost: 1 << 20).bytes
            return try #require(HTTP2Frame.read(Array(bytes)).frames.first { $0.name == "HEADERS" }).payload
        }
        let first = try block()
        #expect(try block().count < first.count)
        log.receive(F.settings([(1, 0)]))
        let changed = try block()
        #expect(changed.first == 0x20 && changed.count == first.count + 1)
        #expect(try block() == Array(changed.dropFirst()))
        #expect(log.failure == nil)
    }

    /// Frames stay small, so that streams take turns.
    @Test func aServerMayAllowLargeFrames() throws {
        let log = try HTTP2SessionLog.open([(4, 1 << 20), (5, 0xFF_FFFF)])
        log.receive(F.windowUpdate(0, 1 << 20))
        let stream = try log.request("POST", hasBody: true)
        log.session.send(Self.bytes(100_000), isLast: true, on: stream)
        let outgoing = try log.session.takeOutgoing(atMost: 1 << 20)
        #expect(bodies(outgoing.bytes)[1]?.count == 100_000 && outgoing.ended == [1])
        #expect(HTTP2Frame.read(Array(outgoing.bytes)).frames.allSatisfy { $0.payload.count <= 16_384 })
    }

    // MARK: Bodies

    @Test func aBodyIsSentAsItComes() throws {
        let log = try HTTP2SessionLog.open()
        let stream = try log.request("POST", hasBody: true)
        #expect(try log.sent() == ["HEADERS 1"])
        log.session.send(Data("abc".utf8), isLast: false, on: stream)
        log.session.send(Data("defg".utf8), isLast: false, on: stream)
        #expect(log.session.unsentCount(of: stream) == 7)
        #expect(try log.sent() == ["DATA 1 (7)"])
        #expect(log.session.unsentCount(of: stream) == 0)
        #expect(try log.sent().isEmpty)
        log.session.send(Data(), isLast: true, on: stream)
        let last = try log.session.takeOutgoing(atMost: 1 << 20)
        #expect(HTTP2Frame.read(Array(last.bytes)).frames.map(\.description) == ["DATA 1 (0) end"])
        #expect(last.ended == [1])
        log.session.send(Data("late".utf8), isLast: true, on: stream)
        #expect(try log.sent().isEmpty)
    }

    @Test func aSliceIsSentAsItsBytes() throws {
        let log = try HTTP2SessionLog.open()
        let stream = try log.request("POST", hasBody: true)
        log.session.send(Data("0123456789".utf8)[3..<7], isLast: true, on: stream)
        let outgoing = try log.session.takeOutgoing(atMost: 1 << 20)
        #expect(bodies(outgoing.bytes) == [1: Array("3456".utf8)])
    }

    /// The windows of the stream and the connection.
    @Test func aBodyWaitsForWindows() throws {
        let log = try HTTP2SessionLog.open([(4, 5)])
        let stream = try log.request("POST", hasBody: true)
        log.session.send(Self.bytes(12), isLast: true, on: stream)
        #expect(try log.sent() == ["HEADERS 1", "DATA 1 (5)"])
        #expect(log.session.unsentCount(of: stream) == 7)
        log.receive(F.windowUpdate(1, 3))
        #expect(try log.sent() == ["DATA 1 (3)"])
        log.receive(F.settings([(4, 6)]))
        #expect(try log.sent() == ["SETTINGS 0 ack", "DATA 1 (1)"])
        // A window may become negative (RFC 9113, section 6.9.2).
        log.receive(F.settings([(4, 0)]))
        log.receive(F.windowUpdate(1, 6))
        #expect(try log.sent() == ["SETTINGS 0 ack"])
        log.receive(F.windowUpdate(1, 100))
        #expect(try log.sent() == ["DATA 1 (3) end"])
        #expect(log.failure == nil)
    }

    /// Each time that the peer lets the connection go on, the next body has its turn.
    @Test func bodiesTakeTurnsHoweverLittleTheWindowOpens() throws {
        let log = try HTTP2SessionLog.open([(4, 1 << 20)])
        let streams = try (0..<2).map { _ in try log.request("POST", hasBody: true) }
        for stream in streams { log.session.send(Self.bytes(150_000), isLast: true, on: stream) }
        var counts: [UInt32: Int] = [:]
        for _ in 0..<20 {
            let outgoing = try log.session.takeOutgoing(atMost: 1 << 20)
            for (stream, body) in bodies(outgoing.bytes) { counts[stream, default: 0] += body.count }
            log.receive(F.windowUpdate(0, 4096))
        }
        #expect(counts.count == streams.count && counts.values.allSatisfy { $0 > 60_000 }, "\(counts)")
    }

    /// The socket takes three frames at a time, and the peer sends something in between.
    @Test func bodiesTakeTurnsThoughFramesCome() throws {
        let log = try HTTP2SessionLog.open([(4, 1 << 20)])
        log.receive(F.windowUpdate(0, 1 << 22))
        let streams = try (0..<5).map { _ in try log.request("POST", hasBody: true) }
        for stream in streams { log.session.send(Self.bytes(150_000), isLast: true, on: stream) }
        var counts: [UInt32: Int] = [:]
        for _ in 0..<10 {
            let outgoing = try log.session.takeOutgoing(atMost: 64 << 10)
            for (stream, body) in bodies(outgoing.bytes) { counts[stream, default: 0] += body.count }
            log.receive(F.ping())
        }
        #expect(counts.count == streams.count && counts.values.allSatisfy { $0 > 60_000 }, "\(counts)")
    }

    @Test func theConnectionsWindowBoundsAllBodies() throws {
        let log = try HTTP2SessionLog.open([(4, 1 << 20)])
        let streams = try (0..<2).map { _ in try log.request("POST", hasBody: true) }
        for stream in streams { log.session.send(Self.bytes(50_000), isLast: true, on: stream) }
        let first = try log.session.takeOutgoing(atMost: 1 << 20)
        var sent = bodies(first.bytes)
        #expect(sent.values.map(\.count).reduce(0, +) == 65_535)
        // They take turns.
        #expect(sent.values.allSatisfy { $0.count >= 32_767 })
        log.receive(F.windowUpdate(0, 100_000))
        let rest = try log.session.takeOutgoing(atMost: 1 << 20)
        for (stream, body) in bodies(rest.bytes) { sent[stream, default: []] += body }
        #expect(sent.values.map(\.count) == [50_000, 50_000])
    }

    @Test(arguments: [10, 1000, 16_384, 16_393, 20_000, 65_536])
    func noMoreIsTakenThanAskedFor(_ limit: Int) throws {
        let log = try HTTP2SessionLog.open([(4, 1 << 20)])
        log.receive(F.windowUpdate(0, 1 << 20))
        let stream = try log.request("POST", hasBody: true)
        let body = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        // In pieces of all sizes, more than fit a frame.
        var rest = body[...]
        while !rest.isEmpty {
            let part = rest.prefix(1 + rest.count / 7)
            rest = rest.dropFirst(part.count)
            log.session.send(Data(part), isLast: rest.isEmpty, on: stream)
        }
        var (all, begun, ended) = ([UInt8](), [Int32](), [Int32]())
        while true {
            let outgoing = try log.session.takeOutgoing(atMost: limit)
            #expect(outgoing.bytes.count <= limit)
            guard !outgoing.bytes.isEmpty else { break }
            #expect(ended.isEmpty)
            all += outgoing.bytes
            begun += outgoing.begun
            ended += outgoing.ended
        }
        #expect(begun == [1] && ended == [1])
        #expect(bodies(Data(all)) == [1: body])
        #expect(log.session.unsentCount(of: stream) == 0)
    }

    /// The response may end first (RFC 9113, section 8.1).
    @Test func aBodyGoesOnAfterTheResponse() throws {
        let log = try HTTP2SessionLog.open()
        let stream = try log.request("POST", hasBody: true)
        _ = try log.sent()
        log.receive(F.ok(1, isEnd: true))
        #expect(log.take() == ["head 1 200 end"])
        log.session.send(Self.bytes(3), isLast: true, on: stream)
        #expect(try log.sent() == ["DATA 1 (3) end"])
        log.receive([])
        #expect(log.take() == ["closed 1 NO_ERROR"])
    }

    @Test func aBodyIsDroppedWhenTheStreamIsOver() throws {
        let log = try HTTP2SessionLog.open()
        let stream = try log.request("POST", hasBody: true)
        _ = try log.sent()
        log.session.send(Self.bytes(100_000), isLast: true, on: stream)
        log.receive(F.joined([F.ok(1, isEnd: true), F.reset(1, 0)]))
        #expect(log.take() == ["head 1 200 end", "closed 1 NO_ERROR"])
        #expect(try log.sent().isEmpty)
        #expect(log.session.unsentCount(of: stream) == 0)
    }

    // MARK: Windows of responses

    @Test func aStreamThatNobodyReadsHoldsBackOnlyItself() throws {
        let log = try HTTP2SessionLog.open()
        try log.request()
        _ = try log.sent()
        log.receive(F.ok(1))
        var updates: [String] = []
        for number in 0..<20 {
            // The window of this one is full, and stays so.
            if number == 0 { for _ in 0..<64 { log.receive(F.data(1, bytes: F.zeros(16_384))) } }
            let stream = UInt32(try log.request())
            updates += try log.sent()
            log.receive(F.ok(stream))
            for _ in 0..<64 { log.receive(F.data(stream, bytes: F.zeros(16_384))) }
            log.receive(F.data(stream, isEnd: true))
            updates += try log.sent()
        }
        #expect(log.failure == nil)
        // More than the whole window of the connection has come, half of which is given back at a time.
        #expect(updates.filter { $0.hasPrefix("WINDOW") } == ["WINDOW_UPDATE 0 8388608", "WINDOW_UPDATE 0 8388608"])
        log.session.consume(1 << 19, of: 1)
        #expect(try log.sent() == ["WINDOW_UPDATE 1 524288"])
        log.receive(F.data(1, bytes: F.zeros(16_384)))
        #expect(log.failure == nil)
    }

    @Test func bytesAboveTheWindowEndTheStream() throws {
        let log = try HTTP2SessionLog.open()
        try log.request()
        _ = try log.sent()
        log.receive(F.ok(1))
        for _ in 0..<64 { log.receive(F.data(1, bytes: F.zeros(16_384))) }
        #expect(log.take().count == 2)
        log.receive(F.data(1, bytes: [1]))
        // nghttp2 1.67 and later end the connection.
        let isOfConnection = log.failure != nil
        #expect(log.take().last == (isOfConnection ? "failed" : "closed 1") + " FLOW_CONTROL_ERROR")
        if !isOfConnection { #expect(try log.sent() == ["RST_STREAM 1 3"]) }
    }

    /// It counts, and nobody can read it.
    @Test func paddingIsGivenBack() throws {
        let log = try HTTP2SessionLog.open()
        try log.request()
        _ = try log.sent()
        log.receive(F.ok(1))
        let padded = F.joined((0..<100).map { _ in F.padded(1, "x", 255) })
        var updates: [String] = []
        for _ in 0..<100 {
            log.receive(padded)
            updates += try log.sent()
        }
        #expect(log.failure == nil)
        #expect(updates.filter { $0.hasPrefix("WINDOW_UPDATE 1 ") }.count >= 4)
        #expect(log.take().last == "data 1 " + String(repeating: "x", count: 10_000))
    }

    // MARK: Ends

    @Test func aResetEndsOneStream() throws {
        let log = try HTTP2SessionLog.open()
        try log.request()
        try log.request()
        _ = try log.sent()
        log.receive(F.joined([F.ok(1), F.ok(3)]))
        #expect(log.take() == ["head 1 200", "head 3 200"])
        log.session.reset(1, .cancel)
        log.session.reset(1, .internalError)
        #expect(try log.sent() == ["RST_STREAM 1 8"])
        // What was on its way.
        log.receive(F.joined([F.data(1, "abc"), F.data(3, "def", isEnd: true)]))
        #expect(log.take() == ["closed 1 CANCEL", "data 3 def", "end 3", "closed 3 NO_ERROR"])
        log.session.reset(1, .cancel)
        log.session.reset(99, .cancel)
        #expect(try log.sent().isEmpty)
    }

    @Test func aRequestThatIsResetBeforeItsTurnIsNotSent() throws {
        let log = try HTTP2SessionLog.open()
        try log.request()
        try log.request("POST", hasBody: true)
        log.session.send(Self.bytes(3), isLast: true, on: 3)
        log.session.reset(3, .cancel)
        let outgoing = try log.session.takeOutgoing(atMost: 1 << 20)
        #expect(outgoing.begun == [1] && outgoing.ended == [1])
        #expect(HTTP2Frame.read(Array(outgoing.bytes)).frames.map(\.description) == ["HEADERS 1 end"])
        log.receive(F.ok(1, isEnd: true))
        #expect(log.take() == ["closed 3 CANCEL unprocessed", "head 1 200 end", "closed 1 NO_ERROR"])
    }

    @Test func aRequestAboveTheLimitWaits() throws {
        let log = try HTTP2SessionLog.open()
        #expect(log.session.maxStreams == Int(UInt32.max))
        log.receive(F.settings([(3, 1)]))
        #expect(log.session.maxStreams == 1)
        try log.request()
        try log.request()
        #expect(try log.sent() == ["SETTINGS 0 ack", "HEADERS 1 end"])
        log.receive(F.ok(1, isEnd: true))
        let outgoing = try log.session.takeOutgoing(atMost: 1 << 20)
        #expect(outgoing.begun == [3] && outgoing.ended == [3])
    }

    @Test func aHundredStreamsAreAllowedBeforeSettings() throws {
        let log = try HTTP2SessionLog()
        #expect(log.session.maxStreams == 100)
        log.receive(F.settings([(3, 7)]))
        #expect(log.take() == ["settings"])
        #expect(log.session.maxStreams == 7)
    }

    @Test func aGoAwayEndsWhatIsAboveItAndWhatWaits() throws {
        let log = try HTTP2SessionLog.open([(3, 3)])
        for _ in 0..<4 { try log.request() }
        #expect(try log.sent().count == 3)
        log.receive(F.goAway(3))
        #expect(
            log.take() == [
                "goAway 3 NO_ERROR", "closed 7 REFUSED_STREAM unprocessed", "closed 5 REFUSED_STREAM unprocessed",
            ])
        #expect(!log.session.mayOpenStreams)
        #expect(throws: HTTP2Session.Failure.self) { try log.request() }
        log.receive(F.joined([F.ok(1, isEnd: true), F.ok(3), F.data(3, "abc", isEnd: true)]))
        #expect(
            log.take() == [
                "head 1 200 end", "closed 1 NO_ERROR", "head 3 200", "data 3 abc", "end 3", "closed 3 NO_ERROR",
            ])
        #expect(try log.sent().isEmpty)
    }

    @Test func theClientsGoAwayLetsStreamsEnd() throws {
        let log = try HTTP2SessionLog.open()
        try log.request()
        _ = try log.sent()
        #expect(log.session.mayOpenStreams)
        log.session.endStreams()
        log.session.endStreams()
        #expect(try log.sent() == ["GOAWAY 0 0"])
        #expect(!log.session.mayOpenStreams)
        #expect(throws: HTTP2Session.Failure.self) { try log.request() }
        log.receive(F.joined([F.ok(1), F.data(1, "abc", isEnd: true)]))
        #expect(log.take() == ["head 1 200", "data 1 abc", "end 1", "closed 1 NO_ERROR"])
    }

    @Test func pingsAreSentAndAnswered() throws {
        let log = try HTTP2SessionLog.open()
        log.session.ping()
        #expect(try log.sent() == ["PING 0"])
        log.receive(F.joined([F.ping(isAck: true), F.ping()]))
        #expect(log.take() == ["pong"])
        #expect(try log.sent() == ["PING 0 ack"])
    }

    /// A malformed response is over with the bytes that it came in, before the reset is sent.
    @Test func aStreamErrorIsToldAtOnceAndSentLater() throws {
        let log = try HTTP2SessionLog.open()
        try log.begin("POST", hasBody: true)
        try log.begin("POST", hasBody: true)
        log.session.send(Self.bytes(3), isLast: false, on: 1)
        log.session.send(Self.bytes(4), isLast: false, on: 3)
        log.receive(F.headers(1, [("x", "y")]))
        #expect(log.take() == ["closed 1 PROTOCOL_ERROR"])
        // The other body has not been lost.
        #expect(try log.sent() == ["RST_STREAM 1 1", "DATA 3 (4)"])
    }
}
#endif
