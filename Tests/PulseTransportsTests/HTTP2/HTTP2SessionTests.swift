// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// What a session makes of a server's frames. `HTTP2SessionCase` has the table.
@Suite(.tags(.addresses), .throttled)
struct HTTP2SessionTests {
    private typealias F = HTTP2Frames

    /// The events of a case whose bytes come in these pieces.
    private func events(of item: HTTP2SessionCase, in pieces: [ArraySlice<UInt8>]) throws -> [String] {
        let log = item.situation == .first ? try HTTP2SessionLog() : try HTTP2SessionLog.open()
        try log.begin(item.situation == .head ? "HEAD" : "GET", hasBody: item.situation == .sending)
        for piece in pieces { log.receive(Array(piece)) }
        return log.take()
    }

    @Test(arguments: HTTP2SessionCase.all)
    func framesHaveTheirOutcome(_ item: HTTP2SessionCase) throws {
        let seen = try events(of: item, in: [item.bytes[...]])
        #expect(item.accepts(seen), "\(seen) instead of \(item.outcome)")
    }

    /// Bytes of a body may be told before the frame is refused that they are in, if it comes in pieces.
    @Test(arguments: HTTP2SessionCase.all)
    func framesHaveTheirOutcomeAtEverySplit(_ item: HTTP2SessionCase) throws {
        let hasData = item.outcome.contains("data")
        func expect(_ pieces: [ArraySlice<UInt8>]) throws {
            let seen = try events(of: item, in: pieces).filter { hasData || !$0.hasPrefix("data") }
            #expect(item.accepts(seen), "\(seen) instead of \(item.outcome), pieces of \(pieces.map(\.count))")
        }
        let bytes = item.bytes.prefix(500)
        let rest = item.bytes.dropFirst(500)
        for split in bytes.indices.dropFirst() { try expect([bytes[..<split], bytes[split...], rest]) }
        try expect(bytes.indices.map { bytes[$0...$0] } + [rest])
    }

    // MARK: A conversation

    /// Two responses, whose frames take turns, and frames of the connection.
    private static let conversation = F.joined([
        F.settings([(3, 10)]), F.settingsAck, F.headers(1, [(":status", "103"), ("link", "a")]),
        F.ok(3, [("x", "y")]),
        F.windowUpdate(0, 100), F.data(3, "one "), F.headers(1, [(":status", "404")], isWhole: false),
        F.continuation(1, [("content-length", "6")]), F.data(1, "abc"), F.ping(), F.padded(3, "two", 9),
        F.data(1, "def", isEnd: true), F.frame(0x42, 0, 0, [1, 2, 3]), F.headers(3, [("digest", "z")], isEnd: true),
    ])

    /// The events of each stream; the others are of the stream 0.
    private func play(_ pieces: [ArraySlice<UInt8>]) throws -> [Int: [String]] {
        let log = try HTTP2SessionLog()
        try log.request()
        try log.request()
        _ = try log.sent()
        for piece in pieces { log.receive(Array(piece)) }
        var events: [Int: [String]] = [:]
        for event in log.take() {
            let words = event.split(separator: " ")
            let stream = words.count > 1 ? Int(words[1]) ?? 0 : 0
            var list = events[stream] ?? []
            if words[0] == "data", let last = list.last, last.hasPrefix("data") {
                list[list.count - 1] = last + String(event.dropFirst("data \(stream) ".count))
            } else {
                list.append(event)
            }
            events[stream] = list
        }
        return events
    }

    private static let events: [Int: [String]] = [
        0: ["settings"],
        1: ["head 1 404", "data 1 abcdef", "end 1", "closed 1 NO_ERROR"],
        3: ["head 3 200", "data 3 one two", "end 3 digest=z", "closed 3 NO_ERROR"],
    ]

