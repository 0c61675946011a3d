// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The sending side of a transfer: how often its request was sent and over which connection, and the body that libcurl
/// reads.
struct CurlUpload: Sendable {
    var sendCount = 0
    /// Whether the connection is reused, and whether it is multiplexed.
    var isReused = false
    var isMultiplexed = false
    /// Whether libcurl's log says that the server refused to process the request, or that it requires HTTP/1.1 for it.
    var isRefused = false
    var isDowngraded = false
    private var offset = 0
    /// When libcurl got the last byte of the body.
    private(set) var endedAt: TimeInterval?
    /// Whether libcurl waits for the body's pipe.
    var isPaused = false
    /// The number of sent bytes at the last check.
    private var lastCount: Int64 = 0

    /// Copies bytes of the body into the buffer. Returns their count to libcurl. Throws the error of a failed body.
    ///
    /// - Parameter resume: gets the waiting writer of a pipe that has room again.
    mutating func fill(
        _ buffer: UnsafeMutableRawBufferPointer, from body: CurlRequest.Body, now: TimeInterval,
        resume: (BytePipe.Resumption) -> Void
    ) throws -> Int {
        switch body {
        case .none:
            return 0
        case .bytes(let data):
            let count = min(buffer.count, data.count - offset)
            let start = data.startIndex + offset
            data.copyBytes(to: buffer, from: start..<start + count)
            offset += count
            if offset == data.count { endedAt = now }
            return count
        case .pipe(let pipe, let length):
            switch pipe.take(into: buffer, resume: resume) {
            case .bytes(let count):
                offset += count
                if let length, offset >= length { endedAt = now }
                return count
            case .nothingYet:
                isPaused = true
                return Int(PULSE_CURL_READFUNC_PAUSE)
            case .end:
                endedAt = now
                return 0
            case .failed(let error):
                throw error
            }
        }
    }

    /// Fills the buffer with bytes that are discarded, on a connection that accepts no more. libcurl reads the response
    /// only after it has sent the declared length, and never ends after more.
    ///
    /// - Parameter length: of the body; `Int64.max` if unknown.
    mutating func fillDiscarded(_ buffer: UnsafeMutableRawBufferPointer, of length: Int64) -> Int {
        guard length < .max else { return 0 }
        let count = min(buffer.count, max(0, Int(length) - offset))
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        offset += count
        return count
    }

    /// Seeks in the body before libcurl sends it again.
    mutating func seek(to target: Int64, in body: CurlRequest.Body) -> Bool {
        switch body {
        case .none: return target == 0
        case .bytes(let data):
            guard target >= 0, target <= data.count else { return false }
            offset = Int(target)
            return true
        case .pipe: return target == Int64(offset)
        }
    }

    /// Whether bytes of the body were sent since the last check, which is a sign of activity. A body that is complete
    /// at the first check was sent with the request, which is no activity of that moment.
    mutating func moves(to count: Int64, of length: Int64) -> Bool {
        defer { lastCount = count }
        return count != lastCount && (count < length || lastCount > 0)
    }

    // MARK: Losses

    /// How a request was lost that was sent and got no response byte.
    enum Loss {
        /// The reused connection ended.
        case stale
        /// An HTTP/2 server reported that it did not process the request.
        case refused
        /// The same, because the server requires HTTP/1.1.
        case downgraded
        /// A new connection ended, or the server reported an error.
        case other
    }

    /// Reads a line of the log about the request's stream.
    mutating func note(_ line: String) {
        if line.contains("refused by server") { isRefused = true }
        if line.contains("HTTP_1_1_REQUIRED") { isDowngraded = true }
    }

    /// Interprets the results, texts and behavior of libcurl 7.88, and those of 8.19 and later.
    ///
    /// - Parameter text: of this transfer: libcurl clears it at the start and keeps the first one.
    /// - Parameter isLogged: whether the log tells each refusal, as ``CurlLibrary/logsRefusals`` says.
    func loss(_ result: Int32, _ text: String, isLogged: Bool = false) -> Loss {
        if isRefused { return .refused }
        if isDowngraded || text.contains("HTTP_1_1_REQUIRED") { return .downgraded }
        switch Int(result) {
        case PULSE_CURLE_SEND_FAIL_REWIND where isLogged:
            return isReused ? .stale : .other
        case PULSE_CURLE_SEND_FAIL_REWIND:
            // On a new connection libcurl resends only for these two reasons.
            guard isReused else { return text.isEmpty ? .refused : .downgraded }
            // Each end of an HTTP/2 connection has a text; a refusal has none.
            return isMultiplexed && (text.isEmpty || text.contains("refused by server")) ? .refused : .stale
        case PULSE_CURLE_HTTP2 where isLogged:
            return isReused && text.isEmpty ? .stale : .other
        case PULSE_CURLE_HTTP2:
            // A GOAWAY that excludes the stream.
            return isMultiplexed && text.isEmpty ? .refused : .other
        case PULSE_CURLE_HTTP2_STREAM:
            if text.contains("REFUSED_STREAM") { return .refused }
            return isReused && text.contains("before end of the underlying stream") ? .stale : .other
        case PULSE_CURLE_PARTIAL_FILE, PULSE_CURLE_GOT_NOTHING, PULSE_CURLE_SEND_ERROR, PULSE_CURLE_RECV_ERROR:
            return isReused ? .stale : .other
        default:
            return .other
        }
    }
}
#endif
