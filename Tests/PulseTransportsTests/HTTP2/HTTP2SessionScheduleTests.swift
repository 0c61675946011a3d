// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// A session and a server that does what the protocol allows, in a random order, against a plain model; `PULSE_STEPS`
/// sets the length.
@Suite(.tags(.schedule, .addresses), .throttled)
struct HTTP2SessionScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 5000

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    @HeavyWork func theSessionAgreesWithAPlainModel(seed: UInt64) throws {
        var schedule = try Schedule(seed: seed)
        for step in 0..<Self.steps {
            try schedule.step()
            guard schedule.problems.isEmpty else {
                Issue.record("seed \(seed), step \(step): \(schedule.problems)")
                return
            }
        }
        try schedule.finish()
        #expect(schedule.problems.isEmpty, "seed \(seed)")
        // Otherwise the schedule would prove little.
        for end in ["whole", "reset by the server", "reset by the client"] {
            #expect(schedule.ends[end, default: 0] > Self.steps / 200, "\(end)")
        }
    }

    /// A stream as both sides must see it.
    private struct Model {
        /// What the session has told.
        var events: [String] = []
        /// What the server has sent of the body, and how much of it the session has told.
        var body: [UInt8] = []
        var receivedCount = 0
        /// What the server may still send, and the session.
        var serverWindow = HTTP2Session.streamWindow
        var clientWindow: Int
        var unreadCount = 0
        /// What the client has queued, and what the server has got of it.
        var upload: [UInt8] = []
        var uploadedCount = 0
        var isUploadComplete: Bool
        var hasHead = false
        var isResponseComplete = false
        /// How it must end, in the words of ``HTTP2SessionLog``, once that is known.
        var end: String?
    }

    private struct Schedule {
        private typealias F = HTTP2Frames

        private(set) var problems: [String] = []
        private(set) var ends: [String: Int] = [:]
        private let session: HTTP2Session
        private let chance: SeededRandomness
        private var streams: [UInt32: Model] = [:]
        /// Written by the server and not read by the session.
        private var wire: [UInt8] = []
        /// Written by the session and not read by the server.
        private var outgoing: [UInt8] = []
        private var initialWindow = 65_535
        private var clientWindow = 65_535
        private var serverWindow = 65_535
        private var pingCount = 0

        init(seed: UInt64) throws {
            session = try HTTP2Session()
            chance = SeededRandomness(seed: seed)
            wire = F.joined([F.settings(), F.settingsAck])
        }

        private func below(_ limit: Int) -> Int { limit <= 0 ? 0 : Int(chance.next() % UInt64(limit)) }

        private func someStream(_ isRight: (Model) -> Bool) -> UInt32? {
            let ids = streams.filter { $0.value.end == nil && isRight($0.value) }.keys.sorted()
            return ids.isEmpty ? nil : ids[below(ids.count)]
        }

        mutating func step() throws {
            switch below(16) {
            case 0: try open()
            case 1: queueUpload()
            case 2: cancel()
            case 3: read()
            case 4: respond()
            case 5, 6: sendData()
            case 7: endResponse()
            case 8: if below(3) == 0 { resetByServer() }
            case 9: openWindows()
            case 10: sendSettingsOrPing()
            case 11, 12: try receive()
            default: try take()
            }
        }

        /// Everything that is on its way arrives.
        mutating func finish() throws {
            for id in streams.keys.sorted() where streams[id]?.end == nil {
                session.reset(Int32(id), .cancel)
                streams[id]?.end = "closed \(id) CANCEL"
            }
            for _ in 0..<100_000 where !wire.isEmpty || !outgoing.isEmpty || !streams.isEmpty {
                try receive()
                try take()
            }
            try takeAll()
            if !streams.isEmpty || pingCount != 0 { problems.append("\(streams.keys) or \(pingCount) pings are left") }
        }

        // MARK: The client

        private mutating func open() throws {
            guard streams.values.filter({ $0.end == nil }).count < 20, session.mayOpenStreams else { return }
            let hasBody = below(2) == 0
            let fields = [(":method", "POST"), (":scheme", "https"), (":authority", "a"), (":path", "/")]
            let id = try session.submit(fields.map { (name: $0.0, value: Array($0.1.utf8)) }, hasBody: hasBody)
            streams[UInt32(id)] = Model(clientWindow: initialWindow, isUploadComplete: !hasBody)
            // The server knows the stream from now on.
            try takeAll()
        }

        private mutating func queueUpload() {
            guard let id = someStream({ !$0.isUploadComplete }) else { return }
            let bytes = (0..<below(40_000)).map { UInt8(truncatingIfNeeded: $0 &+ Int(id)) }
            let isLast = below(4) == 0
            streams[id]?.upload += bytes
            streams[id]?.isUploadComplete = isLast
            session.send(Data(bytes), isLast: isLast, on: Int32(id))
        }

        private mutating func cancel() {
            guard below(4) == 0, let id = someStream({ _ in true }) else { return }
            session.reset(Int32(id), .cancel)
            end(id, "closed \(id) CANCEL", "reset by the client")
        }

        private mutating func read() {
            guard let id = someStream({ $0.unreadCount > 0 }), let unread = streams[id]?.unreadCount else { return }
            let count = 1 + below(unread)
            session.consume(count, of: Int32(id))
            streams[id]?.unreadCount -= count
        }

        private mutating func take() throws {
            outgoing += try session.takeOutgoing(atMost: 1 + below(70_000)).bytes
            readOutgoing(below(outgoing.count + 1))
        }

        private mutating func takeAll() throws {
            while true {
                let bytes = try session.takeOutgoing(atMost: 1 << 20).bytes
                outgoing += bytes
                if bytes.isEmpty { break }
            }
            readOutgoing(outgoing.count)
        }

        // MARK: The server

        private mutating func end(_ id: UInt32, _ event: String, _ kind: String) {
            streams[id]?.end = event
            ends[kind, default: 0] += 1
        }

        private mutating func respond() {
            guard let id = someStream({ !$0.hasHead }) else { return }
            if below(4) == 0 { wire += F.headers(id, [(":status", "103"), ("link", "x")]) }
            wire += F.ok(id, [("x", "\(id)")])
            streams[id]?.hasHead = true
        }

        private mutating func sendData() {
            guard let id = someStream({ $0.hasHead && !$0.isResponseComplete }), let model = streams[id] else { return }
            let padding = below(3) == 0 ? UInt8(below(256)) : 0
            let room = min(model.serverWindow, serverWindow, 16_384) - 1 - Int(padding)
            guard room > 0 else { return }
            let bytes = (0..<below(room + 1)).map { _ in UInt8(ascii: "a") + UInt8(below(26)) }
            let overhead = padding == 0 ? 0 : 1 + Int(padding)
            wire +=
                padding == 0
                ? F.data(id, bytes: bytes)
                : F.frame(0, 8, id, F.joined([[padding], bytes, F.zeros(Int(padding))]))
            streams[id]?.body += bytes
            streams[id]?.serverWindow -= bytes.count + overhead
            serverWindow -= bytes.count + overhead
        }

        private mutating func endResponse() {
            guard let id = someStream({ $0.hasHead && !$0.isResponseComplete }) else { return }
            let hasTrailers = below(2) == 0
            wire += hasTrailers ? F.headers(id, [("t", "z")], isEnd: true) : F.data(id, isEnd: true)
            streams[id]?.isResponseComplete = true
            // The upload is of no use any more.
            if streams[id]?.isUploadComplete == false { wire += F.reset(id, 0) }
            // While the rest of an upload is on its way, the stream stays.
            let isOpen = streams[id].map { $0.isUploadComplete && $0.uploadedCount < $0.upload.count } ?? false
            if isOpen { wire += F.reset(id, 0) }
            end(id, "closed \(id) NO_ERROR", "whole")
        }

        private mutating func resetByServer() {
            guard let id = someStream({ !$0.isResponseComplete }) else { return }
            wire += F.reset(id, 2)
            end(id, "closed \(id) INTERNAL_ERROR", "reset by the server")
        }

        private mutating func openWindows() {
            guard clientWindow < 1 << 29 else { return }
            let count = 1 + below(50_000)
            wire += F.windowUpdate(0, UInt32(count))
            clientWindow += count
            guard let id = someStream({ _ in true }) else { return }
            wire += F.windowUpdate(id, UInt32(count))
            streams[id]?.clientWindow += count
        }

        private mutating func sendSettingsOrPing() {
            guard below(4) == 0 else {
                wire += F.ping()
                pingCount += 1
                return
            }
            // It only grows: a server that lowers it must bear what is on its way.
            let window = min(initialWindow + below(1000), 1 << 24)
            wire += F.settings([(4, UInt32(window))])
            for id in streams.keys { streams[id]?.clientWindow += window - initialWindow }
            initialWindow = window
        }

        /// Checks what the session has sent against the windows that it has.
        private mutating func readOutgoing(_ limit: Int) {
            let (frames, count) = HTTP2Frame.read(Array(outgoing.prefix(limit)))
            outgoing.removeFirst(count)
            for frame in frames {
                switch frame.name {
                case "DATA":
                    clientWindow -= frame.payload.count
                    if clientWindow < 0 { problems.append("the window is exceeded by \(frame)") }
                    readUpload(frame)
                case "WINDOW_UPDATE" where frame.stream == 0: serverWindow += Int(frame.number)
                case "WINDOW_UPDATE": streams[frame.stream]?.serverWindow += Int(frame.number)
                case "PING": pingCount -= 1
                case "GOAWAY": problems.append("\(frame)")
                default: break
                }
            }
        }

        /// Unless the session has told by now that the stream is over.
        private mutating func readUpload(_ frame: HTTP2Frame) {
            guard let model = streams[frame.stream] else { return }
            let sent = model.uploadedCount + frame.payload.count
            guard frame.payload.count <= model.clientWindow, sent <= model.upload.count else {
                return problems.append("too many bytes in \(frame)")
            }
            if Array(model.upload[model.uploadedCount..<sent]) != frame.payload {
                problems.append("other bytes in \(frame)")
            }
            if frame.hasFirstFlag, !model.isUploadComplete || sent != model.upload.count {
                problems.append("a wrong end in \(frame)")
            }
            streams[frame.stream]?.uploadedCount = sent
            streams[frame.stream]?.clientWindow -= frame.payload.count
        }

        // MARK: Events

        private mutating func receive() throws {
            let piece = Array(wire.prefix(below(wire.count + 1)))
            wire.removeFirst(piece.count)
            let events = try piece.withUnsafeBytes { try session.receive($0) }
            for event in events { check(event) }
        }

        private mutating func check(_ event: HTTP2Session.Event) {
            switch event {
            case .head(let stream, let head, _, let isEnd):
                let isRight = head.headers.map(\.value) == ["\(stream)"] && !isEnd
                if !isRight || note("head", stream) != [] { problems.append("head of \(stream)") }
            case .data(let stream, let bytes):
                guard let model = streams[UInt32(stream)] else { return problems.append("data of \(stream)") }
                let count = model.receivedCount + bytes.count
                if count > model.body.count || Array(bytes) != Array(model.body[model.receivedCount..<count]) {
                    problems.append("data of \(stream)")
                }
                streams[UInt32(stream)]?.receivedCount = count
                streams[UInt32(stream)]?.unreadCount += bytes.count
            case .end(let stream, _):
                let model = streams[UInt32(stream)]
                let isWhole = model?.isResponseComplete == true && model?.receivedCount == model?.body.count
                if !isWhole || note("end", stream) != ["head"] { problems.append("end of \(stream)") }
            case .closed(let stream, let code, let isUnprocessed):
                let model = streams.removeValue(forKey: UInt32(stream))
                let isRight = model?.end == "closed \(stream) \(code)" && !isUnprocessed
                if !isRight || code == .noError && model?.events != ["head", "end"] {
                    problems.append("closed \(stream) \(code), not \(model?.end ?? "open")")
                }
            case .goAway, .pong: problems.append("\(event)")
            case .settings, .interim: break
            }
        }

        /// Adds an event, and returns those before it.
        private mutating func note(_ event: String, _ stream: Int32) -> [String] {
            let before = streams[UInt32(stream)]?.events ?? []
            streams[UInt32(stream)]?.events.append(event)
            return before
        }
    }
}
#endif
