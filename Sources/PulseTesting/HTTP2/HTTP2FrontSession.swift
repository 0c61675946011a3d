// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulseTesting
import PulseCore

/// A header field as it is on the wire.
struct HTTP2FrontField: Sendable {
    let name: [UInt8]
    let value: [UInt8]

    init(name: [UInt8], value: [UInt8]) {
        self.name = name
        self.value = value
    }

    init(_ name: String, _ value: String) {
        self.init(name: Array(name.utf8), value: Array(value.utf8))
    }
}

/// The server's side of HTTP/2 on one connection, framed by the system's nghttp2: bytes in, events and bytes out.
// Unchecked, and sound: it is part of a connection's state, and used only under its lock.
final class HTTP2FrontSession: @unchecked Sendable {
    enum Event: Sendable {
        /// `isEnd`: the request has no body.
        case request(stream: Int32, fields: [HTTP2FrontField], isEnd: Bool)
        case body(stream: Int32, bytes: Data)
        /// The request is complete.
        case end(stream: Int32, trailers: [HTTP2FrontField])
        /// The body of the response has room again.
        case room(stream: Int32)
        /// The stream is over, by both ends or by a reset.
        case closed(stream: Int32)
    }

    private struct Body {
        var bytes = Data()
        var isEnded = false
        var isCut = false
        var trailers: [HTTP2FrontField] = []

        mutating func append(_ more: Data) {
            // A slice retains the bytes that precede it.
            if bytes.startIndex >= HTTP2FrontSession.bodyLimit { bytes = Data(bytes) }
            bytes.append(more)
        }
    }

    static let maxStreams: UInt32 = 128
    /// The maximum number of response bytes that wait for the client.
    static let bodyLimit = 256 << 10

    private var server: OpaquePointer?
    private var events: [Event] = []
    /// The fields so far of requests and trailers that are incomplete.
    private var fields: [Int32: [HTTP2FrontField]] = [:]
    private var trailers: [Int32: [HTTP2FrontField]] = [:]
    private var openStreams: Set<Int32> = []
    private var bodies: [Int32: Body] = [:]
    /// The received bytes that were not returned to the flow-control window.
    private var unprocessed: [Int32: Int] = [:]

    init() throws {
        guard pulse_http2_can_serve() else {
            throw PulseError.unsupported("HTTP/2 in MockServer: it needs the system's nghttp2")
        }
        var calls = pulse_http2_server_calls()
        calls.context = Unmanaged.passUnretained(self).toOpaque()
        calls.field = { context, stream, name, nameCount, value, valueCount in
            let name = [UInt8](UnsafeBufferPointer(start: name, count: nameCount))
            let value = [UInt8](UnsafeBufferPointer(start: value, count: valueCount))
            HTTP2FrontSession.of(context)?.fields[stream, default: []].append(HTTP2FrontField(name: name, value: value))
        }
        calls.fields_ended = { context, stream, areTrailers, isLast in
            HTTP2FrontSession.of(context)?.fieldsEnded(stream, areTrailers: areTrailers, isLast: isLast)
        }
        calls.data = { context, stream, bytes, count in
            guard let bytes else { return }
            HTTP2FrontSession.of(context)?.received(Data(bytes: bytes, count: count), on: stream)
        }
        calls.ended = { context, stream in
            HTTP2FrontSession.of(context)?.ended(stream)
        }
        calls.closed = { context, stream in
            HTTP2FrontSession.of(context)?.closed(stream)
        }
        calls.read = { context, stream, target, capacity in
            guard let session = HTTP2FrontSession.of(context), let target else {
                return Int(PULSE_HTTP2_SERVER_BODY_CUT)
            }
            return session.read(stream, to: target, capacity)
        }
        server = pulse_http2_server_new(&calls, Self.maxStreams)
        guard server != nil else { throw PulseError.unsupported("HTTP/2 in MockServer: no memory") }
    }

