// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// The HTTP/2 engine of one client connection (RFC 9113), framed by the system's nghttp2. Bytes in, events and bytes
/// out: no socket, clock, task or lock.
///
/// nghttp2 checks frames and header fields. This class adds the limits, and turns fields into the heads that both HTTP
/// engines share. A stream whose body is not read blocks only itself: the connection's window is replenished at
/// receipt, a stream's by ``consume(_:of:)``.
final class HTTP2Session: @unchecked Sendable {
    // Unchecked: the owner calls it under one lock.

    /// RFC 9113, section 7.
    struct ErrorCode: RawRepresentable, Hashable, Sendable {
        let rawValue: UInt32

        static let noError = ErrorCode(rawValue: 0)
        static let protocolError = ErrorCode(rawValue: 1)
        static let internalError = ErrorCode(rawValue: 2)
        static let flowControlError = ErrorCode(rawValue: 3)
        static let settingsTimeout = ErrorCode(rawValue: 4)
        static let streamClosed = ErrorCode(rawValue: 5)
        static let frameSizeError = ErrorCode(rawValue: 6)
        static let refusedStream = ErrorCode(rawValue: 7)
        static let cancel = ErrorCode(rawValue: 8)
        static let compressionError = ErrorCode(rawValue: 9)
        static let connectError = ErrorCode(rawValue: 10)
        static let enhanceYourCalm = ErrorCode(rawValue: 11)
        static let inadequateSecurity = ErrorCode(rawValue: 12)
        static let http11Required = ErrorCode(rawValue: 13)
    }

    enum Event {
        /// The header fields of an interim response, which are discarded.
        case interim(stream: Int32)
        /// The final header fields, without those of interim responses. `isEnd`: END_STREAM arrived with them.
        case head(stream: Int32, head: ResponseHead, framing: ResponseFraming, isEnd: Bool)
        case data(stream: Int32, bytes: Data)
        /// END_STREAM after the head, with the trailers. Not sent if the head had `isEnd`.
        case end(stream: Int32, trailers: HTTPHeaders)
        /// The stream is closed. `code` is that of a RST_STREAM from either side; ``ErrorCode/noError`` without one.
        /// `isUnprocessed`: refused, or above the last stream of a GOAWAY.
        case closed(stream: Int32, code: ErrorCode, isUnprocessed: Bool)
        /// No new streams may be opened from now on.
        case goAway(lastStream: Int32, code: ErrorCode)
        /// The peer's SETTINGS arrived: ``maxStreams`` may have changed.
        case settings
        case pong
    }

    /// A connection error (RFC 9113, section 5.4.1). ``takeOutgoing(atMost:)`` may still return a GOAWAY to send; then
    /// the connection must be closed.
    struct Failure: Error, CustomStringConvertible {
        let code: ErrorCode
        let text: String

        var description: String { "HTTP/2: \(text) (\(code))" }
    }

    /// Bytes for the socket, the streams whose HEADERS begin in them, and those whose END_STREAM is in them.
    struct Outgoing {
        var bytes: Data
        var begun: [Int32]
        var ended: [Int32]
    }

    /// The maximum number of unread bytes of a stream.
    static let streamWindow = 1 << 20
    /// Refilled at receipt, so it only has to cover a fast connection's round trip.
    private static let connectionWindow = 16 << 20
    /// The maximum number of frames between two signs of progress: a head, body bytes, or an end, from either side. A
    /// server that pings an idle stream every ten seconds reaches it after a day.
    static let quietFrameLimit = 10_000
    /// The maximum number of PING and SETTINGS frames that wait for the socket.
    static let acknowledgmentLimit = 1000
    /// The maximum size of a field block in frames, decoded or not. It exceeds what a head within its limit takes, so
    /// that an oversized head fails its stream and not the connection.
    static let fieldBlockLimit = 2 * HTTP1ResponseParser.headLimit

    /// Whether the system has nghttp2 1.40 or later.
    static var isSupported: Bool { pulse_http2_load() }

    /// Nil if out of memory.
    private(set) var session: OpaquePointer?
    /// The streams that are not closed.
    var streams: [Int32: Stream] = [:]
    /// The next events of ``receive(_:)``. After it has thrown: the events before the fault.
    var pendingEvents: [Event] = []
    var unsent = Unsent()
    /// The streams whose bodies have unsent bytes, and those that have had their turn.
    var sendingBodies: Set<Int32> = []
    var turns: Set<Int32> = []
    /// Whether bodies are held back from sending.
    var isHoldingBodies = false
    /// The streams whose held bodies nghttp2 has requested.
    var heldBodies: [Int32] = []
    var failure: Failure?
    /// Why a handler has stopped nghttp2.
    var fault: Failure?
    /// The frames since the latest progress.
    var frames = FrameCounter()
    /// The bytes of the frames of the current field block.
    var fieldBlockCount = 0
    var hasGoAway = false
    private var isEnding = false

    /// Queues the preface, the SETTINGS and the connection's window. Throws ``TransportFailure`` if memory is
    /// exhausted, or without nghttp2.
    init() throws {
        guard Self.isSupported else { throw TransportFailure(code: .resourceUnavailable, phase: .beforeSend) }
        let limits = pulse_http2_limits(
            stream_window: UInt32(Self.streamWindow), connection_window: UInt32(Self.connectionWindow),
            header_list: UInt32(HTTP1ResponseParser.headLimit))
        // `deinit` frees the C session, which holds this pointer.
        session = pulse_http2_session_new(limits, Self.handler(Unmanaged.passUnretained(self).toOpaque()))
        guard session != nil else { throw TransportFailure(code: .resourceUnavailable, phase: .beforeSend) }
    }

