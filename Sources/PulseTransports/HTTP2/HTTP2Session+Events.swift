// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// The callbacks of nghttp2. They do not call nghttp2, which is not reentrant.
extension HTTP2Session {
    static func handler(_ context: UnsafeMutableRawPointer) -> pulse_http2_handler {
        pulse_http2_handler(
            context: context,
            handle: { context, event in
                guard let context, let event else { return false }
                return Unmanaged<HTTP2Session>.fromOpaque(context).takeUnretainedValue().handle(event.pointee)
            },
            read: { context, stream, bytes, count, isEnd in
                guard let context, let isEnd else { return -1 }
                let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: count)
                let session = Unmanaged<HTTP2Session>.fromOpaque(context).takeUnretainedValue()
                guard let part = session.readBody(of: stream, into: buffer) else { return -1 }
                isEnd.pointee = part.isEnd
                return part.count
            })
    }

    /// Returns the result that the kind of the event defines; true if it defines none.
    private func handle(_ event: pulse_http2_event) -> Bool {
        switch event.kind {
        case PULSE_HTTP2_FRAME: return admits(Int(event.type), event.count)
        case PULSE_HTTP2_FIELD: return readField(event)
        case PULSE_HTTP2_FIELDS_END: return endFields(of: event.stream, isEnd: event.is_end)
        case PULSE_HTTP2_DATA: take(event.content, of: event.stream)
        case PULSE_HTTP2_END: end(event.stream, HTTPHeaders())
        case PULSE_HTTP2_CLOSED: close(event.stream, ErrorCode(rawValue: event.code))
        case PULSE_HTTP2_UNSENT: close(event.stream, .refusedStream, isUnprocessed: true)
        case PULSE_HTTP2_GOAWAY: leave(lastStream: event.stream, ErrorCode(rawValue: event.code))
        case PULSE_HTTP2_SETTINGS: pendingEvents.append(.settings)
        case PULSE_HTTP2_PONG: pendingEvents.append(.pong)
        case PULSE_HTTP2_BEGINS: begin(event.stream)
        case PULSE_HTTP2_SENT: noteSent(event)
        case PULSE_HTTP2_ACKNOWLEDGED: unsent.acknowledgmentCount += 1
        case PULSE_HTTP2_FAILED: noteFailure(event)
        default: break
        }
        return true
    }

    // MARK: Limits

    /// Returns false for a frame that is not allowed.
    private func admits(_ type: Int, _ count: Int) -> Bool {
        switch type {
        case PULSE_HTTP2_TYPE_HEADERS: fieldBlockCount = count
        case PULSE_HTTP2_TYPE_CONTINUATION: fieldBlockCount += count
        case PULSE_HTTP2_TYPE_PUSH_PROMISE:
            // The first request follows ENABLE_PUSH 0, so the server knew it (RFC 9113, section 8.4).
            fault = Failure(code: .protocolError, text: "PUSH_PROMISE: push is disabled")
        default: break
        }
        if fieldBlockCount > Self.fieldBlockLimit {
            fault = Failure(code: .enhanceYourCalm, text: "too many header bytes")
        }
        return fault == nil
    }

    private func noteProgress() {
        frames.count = 0
    }

    // MARK: Responses

    private func readField(_ event: pulse_http2_event) -> Bool {
        let name = UnsafeRawBufferPointer(start: event.name, count: event.name_count)
        // Fields of closed streams only update the compression state.
        guard let stream = streams[event.stream] else { return true }
        return stream.readField(name, event.content) || reject(stream)
    }

    private func endFields(of id: Int32, isEnd: Bool) -> Bool {
        guard let stream = streams[id], stream.resetCode == nil else { return true }
        guard let fields = stream.takeFields() else { return reject(stream) }
        switch fields {
        case .interim:
            pendingEvents.append(.interim(stream: id))
        case .head(let head, let framing):
            noteProgress()
            pendingEvents.append(.head(stream: id, head: head, framing: framing, isEnd: isEnd))
        case .trailers(let trailers):
            end(id, trailers)
        }
        return true
    }

    /// Notes that nghttp2 will reset the stream for its fields. The peer may see the end of the stream before that.
    private func reject(_ stream: Stream) -> Bool {
        if stream.resetCode == nil { stream.resetCode = .protocolError }
        return false
    }

    private func take(_ bytes: UnsafeRawBufferPointer, of id: Int32) {
        guard !bytes.isEmpty, let stream = streams[id], stream.resetCode == nil else { return }
        noteProgress()
        pendingEvents.append(.data(stream: id, bytes: Data(bytes)))
    }

    private func end(_ id: Int32, _ trailers: HTTPHeaders) {
        guard let stream = streams[id], stream.resetCode == nil else { return }
        noteProgress()
        pendingEvents.append(.end(stream: id, trailers: trailers))
    }

    // MARK: Ends

    private func close(_ id: Int32, _ code: ErrorCode) {
        // A server that has responded has processed the request, whatever it says later.
        close(id, code, isUnprocessed: code == .refusedStream && streams[id]?.hasHead == false)
    }

    /// Removes a stream. A stream that this side has reset keeps its code.
    func close(_ id: Int32, _ code: ErrorCode, isUnprocessed: Bool) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        sendingBodies.remove(id)
        pendingEvents.append(
            .closed(
                stream: id, code: stream.resetCode ?? code,
                isUnprocessed: isUnprocessed && (stream.resetCode == nil || !stream.isBegun)))
    }

    private func leave(lastStream: Int32, _ code: ErrorCode) {
        hasGoAway = true
        pendingEvents.append(.goAway(lastStream: lastStream, code: code))
        // nghttp2 closes the streams that it has sent. The others may be waiting for the limit of concurrent streams.
        for id in streams.filter({ !$0.value.isBegun }).keys.sorted() {
            close(id, .refusedStream, isUnprocessed: true)
        }
    }

    private func noteFailure(_ event: pulse_http2_event) {
        guard failure == nil else { return }
        let code = ErrorCode(rawValue: event.code)
        let text = event.count == 0 ? "a violation by the server" : String(decoding: event.content, as: UTF8.self)
        failure = Failure(code: code, text: text)
    }

    // MARK: Requests

    private func begin(_ id: Int32) {
        guard let stream = streams[id] else { return }
        stream.isBegun = true
        unsent.begin(id)
    }

    private func noteSent(_ event: pulse_http2_event) {
        // During an upload of any length, the server may send any number of WINDOW_UPDATE frames.
        if Int(event.type) == PULSE_HTTP2_TYPE_DATA, event.count > 0 { noteProgress() }
        if event.is_end { unsent.end(event.stream) }
    }

    private func readBody(of id: Int32, into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isEnd: Bool)? {
        guard let stream = streams[id] else { return nil }
        // A turn is one frame: nghttp2 1.67 and later would send one body to its end before starting the next.
        guard !isHoldingBodies, sendingBodies.count <= 1 || turns.insert(id).inserted else {
            heldBodies.append(id)
            return nil
        }
        defer { if stream.body.count == 0 { sendingBodies.remove(id) } }
        return stream.body.read(into: buffer)
    }
}

extension pulse_http2_event {
    fileprivate var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes, count: count) }
}
#endif
