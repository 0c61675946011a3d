// SPDX-License-Identifier: MIT

/// The body of a request. Each form sets `Content-Type` unless the endpoint names one.
public struct RequestBody: Sendable {
    package enum Content: Sendable {
        case none
        case json(any Encodable & Sendable)
        case form(@Sendable () throws -> String)
        case multipart(MultipartFormData)
        case data(Data)
        case file(URL)
        case stream(BodyStream)
    }

    package let content: Content
    /// The media type; nil leaves it to the encoder.
    package let contentType: String?

    private init(_ content: Content, contentType: String? = nil) {
        self.content = content
        self.contentType = contentType
    }

    /// No body.
    public static let none = RequestBody(.none)

    /// A value encoded by the call's ``RequestEncoder``, which is JSON unless another is configured.
    public static func json(_ value: some Encodable & Sendable) -> RequestBody {
        RequestBody(.json(value))
    }

    /// JSON written as a literal: `.json(["name": "Ada", "age": 36])`.
    public static func json(_ value: JSONValue) -> RequestBody {
        RequestBody(.json(value))
    }

    /// A value as `application/x-www-form-urlencoded` (WHATWG URL, section 5).
    public static func formURLEncoded(
        _ value: some Encodable & Sendable, using encoder: QueryEncoder = QueryEncoder()
    ) -> RequestBody {
        RequestBody(
            .form { QueryEncoder.formString(try encoder.items(from: value)) },
            contentType: "application/x-www-form-urlencoded")
    }

    /// Names and values as `application/x-www-form-urlencoded`, in their order and repeatable.
    public static func formURLEncoded(_ items: [URLQueryItem]) -> RequestBody {
        RequestBody(.form { QueryEncoder.formString(items) }, contentType: "application/x-www-form-urlencoded")
    }

    /// `multipart/form-data` (RFC 7578). Parts that are all data are sent as bytes; a file among them makes the body a
    /// stream, so that no file is loaded into memory.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        RequestBody(.multipart(form))
    }

    /// A GraphQL operation as JSON with `query` and, unless they are nil or empty, `variables`.
    public static func graphQL(query: String, variables: [String: JSONValue]? = nil) -> RequestBody {
        var operation: [String: JSONValue] = ["query": .string(query)]
        if let variables, !variables.isEmpty { operation["variables"] = .object(variables) }
        return RequestBody(.json(JSONValue.object(operation)))
    }

    /// Bytes, sent as they are.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody(.data(data), contentType: contentType)
    }

    /// Text in UTF-8, as `text/plain`.
    public static func text(_ text: String) -> RequestBody {
        RequestBody(.data(Data(text.utf8)), contentType: "text/plain; charset=utf-8")
    }

    /// A file, read while it is sent and never loaded into memory as a whole.
    public static func file(_ url: URL, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody(.file(url), contentType: contentType)
    }

    /// Bytes that are made while they are sent. `make` is called anew for every attempt.
    ///
    /// - Parameter length: the exact number of bytes, or nil if it is not known (the body is then sent chunked). A
    ///   stream of another length fails with ``PulseError/transport(_:underlying:)``: the server may have a part.
    /// - Parameter isOneShot: whether `make` works only once; the request is then never repeated.
    public static func stream(
        length: Int64? = nil, contentType: String = "application/octet-stream", isOneShot: Bool = false,
        make: @escaping @Sendable () async throws -> ByteStream
    ) -> RequestBody {
        RequestBody(.stream(BodyStream(length: length, isOneShot: isOneShot, make: make)), contentType: contentType)
    }

    /// Whether the body can be sent again: all can, except a stream marked one-shot.
    public var isReplayable: Bool {
        if case .stream(let stream) = content { return !stream.isOneShot }
        return true
    }
}

/// A request body whose bytes are made while it is sent.
public struct BodyStream: Sendable {
    /// The exact number of bytes, or nil if it is not known.
    public let length: Int64?
    /// Whether ``make`` works only once, so that the request is never repeated.
    public let isOneShot: Bool
    /// Makes the bytes; called anew for every attempt.
    public let make: @Sendable () async throws -> ByteStream

    /// Creates a body of `length` bytes, or of unknown length if that is nil. Set `isOneShot` if `make` works only
    /// once.
    public init(length: Int64?, isOneShot: Bool = false, make: @escaping @Sendable () async throws -> ByteStream) {
        self.length = length
        self.isOneShot = isOneShot
        self.make = make
    }
}

// Indirect: it is part of every context, and most requests have none.
/// A request body that is kept beside its `URLRequest`.
public indirect enum BodySource: Sendable {
    /// The body is in `URLRequest.httpBody`, or there is none.
    case inRequest
    /// The bytes of a file on disk.
    case file(URL)
    /// Bytes that are made while they are sent.
    case stream(BodyStream)

    /// Whether the body can be sent again: all can, except a stream marked one-shot.
    public var isReplayable: Bool {
        if case .stream(let stream) = self { return !stream.isOneShot }
        return true
    }
}
