// SPDX-License-Identifier: MIT

/// The response to a request: status, headers, and a ``Body-swift.enum`` that is buffered, streamed, in a file, or a
/// connection.
///
/// A value with cheap copies; all copies share one stream or connection.
public struct PulseResponse: Sendable {
    /// Where a response came from.
    public enum Origin: String, Sendable, Hashable {
        /// The server's response to this request.
        case network
        /// A stored response of the cache that is still fresh.
        case cache
        /// A stored response that the server has just validated.
        case revalidated
        /// A stale stored response, which the caching rules or the call's options allow.
        case stale
        /// The response to an identical request of another call.
        case coalesced
        /// A response of a mock transport.
        case mock
    }

    /// One followed redirect: its status and its target URL.
    public struct Redirect: Sendable, Hashable {
        /// The 3xx status of the redirect.
        public let statusCode: Int
        /// The target URL of the redirect.
        public let url: URL

        /// Creates an entry of ``PulseResponse/redirects``.
        public init(statusCode: Int, url: URL) {
            self.statusCode = statusCode
            self.url = url
        }
    }

    /// The maximum size in bytes of an error's body that a stream or a download returns; a longer one is truncated.
    package static let errorBodyLimit = 64 << 10

    private struct Values: Sendable {
        var statusCode: Int
        var headers: HTTPHeaders
        var trailers = HTTPHeaders()
        /// The trailers of a stream that has moved to another owner.
        var trailersAtEnd: (@Sendable () -> HTTPHeaders)?
        var request: URLRequest
        var latency: TimeInterval
        var origin: Origin
        var timings: Timings?
        var isTruncated = false
        var isDecoded = false
        var marks: Marks?
        var redirects: [Redirect] = []
        var foundationResponse: HTTPURLResponse?
    }

    private final class Box: Sendable {
        let values: Values

        init(_ values: Values) {
            self.values = values
        }
    }

    /// Boxed, since a response passes through every plugin: a copy is one reference, and a change makes a new box.
    private var box: Box

    // Outside the box, so that it can be changed in place.
    /// The body. ``data``, ``bytes``, ``file`` and ``connection`` are its forms.
    public var body: Body

    private var values: Values {
        get { box.values }
        set { box = Box(newValue) }
    }

    /// Creates a response with a buffered body. `latency` is in seconds.
    public init(
        statusCode: Int,
        headers: HTTPHeaders = HTTPHeaders(),
        data: Data = Data(),
        request: URLRequest,
        latency: TimeInterval = 0,
        origin: Origin = .network
    ) {
        box = Box(
            Values(statusCode: statusCode, headers: headers, request: request, latency: latency, origin: origin))
        body = .buffered(data)
    }

    /// Creates a response from a transport that measures its transfers.
    package init(
        statusCode: Int, headers: HTTPHeaders, data: Data, request: URLRequest, timings: Timings?,
        isTruncated: Bool
    ) {
        box = Box(
            Values(
                statusCode: statusCode, headers: headers, request: request, latency: 0, origin: .network,
                timings: timings, isTruncated: isTruncated))
        body = .buffered(data)
    }

    /// Creates a response from Foundation's types. Repeated headers are joined, as Foundation returns them. `latency`
    /// is in seconds.
    public init(
        data: Data = Data(), httpResponse: HTTPURLResponse, request: URLRequest, latency: TimeInterval = 0
    ) {
        self.init(
            statusCode: httpResponse.statusCode, headers: HTTPHeaders(httpResponse: httpResponse), data: data,
            request: request, latency: latency)
        values.foundationResponse = httpResponse
    }

    /// The status (RFC 9110, section 15).
    public var statusCode: Int {
        get { box.values.statusCode }
        set { values.statusCode = newValue }
    }

    /// The header fields.
    public var headers: HTTPHeaders {
        get { box.values.headers }
        set { values.headers = newValue }
    }

    /// The trailer fields, which a server sends after a body (RFC 9110, section 6.5), such as a checksum or the status
    /// of gRPC. Empty if there are none, and for a stream until it was read to its end.
    ///
    /// They are never merged into ``headers``. The default transport on Linux delivers them; `URLSession`, the cache
    /// and recordings discard them. A mock sets those of a buffered body.
    public var trailers: HTTPHeaders {
        get { (bytes?.trailersAtEnd ?? box.values.trailersAtEnd)?() ?? box.values.trailers }
        set { if !newValue.isEmpty || !box.values.trailers.isEmpty { values.trailers = newValue } }
    }

    /// Empties the body of a response whose stream has moved to another owner. ``trailers`` stay those of the stream.
    package mutating func removeStream() {
        guard let trailersAtEnd = bytes?.trailersAtEnd else { return data = Data() }
        values.trailersAtEnd = trailersAtEnd
        data = Data()
    }

    /// The request as sent.
    public var request: URLRequest {
        get { box.values.request }
        set { values.request = newValue }
    }

    /// The seconds from handing the request to the transport until the response arrived.
    public var latency: TimeInterval {
        get { box.values.latency }
        set { values.latency = newValue }
    }

    /// Where the response came from.
    public var origin: Origin {
        get { box.values.origin }
        set { values.origin = newValue }
    }

    /// When the phases of the transfer ended; nil if the transport measures nothing.
    public var timings: Timings? {
        get { box.values.timings }
        set { values.timings = newValue }
    }

