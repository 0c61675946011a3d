// SPDX-License-Identifier: MIT

/// A decoder of JSON (RFC 8259) that uses Foundation's.
///
/// A new `JSONDecoder` is made for each value: the class can be shared between threads only from iOS 16 on, and making
/// one takes a tenth of the time of a small decode.
public struct JSONResponseDecoder: ResponseDecoder {
    private let configure: (@Sendable (JSONDecoder) -> Void)?

    /// Creates a decoder. `configure` sets its strategies; it is called for each value, on any thread.
    public init(_ configure: (@Sendable (JSONDecoder) -> Void)? = nil) {
        self.configure = configure
    }

    /// `application/json`
    public var contentType: String { "application/json" }

    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        let decoder = JSONDecoder()
        configure?(decoder)
        return try decoder.decode(type, from: data)
    }
}

extension ResponseDecoder where Self == JSONResponseDecoder {
    /// JSON with Foundation's defaults.
    public static var json: JSONResponseDecoder { JSONResponseDecoder() }

    /// JSON with strategies of your own: `.json { $0.keyDecodingStrategy = .convertFromSnakeCase }`.
    public static func json(_ configure: @escaping @Sendable (JSONDecoder) -> Void) -> JSONResponseDecoder {
        JSONResponseDecoder(configure)
    }
}

/// An encoder of JSON (RFC 8259) that uses Foundation's, made for each value as in ``JSONResponseDecoder``.
public struct JSONRequestEncoder: RequestEncoder {
    private let configure: (@Sendable (JSONEncoder) -> Void)?

    /// Creates an encoder. `configure` sets its strategies; it is called for each value, on any thread.
    public init(_ configure: (@Sendable (JSONEncoder) -> Void)? = nil) {
        self.configure = configure
    }

    /// `application/json`
    public var contentType: String { "application/json" }

    public func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        configure?(encoder)
        return try encoder.encode(value)
    }
}

extension RequestEncoder where Self == JSONRequestEncoder {
    /// JSON with Foundation's defaults.
    public static var json: JSONRequestEncoder { JSONRequestEncoder() }

    /// JSON with strategies of your own: `.json { $0.dateEncodingStrategy = .iso8601 }`.
    public static func json(_ configure: @escaping @Sendable (JSONEncoder) -> Void) -> JSONRequestEncoder {
        JSONRequestEncoder(configure)
    }
}
