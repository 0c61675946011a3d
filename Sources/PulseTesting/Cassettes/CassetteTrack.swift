// SPDX-License-Identifier: MIT

import PulseCore
internal import PulseObservability

/// One entry of a cassette, prepared for comparison and playback.
struct CassetteTrack: Sendable {
    private static let notKept = "not kept"

    let method: String
    let url: String
    let address: CassetteAddress
    /// The body to match; nil if any body matches.
    let body: CassetteBody?
    private let entry: HARDocument.Entry

    /// Masks the entry like a request, because a recording by another program may contain secrets.
    init(_ entry: HARDocument.Entry, _ redaction: Redaction) {
        self.entry = entry
        method = entry.request.method
        url = HARDocument.url(redaction.url(entry.request.url))
        address = CassetteAddress(url)
        body = CassetteBody(entry.request, redaction)
    }

    /// Whether the body of the request was a file, a stream, or not text.
    var hasOnlySizeOfBody: Bool { body?.isSize ?? true }

    /// The request as a stub sees it: without file and stream bodies.
    var requestForStubs: CassetteRequest {
        let hidden: [PulseRecording.Body.Omission] = [.file, .stream]
        let isHidden = hidden.contains { entry.request.postData?.comment == "\(Self.notKept): \($0.rawValue)" }
        let kept = body?.recorded ?? PulseRecording.Body(.omitted(.binary))
        return CassetteRequest(method: method, url: url, address: address, body: isHidden ? .none : kept)
    }

    /// The reason why a request does not match the recorded one; nil if it does.
    func mismatch(_ request: CassetteRequest, _ matching: Cassette.Matching) -> String? {
        StepCount.add()
        guard method == request.method else { return "the method is \(request.method)" }
        if let difference = request.address.difference(from: address, matching) { return difference }
        if matching.contains(.body), let body, !body.isLike(request) { return "the body is another" }
        return nil
    }

    /// The recorded response; throws the recorded failure.
    func play(_ request: URLRequest) throws -> PulseResponse {
        guard entry.response.status > 0 else {
            throw entry._error.map { failure($0) } ?? TransportFailure(code: .badServerResponse, phase: .maybeSent)
        }
        var response = PulseResponse(
            statusCode: entry.response.status, headers: headers, data: try content(), request: request,
            latency: (entry.time ?? 0).finite / 1000, origin: .mock)
        response.isTruncated = entry.response.content?.comment == "cut"
        if let error = entry._error {
            // The recorded response was incomplete, so the played one is too.
            response.body = .stream(.broken(after: response.data, failure(error)))
        }
        return response
    }

    private var headers: HTTPHeaders {
        // Browsers include the pseudo-headers of HTTP/2.
        let fields = (entry.response.headers ?? []).filter { $0.name.isHTTPToken }
        var headers = HTTPHeaders(fields.map { HTTPHeaders.Field(name: $0.name, value: $0.value) })
        guard method != "HEAD" else { return headers }
        // These headers describe the bytes on the wire; the recorded body is decoded.
        for name in ["Content-Encoding", "Content-Length", "Transfer-Encoding"] { headers.remove(name) }
        return headers
    }

    /// The complete body. Throws ``RecordedFailure`` if only a part was kept, because no client received such a
    /// response.
    private func content() throws -> Data {
        guard let content = entry.response.content else { return Data() }
        if let comment = content.comment, comment.hasPrefix(Self.notKept) { throw missingBody(comment) }
        // Truncated by the recorder. The body of a failed response may be truncated for every caller.
        if content.comment == "cut", entry._pulse != nil, entry._error == nil, 200..<300 ~= entry.response.status {
            throw missingBody("only its beginning was kept")
        }
        guard let text = content.text else {
            // Browsers write the size of bodies that they no longer have.
            let status = entry.response.status
            let hasBody = method != "HEAD" && status != 204 && !(300..<400 ~= status)
            if hasBody, content.size ?? 0 > 0 { throw missingBody("only its size was kept") }
            return Data()
        }
        guard content.encoding?.equalsIgnoringASCIICase("base64") == true else { return Data(text.utf8) }
        guard let data = Data(base64Encoded: text.filter { !$0.isWhitespace }) else {
            throw missingBody("it is not base64")
        }
        return data
    }

    private func missingBody(_ reason: String) -> RecordedFailure {
        RecordedFailure(description: "the body of \(method) \(url) is not on the cassette: \(reason)")
    }

    private func failure(_ recorded: HARDocument.Failure) -> any Error {
        let cause = RecordedFailure(description: recorded.message)
        guard let code = recorded.code else { return refusal(recorded) ?? cause }
        let phases: [PulseError.Phase] = [.beforeSend, .maybeSent, .responseStarted]
        return TransportFailure(
            // Foundation's initializer is optional on Linux only.
            code: [code].compactMap(URLError.Code.init(rawValue:)).first ?? .unknown,
            phase: phases.first { "\($0)" == recorded.phase } ?? .maybeSent, underlying: cause)
    }

    /// The error of a request that a transport refused; nil for other failures.
    private func refusal(_ recorded: HARDocument.Failure) -> PulseError? {
        // The text of the kind is not repeated.
        let reason = recorded.message.range(of: ": ").map { String(recorded.message[$0.upperBound...]) }
        switch PulseError.Kind(rawValue: recorded.kind) {
        case .sslPinningFailed: return .sslPinningFailed(host: URL(string: url)?.host ?? "")
        case .proxyRefused: return .proxyRefused(PulseError.ProxyRefusal(proxy: nil, reason: .unknown))
        case .responseTooLarge: return recorded.limit.map { .responseTooLarge(limit: $0) }
        case .unsupported: return .unsupported(reason ?? recorded.message)
        case .invalidRequest: return .invalidRequest(reason: reason ?? recorded.message)
        default: return nil
        }
    }
}

extension ByteStream {
    /// A stream of these bytes that ends with the failure.
    fileprivate static func broken(after data: Data, _ failure: any Error) -> ByteStream {
        let rest = Locked(data.isEmpty ? nil : data)
        return ByteStream {
            let chunk = rest.withLock { rest in
                defer { rest = nil }
                return rest
            }
            guard let chunk else { throw failure }
            return chunk
        }
    }
}

/// The failure that a cassette plays.
struct RecordedFailure: Error, Sendable, CustomStringConvertible, LocalizedError {
    let description: String

    var errorDescription: String? { description }
}