    deinit {
        if let session { pulse_http2_session_free(session) }
    }

    // MARK: The connection

    /// Reads bytes from the server. Throws ``Failure``; ``pendingEvents`` then has the events before the fault.
    func receive(_ bytes: UnsafeRawBufferPointer) throws -> [Event] {
        if let failure { throw failure }
        if !bytes.isEmpty {
            frames.read(bytes)
            let result = pulse_http2_receive(session, bytes.baseAddress, bytes.count)
            if result != 0 { fail(fault ?? Failure(result)) }
            if frames.count > Self.quietFrameLimit { fail(.flood) }
        }
        moveFrames()
        if let failure { throw failure }
        defer { pendingEvents = [] }
        return pendingEvents
    }

    /// The maximum number of concurrent streams, which the peer sets; 100 until its SETTINGS arrive.
    var maxStreams: Int { Int(clamping: pulse_http2_maximum_streams(session)) }

    /// Whether new streams may be opened: no GOAWAY from either side, no failure, and stream identifiers left.
    var mayOpenStreams: Bool { failure == nil && !isEnding && !hasGoAway && pulse_http2_may_submit(session) }

    func ping() {
        if failure == nil, !pulse_http2_ping(session) { fail(.noMemory) }
    }

    /// Queues a GOAWAY without an error: no more streams are opened.
    func endStreams() {
        guard failure == nil, !isEnding else { return }
        isEnding = true
        pulse_http2_end(session)
    }

    /// Ends the connection with a GOAWAY. The first failure counts.
    func fail(_ failure: Failure) {
        guard self.failure == nil else { return }
        self.failure = failure
        pulse_http2_fail(session, failure.code.rawValue)
    }

    // MARK: Streams

    /// Queues HEADERS, and returns the stream identifier. Pseudo-fields come first. Throws ``Failure`` if no stream can
    /// be opened.
    func submit(_ fields: [(name: String, value: [UInt8])], hasBody: Bool) throws -> Int32 {
        guard mayOpenStreams else { throw failure ?? Failure.noMoreStreams }
        var bytes: [UInt8] = []
        var lengths: [Int] = []
        for field in fields {
            bytes.append(contentsOf: field.name.utf8)
            bytes.append(contentsOf: field.value)
            lengths.append(field.name.utf8.count)
            lengths.append(field.value.count)
        }
        let stream = pulse_http2_submit(session, bytes, lengths, fields.count, hasBody)
        guard stream > 0 else { throw Failure.noMoreStreams }
        streams[stream] = Stream()
        return stream
    }

    /// Whether the HEADERS of the stream are framed, and are sent even if it is reset now.
    func isBegun(_ stream: Int32) -> Bool { streams[stream]?.isBegun != false }

    /// Adds bytes to the body of a stream, and ends it with the last. They are sent as flow control allows.
    func send(_ bytes: Data, isLast: Bool, on stream: Int32) {
        guard failure == nil, let sender = streams[stream], sender.resetCode == nil else { return }
        sender.body.append(bytes, isLast: isLast)
        if !bytes.isEmpty { sendingBodies.insert(stream) }
        pulse_http2_resume(session, stream)
    }

    /// The number of queued body bytes that ``takeOutgoing(atMost:)`` has not framed.
    func unsentCount(of stream: Int32) -> Int { streams[stream]?.body.count ?? 0 }

    /// Opens the stream's window by the bytes that its reader has taken.
    func consume(_ count: Int, of stream: Int32) {
        if failure == nil, count > 0 { pulse_http2_consume(session, stream, count) }
    }

    /// Queues a RST_STREAM. The only later event of the stream is ``Event/closed(stream:code:isUnprocessed:)``, which
    /// the next ``receive(_:)`` returns.
    func reset(_ stream: Int32, _ code: ErrorCode) {
        guard failure == nil, let ended = streams[stream], ended.resetCode == nil else { return }
        ended.resetCode = code
        ended.body = Body()
        sendingBodies.remove(stream)
        guard pulse_http2_reset(session, stream, code.rawValue) else { return fail(.noMemory) }
        // nghttp2 would report that only when the HEADERS were due.
        if !ended.isBegun { close(stream, code, isUnprocessed: true) }
    }
}

extension HTTP2Session.ErrorCode: CustomStringConvertible {
    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    var description: String {
        rawValue < UInt32(Self.names.count) ? Self.names[Int(rawValue)] : "error \(rawValue)"
    }
}

extension HTTP2Session.Failure {
    static let noMemory = Self(code: .internalError, text: "no memory")
    static let flood = Self(code: .enhanceYourCalm, text: "too many frames without a response")
    static let noMoreStreams = Self(code: .refusedStream, text: "the connection takes no more streams")

    /// An error of nghttp2.
    init(_ result: Int32) {
        code = pulse_http2_is_flood(result) ? .enhanceYourCalm : .internalError
        text = String(cString: pulse_http2_error(result))
    }
}
#endif
