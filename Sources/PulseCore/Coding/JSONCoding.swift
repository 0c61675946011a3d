// SPDX-License-Identifier: MIT

/// JSON through Foundation's decoder.
///
/// A decoder is made for each value: Foundation's class can be shared between threads from iOS 16 on only, and making
/// one costs a tenth of a small decode.
public struct JSONResponseDecoder: ResponseDecoder {
    private let configure: (@Sendable (JSONDecoder) -> Void)?

    public init(_ configure: (@Sendable (JSONDecoder) -> Void)? = nil) {
        self.configure = configure
    }

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

    /// JSON with strategies of one's own: `.json { $0.keyDecodingStrategy = .convertFromSnakeCase }`.
    public static func json(_ configure: @escaping @Sendable (JSONDecoder) -> Void) -> JSONResponseDecoder {
        JSONResponseDecoder(configure)
    }
}

/// JSON through Foundation's encoder, made for each value as in ``JSONResponseDecoder``.
public struct JSONRequestEncoder: RequestEncoder {
    private let configure: (@Sendable (JSONEncoder) -> Void)?

    public init(_ configure: (@Sendable (JSONEncoder) -> Void)? = nil) {
        self.configure = configure
    }

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

    /// JSON with strategies of one's own: `.json { $0.dateEncodingStrategy = .iso8601 }`.
    public static func json(_ configure: @escaping @Sendable (JSONEncoder) -> Void) -> JSONRequestEncoder {
        JSONRequestEncoder(configure)
    }
}