    /// Whether the body was truncated. In a stream or download, the body of an error status is cut after 64 KiB.
    public var isTruncated: Bool {
        get { box.values.isTruncated }
        set { values.isTruncated = newValue }
    }

    /// Whether the transport removed a content coding. The header fields that describe the coded body are then removed
    /// too, and the body's length differs from the length on the server.
    package var isDecoded: Bool {
        get { box.values.isDecoded }
        set { values.isDecoded = newValue }
    }

    /// The settings that a response keeps of the call that received it.
    package final class Marks: Sendable {
        fileprivate let decoder: (any ResponseDecoder)?
        fileprivate let redaction: Redaction

        private init(_ decoder: (any ResponseDecoder)?, _ redaction: Redaction) {
            (self.decoder, self.redaction) = (decoder, redaction)
        }

        /// Returns nil for JSON with Foundation's defaults and the standard redaction, which a response without marks
        /// uses. Most calls have no marks, and each of their plugins checks for them.
        package static func of(decoder: (any ResponseDecoder)? = nil, redaction: Redaction) -> Marks? {
            decoder == nil && !redaction.hasOwnNames ? nil : Marks(decoder, redaction)
        }

        /// Adds these marks to those of a response, where it has none.
        func filling(_ marks: Marks?) -> Marks {
            guard let marks else { return self }
            let (lacksDecoder, lacksNames) = (marks.decoder == nil, !marks.redaction.hasOwnNames)
            guard lacksDecoder && decoder != nil || lacksNames && redaction.hasOwnNames else { return marks }
            return Marks(lacksDecoder ? decoder : marks.decoder, lacksNames ? redaction : marks.redaction)
        }
    }

    package var marks: Marks? {
        get { box.values.marks }
        set { if newValue !== box.values.marks { values.marks = newValue } }
    }

    /// The decoder of the call that received the response; nil for JSON with Foundation's defaults.
    package var decoder: (any ResponseDecoder)? { box.values.marks?.decoder }

    /// The rules that mask the texts of the response and of its errors: those of the client that received it.
    package var redaction: Redaction { box.values.marks?.redaction ?? .standard }

    /// The redirects that led to this response, in order.
    public var redirects: [Redirect] {
        get { box.values.redirects }
        set { values.redirects = newValue }
    }

    /// The response as Foundation's type: the one it was created from, else one made from ``statusCode`` and
    /// ``headers``, which takes about 10 µs. Nil if Foundation refuses the values.
    public var httpResponse: HTTPURLResponse? {
        if let response = box.values.foundationResponse { return response }
        guard let url = request.url else { return nil }
        return HTTPURLResponse(
            url: url, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: headers.dictionary)
    }

    /// Decodes ``data`` as `type` with the decoder of the call that received the response, also for error bodies. A
    /// response that no client received, such as that of a test, is decoded as JSON with Foundation's defaults.
    ///
    /// Throws ``PulseError/decodingFailed(type:underlying:)``, or ``PulseError/emptyBody`` if there are no bytes to
    /// decode, or the error in ``Body-swift.enum/failed(_:)``.
    public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try decode(type, using: decoder ?? .json)
    }

    /// Decodes ``data`` as `type` with that decoder. Errors are those of ``decode(_:)``.
    public func decode<Value: Decodable>(_ type: Value.Type, using decoder: any ResponseDecoder) throws -> Value {
        if case .failed(let error) = body { throw error }
        do {
            return try decoder.decode(type, from: data)
        } catch {
            let error = PulseError(decoding: type, error, of: self, as: decoder.contentType)
            // Not checked before decoding: in some formats an empty body is a valid value.
            throw error.kind == .decodingFailed && data.isEmpty ? .emptyBody : error
        }
    }
}

extension PulseResponse {
    /// The body as a stream. A cache, a mock transport or an accepted error status has its bytes in memory.
    package var stream: ByteStream {
        switch body {
        case .stream(let stream): stream
        case .buffered(let data): ByteStream(data.isEmpty ? [] : [data])
        case .file, .connection: ByteStream([])
        case .failed(let error): ByteStream { throw error }
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
        // Foundation keeps the fields in a dictionary; sorting makes their order deterministic.
        self.init(fields.sorted { $0.name < $1.name })
    }
}

extension PulseError {
    /// Creates the error for a failed decode: ``decodingFailed(type:underlying:)``, or the decoder's own error if it is
    /// already a `PulseError`.
    ///
    /// - Parameter response: the response, which the error's text describes.
    /// - Parameter contentType: the media type that the decoder reads.
    /// - Parameter element: the part of a stream that was decoded, for the text; nil for a whole body.
    @usableFromInline
    package init(
        decoding type: Any.Type, _ error: any Error, of response: PulseResponse, as contentType: String?,
        element: String? = nil
    ) {
        if let error = error as? PulseError {
            self = error
            return
        }
        let underlying = (error as? DecodingError)?.noting(response, expected: contentType, element) ?? error
        self = .decodingFailed(type: String(describing: type), underlying: underlying)
    }
}

extension PulseResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status, method, redacted URL, and kind and size of the body, never a header or the body itself.
    public var description: String {
        let url = request.url.map { redaction.url($0) } ?? "(no URL)"
        return "\(statusCode) for \(request.httpMethod ?? "GET") \(url), \(body)"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension PulseResponse.Redirect: CustomStringConvertible, CustomReflectable {
    /// The status and the redacted URL.
    public var description: String { "\(statusCode) to \(Redaction.standard.url(url))" }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