    deinit {
        if let server { pulse_http2_server_free(server) }
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> HTTP2FrontSession? {
        context.map { Unmanaged<HTTP2FrontSession>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Bytes

    /// Processes bytes from the client; false if they are not HTTP/2.
    func feed(_ bytes: Data) -> Bool {
        bytes.withUnsafeBytes { pulse_http2_server_feed(server, $0.baseAddress, $0.count) }
    }

    /// The next bytes for the client, about that many; none if there is nothing to send.
    func take(atMost limit: Int) -> Data {
        var all = Data()
        var piece: UnsafePointer<UInt8>?
        while all.count < limit {
            let count = pulse_http2_server_take(server, &piece)
            guard count > 0, let start = piece else { break }
            all.append(start, count: count)
        }
        return all
    }

    func takeEvents() -> [Event] {
        defer { events = [] }
        return events
    }

    /// Whether nothing more is to be received or sent.
    var isOver: Bool { pulse_http2_server_is_over(server) }

    /// Sends GOAWAY.
    func goAway() {
        pulse_http2_server_end(server)
    }

    // MARK: Responses

    /// Sends header fields of an interim response.
    func inform(_ stream: Int32, _ fields: [HTTP2FrontField]) {
        guard openStreams.contains(stream) else { return }
        submit(fields) { pulse_http2_server_inform(server, stream, $0, $1, $2) }
    }

    /// Sends the header fields of the final response, which end it if it has no body.
    func respond(_ stream: Int32, _ fields: [HTTP2FrontField], hasBody: Bool) {
        guard openStreams.contains(stream) else { return }
        if hasBody { bodies[stream] = Body() }
        submit(fields) { pulse_http2_server_respond(server, stream, $0, $1, $2, hasBody) }
    }

    /// Whether a response's body has room for more. A closed stream accepts all bytes, and drops them.
    func hasRoom(_ stream: Int32) -> Bool {
        (bodies[stream]?.bytes.count ?? 0) < Self.bodyLimit
    }

    func append(_ bytes: Data, to stream: Int32) {
        guard bodies[stream] != nil else { return }
        bodies[stream]?.append(bytes)
        pulse_http2_server_resume(server, stream)
    }

    /// Ends a response after its body.
    func end(_ stream: Int32, trailers: [HTTP2FrontField]) {
        guard bodies[stream] != nil else { return }
        bodies[stream]?.isEnded = true
        bodies[stream]?.trailers = trailers
        pulse_http2_server_resume(server, stream)
    }

    /// Resets a stream with INTERNAL_ERROR, after the bytes of its body so far.
    func cut(_ stream: Int32) {
        if bodies[stream] != nil {
            bodies[stream]?.isCut = true
            pulse_http2_server_resume(server, stream)
        } else if openStreams.contains(stream) {
            pulse_http2_server_reset(server, stream, Self.internalError)
        }
    }

    /// Returns processed bytes of a request to the flow-control windows.
    func consume(_ count: Int, of stream: Int32) {
        guard let rest = unprocessed[stream] else { return }
        unprocessed[stream] = rest - count
        pulse_http2_server_consume(server, stream, count)
    }

    private static let internalError: UInt32 = 2

    private func submit(
        _ fields: [HTTP2FrontField],
        by send: (UnsafePointer<UInt8>?, UnsafePointer<pulse_http2_server_field>?, Int) -> Bool
    ) {
        let text = fields.flatMap { $0.name + $0.value }
        let lengths = fields.map { pulse_http2_server_field(name_count: $0.name.count, value_count: $0.value.count) }
        // It fails only if out of memory.
        _ = text.withUnsafeBufferPointer { text in
            lengths.withUnsafeBufferPointer { send(text.baseAddress, $0.baseAddress, $0.count) }
        }
    }

    // MARK: Calls of nghttp2

    private func fieldsEnded(_ stream: Int32, areTrailers: Bool, isLast: Bool) {
        let all = fields.removeValue(forKey: stream) ?? []
        if areTrailers {
            trailers[stream] = all
        } else {
            openStreams.insert(stream)
            unprocessed[stream] = 0
            events.append(.request(stream: stream, fields: all, isEnd: isLast))
        }
    }

    private func received(_ bytes: Data, on stream: Int32) {
        unprocessed[stream, default: 0] += bytes.count
        events.append(.body(stream: stream, bytes: bytes))
    }

    private func ended(_ stream: Int32) {
        events.append(.end(stream: stream, trailers: trailers.removeValue(forKey: stream) ?? []))
    }

    private func closed(_ stream: Int32) {
        openStreams.remove(stream)
        bodies[stream] = nil
        fields[stream] = nil
        trailers[stream] = nil
        if let rest = unprocessed.removeValue(forKey: stream), rest > 0 {
            pulse_http2_server_consume(server, stream, rest)
        }
        events.append(.closed(stream: stream))
    }

    private func read(_ stream: Int32, to target: UnsafeMutablePointer<UInt8>, _ capacity: Int) -> Int {
        guard let body = bodies[stream] else { return Int(PULSE_HTTP2_SERVER_BODY_CUT) }
        guard body.bytes.isEmpty else {
            let count = min(capacity, body.bytes.count)
            body.bytes.copyBytes(to: target, count: count)
            bodies[stream]?.bytes = body.bytes.dropFirst(count)
            let wasFull = body.bytes.count >= Self.bodyLimit
            if wasFull, hasRoom(stream) { events.append(.room(stream: stream)) }
            return count
        }
        if body.isCut { return Int(PULSE_HTTP2_SERVER_BODY_CUT) }
        guard body.isEnded else { return Int(PULSE_HTTP2_SERVER_BODY_WAITS) }
        guard !body.trailers.isEmpty else { return Int(PULSE_HTTP2_SERVER_BODY_ENDED) }
        submit(body.trailers) { pulse_http2_server_trailers(server, stream, $0, $1, $2) }
        return Int(PULSE_HTTP2_SERVER_BODY_HAS_TRAILERS)
    }
}
#endif
