// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import Testing

@testable import PulseTransports

/// A session, and the events that it has returned, as text.
final class HTTP2SessionLog {
    let session: HTTP2Session
    private var events: [String] = []
    private(set) var failure: HTTP2Session.Failure?

    init() throws {
        session = try HTTP2Session()
    }

    /// After both sides have sent and acknowledged SETTINGS.
    static func open(_ settings: [(UInt16, UInt32)] = []) throws -> HTTP2SessionLog {
        let log = try HTTP2SessionLog()
        _ = try log.sent()
        log.receive(HTTP2Frames.settings(settings) + HTTP2Frames.settingsAck)
        _ = try log.sent()
        _ = log.take()
        return log
    }

    @discardableResult
    func request(_ method: String = "GET", hasBody: Bool = false) throws -> Int32 {
        let fields = [(":method", method), (":scheme", "https"), (":authority", "example.com"), (":path", "/")]
        return try session.submit(fields.map { (name: $0.0, value: Array($0.1.utf8)) }, hasBody: hasBody)
    }

    /// Makes a request, and sends what there is to send.
    @discardableResult
    func begin(_ method: String = "GET", hasBody: Bool = false) throws -> Int32 {
        let stream = try request(method, hasBody: hasBody)
        _ = try sent()
        return stream
    }

    /// Hands bytes over, unless the session has failed.
    func receive(_ bytes: [UInt8]) {
        guard failure == nil else { return }
        do {
            for event in try bytes.withUnsafeBytes({ try session.receive($0) }) { add(event) }
        } catch let failure as HTTP2Session.Failure {
            self.failure = failure
            for event in session.pendingEvents { add(event) }
            events.append("failed \(failure.code)")
        } catch {
            Issue.record("\(error)")
        }
    }

    /// The events since the last call.
    func take() -> [String] {
        defer { events = [] }
        return events
    }

    /// The frames that the session has to send, as text.
    func sent() throws -> [String] {
        let bytes = try session.takeOutgoing(atMost: 1 << 20).bytes
        let (frames, count) = HTTP2Frame.read(Array(bytes))
        #expect(count == bytes.count)
        return frames.map(\.description)
    }

    private func add(_ event: HTTP2Session.Event) {
        switch event {
        case .interim:
            break
        case .head(let stream, let head, _, let isEnd):
            events.append("head \(stream) \(head.statusCode)" + (isEnd ? " end" : ""))
        case .data(let stream, let bytes):
            let text = String(decoding: bytes, as: UTF8.self)
            if let last = events.last, last.hasPrefix("data \(stream) ") {
                events[events.count - 1] = last + text
            } else {
                events.append("data \(stream) \(text)")
            }
        case .end(let stream, let trailers):
            events.append("end \(stream)" + trailers.map { " \($0.name)=\($0.value)" }.joined())
        case .closed(let stream, let code, let isUnprocessed):
            events.append("closed \(stream) \(code)" + (isUnprocessed ? " unprocessed" : ""))
        case .goAway(let lastStream, let code):
            events.append("goAway \(lastStream) \(code)")
        case .settings:
            events.append("settings")
        case .pong:
            events.append("pong")
        }
    }
}
#endif