    @Test func aConversationHasTheSameEventsAtEverySplit() throws {
        let bytes = Self.conversation
        #expect(try play([bytes[...]]) == Self.events)
        #expect(try play(bytes.indices.map { bytes[$0...$0] }) == Self.events)
        for split in bytes.indices { #expect(try play([bytes[..<split], bytes[split...]]) == Self.events, "\(split)") }
        let chance = SeededRandomness(seed: 11)
        for round in 0..<50 {
            var (pieces, rest) = ([ArraySlice<UInt8>](), bytes[...])
            while !rest.isEmpty {
                let count = 1 + Int(chance.next() % 24)
                pieces.append(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            #expect(try play(pieces) == Self.events, "round \(round)")
        }
    }

    /// Only END_STREAM makes a response whole.
    @Test func aConversationThatIsCutHasNoEndThatDidNotCome() throws {
        let bytes = Self.conversation
        let end = bytes.count - F.headers(3, [("digest", "z")], isEnd: true).count
        for count in bytes.indices {
            let events = try play([bytes[..<count]])
            #expect(events[3]?.contains { $0.hasPrefix("end") || $0.hasPrefix("closed") } != true, "\(count)")
            if count < end - 20 { #expect(events[1]?.contains("end 1") != true, "\(count)") }
            for (stream, all) in Self.events {
                let seen = (events[stream] ?? []).filter { !$0.hasPrefix("data") }
                #expect(seen == Array(all.filter { !$0.hasPrefix("data") }.prefix(seen.count)), "\(count)")
            }
        }
    }

    // MARK: Heads

    @Test func aHeadIsReadAsThatOfHTTP1() throws {
        let log = try HTTP2SessionLog.open()
        try log.begin()
        let fields = [
            ("content-length", "3"), ("content-encoding", "gzip"), ("x", "a, b"), ("x", "c"), ("y", "\u{E9}"),
        ]
        let bytes = F.ok(1, fields)
        let events = try bytes.withUnsafeBytes { try log.session.receive($0) }
        guard case .head(1, let head, let framing, false) = try #require(events.first) else {
            Issue.record("\(events)")
            return
        }
        #expect(head.statusCode == 200)
        #expect(head.headers.map(\.name) == fields.map(\.0))
        #expect(head.headers.map(\.value) == fields.map(\.1))
        #expect(framing.status == 200)
        #expect(try framing.bodyLength(isHead: false) == .bytes(3))
        #expect(framing.contentCodings(isHead: false).count == 1)
        #expect(framing.keepsConnection)
    }

    /// The interim head has no part in the framing of the final one.
    @Test func anInterimHeadLeavesNothing() throws {
        let log = try HTTP2SessionLog.open()
        try log.begin()
        let bytes = F.joined([F.headers(1, [(":status", "103"), ("content-encoding", "gzip")]), F.ok(1)])
        let events = try bytes.withUnsafeBytes { try log.session.receive($0) }
        guard case .head(1, let head, let framing, false) = try #require(events.last) else {
            Issue.record("\(events)")
            return
        }
        #expect(head.headers.isEmpty)
        #expect(try framing.bodyLength(isHead: false) == .rest)
        #expect(framing.contentCodings(isHead: false).isEmpty)
    }

    private static func field(_ size: Int) -> (String, String) { ("x", String(repeating: "v", count: size)) }

    /// One field in each frame, and an empty frame at the end.
    private static func largeHead(_ stream: UInt32, fields count: Int) -> [UInt8] {
        let fields = (0..<count).map { _ in F.continuation(stream, [field(16_000)], isWhole: false) }
        return F.joined([F.headers(stream, [(":status", "200")], isWhole: false)] + fields + [F.continuation(stream)])
    }

    @Test func aHeadMayHave300KiB() throws {
        let log = try HTTP2SessionLog.open()
        try log.begin()
        log.receive(Self.largeHead(1, fields: 19))
        #expect(log.take() == ["head 1 200"])
    }

    @Test func aLargerHeadFailsItsStreamOnly() throws {
        let log = try HTTP2SessionLog.open()
        try log.begin()
        try log.begin()
        log.receive(Self.largeHead(1, fields: 20))
        log.receive(F.ok(3, isEnd: true))
        #expect(log.take() == ["closed 1 PROTOCOL_ERROR", "head 3 200 end", "closed 3 NO_ERROR"])
        #expect(try log.sent() == ["RST_STREAM 1 1"])
    }

    @Test func interimHeadsAndTrailersCountTowardTheLimit() throws {
        let log = try HTTP2SessionLog.open()
        try log.begin()
        for _ in 0..<18 { log.receive(F.headers(1, [(":status", "103"), Self.field(16_000)])) }
        log.receive(F.ok(1))
        #expect(log.take() == ["head 1 200"])
        log.receive(F.headers(1, [Self.field(16_000)], isEnd: true))
        #expect(log.take() == ["end 1 x=" + Self.field(16_000).1, "closed 1 NO_ERROR"])

        try log.begin()
        for _ in 0..<19 { log.receive(F.headers(3, [(":status", "103"), Self.field(16_000)])) }
        log.receive(F.ok(3))
        log.receive(F.headers(3, [Self.field(16_000)], isEnd: true))
        #expect(log.take() == ["head 3 200", "closed 3 PROTOCOL_ERROR"])
    }

    /// A field of the table takes one byte of a frame.
    @Test func fieldsOfTheTableCountWithTheirSize() throws {
        let log = try HTTP2SessionLog.open()
        try log.begin()
        // A literal that the table keeps, and its index many times (RFC 7541, sections 6.1 and 6.2.1).
        let value = [UInt8](repeating: UInt8(ascii: "v"), count: 100)
        let block = F.joined([
            F.block([(":status", "200")]), [0x40, 1, UInt8(ascii: "x"), 100], value,
            [UInt8](repeating: 0xBE, count: 10_000),
        ])
        log.receive(F.frame(1, 4, 1, block))
        #expect(log.take() == ["closed 1 PROTOCOL_ERROR"])
    }

    // MARK: Floods

    /// Frames that bring nothing, and those before them.
    struct Flood: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let frame: [UInt8]
        var first: [UInt8] = []
    }

    static let floods: [Flood] = [
        Flood(testDescription: "PING", frame: F.ping()),
        Flood(testDescription: "answers to PING", frame: F.ping(isAck: true)),
        Flood(testDescription: "SETTINGS", frame: F.settings()),
        Flood(testDescription: "WINDOW_UPDATE", frame: F.windowUpdate(0, 1)),
        Flood(testDescription: "WINDOW_UPDATE of a stream", frame: F.windowUpdate(1, 1)),
        Flood(testDescription: "PRIORITY", frame: F.frame(2, 0, 1, F.zeros(5))),
        Flood(testDescription: "an unknown type", frame: F.frame(0x63)),
        Flood(testDescription: "GOAWAY", frame: F.goAway(1)),
        Flood(testDescription: "empty DATA", frame: F.data(1), first: F.ok(1)),
        Flood(testDescription: "padding", frame: F.padded(1, "", 3), first: F.ok(1)),
        Flood(testDescription: "DATA of a stream that is over", frame: F.data(1, "abc"), first: F.ok(1, isEnd: true)),
        Flood(testDescription: "RST_STREAM", frame: F.reset(1, 8), first: F.ok(1, isEnd: true)),
        Flood(
            testDescription: "empty CONTINUATION", frame: F.continuation(1, isWhole: false),
            first: F.headers(1, [(":status", "200")], isWhole: false)),
        Flood(
            testDescription: "large CONTINUATION", frame: F.frame(9, 0, 1, F.block([field(16_000)])),
            first: F.headers(1, [(":status", "200")], isWhole: false)),
    ]

    @Test(arguments: floods)
    func aFloodEndsTheConnection(_ flood: Flood) throws {
        let log = try HTTP2SessionLog.open()
        try log.begin()
        log.receive(flood.first)
        var count = 0
        while log.failure == nil, count <= HTTP2Session.quietFrameLimit {
            log.receive(flood.frame)
            if log.failure == nil { _ = try log.sent() }
            count += 1
        }
        #expect(log.failure?.code == .enhanceYourCalm)
        #expect(try log.sent().last == "GOAWAY 0 11")
    }

    /// DATA of the first stream comes late, as after a cancelled download.
    @Test(arguments: [HTTP2Frames.windowUpdate(0, 1), HTTP2Frames.data(1, "late"), HTTP2Frames.frame(0x63)])
    func progressIsNoFlood(_ frame: [UInt8]) throws {
        let log = try HTTP2SessionLog.open()
        try log.begin()
        try log.begin()
        log.receive(F.joined([F.ok(1, isEnd: true), F.ok(3)]))
        let quiet = F.joined((0..<HTTP2Session.quietFrameLimit / 2).map { _ in frame })
        for _ in 0..<4 {
            log.receive(quiet)
            log.receive(F.data(3, "x"))
        }
        #expect(log.failure == nil)
        #expect(try log.sent().allSatisfy { !$0.hasPrefix("GOAWAY") })
    }

    /// A peer that sends and does not read.
    @Test func acknowledgmentsThatNobodyTakesAreBounded() throws {
        let log = try HTTP2SessionLog.open()
        try log.begin()
        for _ in 0...HTTP2Session.acknowledgmentLimit { log.receive(F.ping()) }
        #expect(log.failure?.code == .enhanceYourCalm)
    }

    // MARK: The end of a connection

    @Test func aFailureLeavesAGoAwayToSend() throws {
        let log = try HTTP2SessionLog.open()
        try log.begin()
        log.receive(F.joined([F.ok(1), F.data(1, "abc"), F.data(0, "abc")]))
        #expect(log.take() == ["head 1 200", "data 1 abc", "failed PROTOCOL_ERROR"])
        #expect(log.failure?.description.hasSuffix("(PROTOCOL_ERROR)") == true)
        #expect(try log.sent() == ["GOAWAY 0 1"])
        #expect(try log.sent().isEmpty)
        #expect(!log.session.mayOpenStreams)
        #expect(throws: HTTP2Session.Failure.self) { try log.request() }
        #expect(throws: HTTP2Session.Failure.self) {
            try F.ping().withUnsafeBytes { _ = try log.session.receive($0) }
        }
        log.session.reset(1, .cancel)
        log.session.consume(3, of: 1)
        log.session.ping()
        log.session.endStreams()
        #expect(try log.sent().isEmpty)
    }
}
#endif
