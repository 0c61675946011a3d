// SPDX-License-Identifier: MIT

/// A decoder of JSON (RFC 8259) that uses Foundation's: one for all values, or on systems before iOS 16 and macOS 13,
/// where threads cannot share it, a new one for each.
public struct JSONResponseDecoder: ResponseDecoder {
    private static let plain = Shared { JSONDecoder() }

    private let configure: (@Sendable (JSONDecoder) -> Void)?
    private let shared: Shared<JSONDecoder>?

    /// Creates a decoder. `configure` sets its strategies; it is called at once, or for each value, on any thread.
    /// What it puts in is used by several threads at a time.
    public init(_ configure: (@Sendable (JSONDecoder) -> Void)? = nil) {
        self.configure = configure
        shared = configure == nil ? Self.plain : Shared { Self.decoder(configure) }
    }

    private static func decoder(_ configure: ((JSONDecoder) -> Void)?) -> JSONDecoder {
        let decoder = JSONDecoder()
        configure?(decoder)
        return decoder
    }

    /// `application/json`
    public var contentType: String { "application/json" }

    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try (shared?.coder ?? Self.decoder(configure)).decode(type, from: data)
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

/// An encoder of JSON (RFC 8259) that uses Foundation's, which is shared as in ``JSONResponseDecoder``.
public struct JSONRequestEncoder: RequestEncoder {
    private static let plain = Shared { JSONEncoder() }

    private let configure: (@Sendable (JSONEncoder) -> Void)?
    private let shared: Shared<JSONEncoder>?

    /// Creates an encoder. `configure` sets its strategies; it is called at once, or for each value, on any thread.
    /// What it puts in is used by several threads at a time.
    public init(_ configure: (@Sendable (JSONEncoder) -> Void)? = nil) {
        self.configure = configure
        shared = configure == nil ? Self.plain : Shared { Self.encoder(configure) }
    }

    private static func encoder(_ configure: ((JSONEncoder) -> Void)?) -> JSONEncoder {
        let encoder = JSONEncoder()
        configure?(encoder)
        return encoder
    }

    /// `application/json`
    public var contentType: String { "application/json" }

    public func encode(_ value: some Encodable) throws -> Data {
        try (shared?.coder ?? Self.encoder(configure)).encode(value)
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

/// A coder of Foundation's that all threads share.
private struct Shared<Coder: AnyObject>: @unchecked Sendable {
    // Unchecked: there is one only where its class is thread-safe, and nobody changes it once it is made.
    let coder: Coder

    /// Nil where threads cannot share it.
    init?(_ make: () -> Coder) {
        guard #available(iOS 16, macOS 13, tvOS 16, watchOS 9, *) else { return nil }  // newer: thread-safe coders
        coder = make()
    }
}
