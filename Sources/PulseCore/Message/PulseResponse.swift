// SPDX-License-Identifier: MIT

/// An answer: status, headers, and a body that is buffered, streamed or in a file.
public struct PulseResponse: Sendable {
    /// Where an answer came from.
    public enum Origin: String, Sendable, Hashable {
        case network
        /// A fresh answer of the cache.
        case cache
        /// A stored answer that the server has just confirmed.
        case revalidated
        /// A stored answer past its lifetime, served because that is allowed.
        case stale
        /// The answer to another call's identical request.
        case coalesced
        /// A mock transport's.
        case mock
    }

    /// One followed redirect: the status that asked for it and the URL that it led to.
    public struct Redirect: Sendable, Hashable {
        public let statusCode: Int
        public let url: URL

        public init(statusCode: Int, url: URL) {
            self.statusCode = statusCode
            self.url = url
        }
    }

    public var statusCode: Int
    public var headers: HTTPHeaders
    /// The buffered body; empty for a streamed or downloaded one.
    public var data: Data
    /// The request as it was sent.
    public var request: URLRequest
    /// Seconds from handing the request to the transport until the answer was there.
    public var latency: TimeInterval
    public var timings: TransferTimings?
    /// The body of a streamed answer.
    public var bytes: ByteStream?
    /// The body of a downloaded answer.
    public var file: URL?
    /// The body was cut, as that of an error status is at 64 KiB in a stream or download.
    public var isTruncated: Bool
    public var origin: Origin
    /// The redirects that led here, in order.
    public var redirects: [Redirect]

    private let foundationResponse: HTTPURLResponse?

    public init(
        statusCode: Int,
        headers: HTTPHeaders = HTTPHeaders(),
        data: Data = Data(),
        request: URLRequest,
        latency: TimeInterval = 0,
        origin: Origin = .network
    ) {
        self.statusCode = statusCode
        self.headers = headers
        self.data = data
        self.request = request
        self.latency = latency
        self.origin = origin
        isTruncated = false
        redirects = []
        foundationResponse = nil
    }

    /// An answer made of Foundation's parts. Repeated headers come joined, as Foundation hands them out.
    public init(
        data: Data = Data(), httpResponse: HTTPURLResponse, request: URLRequest, latency: TimeInterval = 0
    ) {
        statusCode = httpResponse.statusCode
        headers = HTTPHeaders(httpResponse: httpResponse)
        self.data = data
        self.request = request
        self.latency = latency
        origin = .network
        isTruncated = false
        redirects = []
        foundationResponse = httpResponse
    }

    /// Foundation's view of this answer, made when asked for, which costs some 10 µs; nil if Foundation refuses the
    /// parts. It shows the status and headers as they arrived.
    public var httpResponse: HTTPURLResponse? {
        if let foundationResponse { return foundationResponse }
        guard let url = request.url else { return nil }
        return HTTPURLResponse(
            url: url, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: headers.dictionary)
    }

    /// The body as `type`; for error bodies too. Throws ``PulseError/decodingFailed(type:underlying:)``.
    public func decode<Value: Decodable>(
        _ type: Value.Type, using decoder: any ResponseDecoder = .json
    ) throws -> Value {
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw PulseError(decoding: type, error)
        }
    }
}

extension HTTPHeaders {
    package init(httpResponse: HTTPURLResponse) {
        var fields: [Field] = []
        fields.reserveCapacity(httpResponse.allHeaderFields.count)
        for (name, value) in httpResponse.allHeaderFields {
            guard let name = name as? String else { continue }
            fields.append(Field(name: name, value: value as? String ?? String(describing: value)))
        }
        // Foundation keeps them in a dictionary: by name is the one order that is the same every time.
        self.init(fields.sorted { $0.name < $1.name })
    }
}

extension PulseError {
    /// A decoder's error as ``decodingFailed(type:underlying:)``, or unchanged if it is a PulseError already.
    package init(decoding type: Any.Type, _ error: any Error) {
        self = error as? PulseError ?? .decodingFailed(type: String(describing: type), underlying: error)
    }
}

extension PulseResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Status, method, redacted URL and size; never a header or the body.
    public var description: String {
        let url = request.url.map { Redaction.standard.url($0) } ?? "(no URL)"
        return "\(statusCode) for \(request.httpMethod ?? "GET") \(url), \(data.count) bytes"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
