// SPDX-License-Identifier: MIT

/// The body of a request. Each kind sets `Content-Type` unless the endpoint sets it.
public struct RequestBody: Sendable {
    package enum Content: Sendable {
        case none
        case json(any Encodable & Sendable)
        case encoded(@Sendable () throws -> Data)
        case multipart(MultipartFormData)
        case data(Data)
        case file(URL)
        case stream(Stream)
        case operation(any OperationContent)
    }

    package let content: Content
    /// The media type; nil if the encoder decides.
    package let contentType: String?

    private init(_ content: Content, contentType: String? = nil) {
        self.content = content
        self.contentType = contentType
    }

    /// No body.
    public static let none = RequestBody(.none)

    /// A value encoded by the call's ``RequestEncoder``, which is JSON unless configured otherwise.
    public static func json(_ value: some Encodable & Sendable) -> RequestBody {
        RequestBody(.json(value))
    }

    /// JSON written as a literal: `.json(["name": "Ada", "age": 36])`.
    public static func json(_ value: JSONValue) -> RequestBody {
        RequestBody(.json(value))
    }

    // Disfavored, so that it is the last choice for a literal.
    /// JSON of variables of different types: `.json(["name": name, "age": age])`. ``JSONValue/Literal`` has the rules.
    @_disfavoredOverload
    public static func json(_ literal: JSONValue.Literal) -> RequestBody {
        RequestBody(.json(literal))
    }

    /// A value as `application/x-www-form-urlencoded` (WHATWG URL, section 5).
    public static func formURLEncoded(
        _ value: some Encodable & Sendable, using encoder: QueryEncoder = QueryEncoder()
    ) -> RequestBody {
        .encoded(contentType: "application/x-www-form-urlencoded") {
            Data(QueryEncoder.formString(try encoder.items(from: value)).utf8)
        }
    }

    /// Names and values as `application/x-www-form-urlencoded`; they keep their order, and names may repeat.
    public static func formURLEncoded(_ items: [URLQueryItem]) -> RequestBody {
        .encoded(contentType: "application/x-www-form-urlencoded") { Data(QueryEncoder.formString(items).utf8) }
    }

    /// Bytes in a format other than JSON, such as Protobuf.
    ///
    /// `encode` runs when the request is built: once per call, so that retries, redirects and a stored request send the
    /// same bytes. It runs again when a request model compares bodies. A thrown error is wrapped in
    /// ``PulseError/encodingFailed(underlying:)``, before anything is sent; a ``PulseError`` is passed on unchanged.
    public static func encoded(
        contentType: String, _ encode: @escaping @Sendable () throws -> Data
    ) -> RequestBody {
        RequestBody(.encoded(encode), contentType: contentType)
    }

    /// `multipart/form-data` (RFC 7578). A form of data parts only is sent as bytes; a file part makes the body a
    /// stream, so that no file is loaded into memory.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        RequestBody(.multipart(form))
    }

    /// A form whose parts a closure appends: `.multipart { $0.append(image, name: "portrait", filename: "ada.png") }`.
    public static func multipart(_ build: (inout MultipartFormData) throws -> Void) rethrows -> RequestBody {
        .multipart(try MultipartFormData(build))
    }

    /// A GraphQL operation as JSON with `query` and, unless they are nil or empty, `variables`.
    public static func graphQL(query: String, variables: [String: JSONValue]? = nil) -> RequestBody {
        var operation: [String: JSONValue] = ["query": .string(query)]
        if let variables, !variables.isEmpty { operation["variables"] = .object(variables) }
        return RequestBody(.json(JSONValue.object(operation)))
    }

    /// An operation, which the client turns into the other parts of the request as well.
    package static func operation(_ operation: any OperationContent) -> RequestBody {
        RequestBody(.operation(operation))
    }

    /// Bytes, sent unchanged.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody(.data(data), contentType: contentType)
    }

    /// Text in UTF-8, as `text/plain`.
    public static func text(_ text: String) -> RequestBody {
        RequestBody(.data(Data(text.utf8)), contentType: "text/plain; charset=utf-8")
    }

    /// A file that is read while it is sent and never loaded into memory as a whole.
    public static func file(_ url: URL, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody(.file(url), contentType: contentType)
    }

    /// Bytes that are produced while they are sent. `make` is called again for every attempt.
    ///
    /// - Parameter length: the exact number of bytes, or nil if it is not known (the body is then sent chunked). A
    ///   stream of another length fails with ``PulseError/transport(_:underlying:)``: the server may have received a
    ///   part.
    /// - Parameter isOneShot: whether `make` works only once; the request is then never resent.
    public static func stream(
        length: Int64? = nil, contentType: String = "application/octet-stream", isOneShot: Bool = false,
        make: @escaping @Sendable () async throws -> ByteStream
    ) -> RequestBody {
        RequestBody(.stream(Stream(length: length, isOneShot: isOneShot, make: make)), contentType: contentType)
    }

    /// Whether the body can be resent: false only for a one-shot stream.
    public var isReplayable: Bool {
        if case .stream(let stream) = content { return !stream.isOneShot }
        return true
    }
}

/// The content of a request that is more than its body, such as a GraphQL operation.
package protocol OperationContent: Sendable {}

extension RequestBody {
    /// A request body whose bytes are produced while it is sent.
    public struct Stream: Sendable {
        /// The exact number of bytes, or nil if it is not known.
        public let length: Int64?
        /// Whether ``make`` works only once, so that the request is never resent.
        public let isOneShot: Bool
        /// Produces the bytes; called again for every attempt.
        public let make: @Sendable () async throws -> ByteStream

        /// Creates a body of `length` bytes, or of unknown length if that is nil. Set `isOneShot` if `make` works only
        /// once.
        public init(length: Int64?, isOneShot: Bool = false, make: @escaping @Sendable () async throws -> ByteStream) {
            self.length = length
            self.isOneShot = isOneShot
            self.make = make
        }
    }
}
