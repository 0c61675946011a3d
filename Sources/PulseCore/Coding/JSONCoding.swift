// SPDX-License-Identifier: MIT

/// A decoder of JSON (RFC 8259) that uses Foundation's: one for all values, or on systems before iOS 16 and macOS 13,
/// where threads cannot share it, a new one for each.
public struct JSONResponseDecoder: ResponseDecoder {
    private static let plain = Source { JSONDecoder() }

    private let source: Source<JSONDecoder>

    /// Creates a decoder. `configure` sets its strategies; it is called at once, or for each value, on any thread.
    /// What it puts in is used by several threads at a time.
    public init(_ configure: (@Sendable (JSONDecoder) -> Void)? = nil) {
        guard let configure else {
            source = Self.plain
            return
        }
        source = Source {
            let decoder = JSONDecoder()
            configure(decoder)
            return decoder
        }
    }

    /// `application/json`
    public var contentType: String { "application/json" }

    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        let coder = source.coder
        if let value = try Self.tree(type, data, coder) { return value }
        return try JSONOutline.with(data, coder) { try coder.decode(type, from: data) }
    }
}

extension JSONResponseDecoder {
    /// A ``JSONValue``, which no strategy touches; nil for another type, and for texts that are not quite JSON.
    private static func tree<Value>(_ type: Value.Type, _ data: Data, _ coder: JSONDecoder) throws -> Value? {
        guard type == JSONValue.self, !coder.allowsJSON5, !coder.assumesTopLevelDictionary else { return nil }
        return try JSONParser.value(of: data) as? Value
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
    private static let plain = Source { JSONEncoder() }

    private let source: Source<JSONEncoder>

    /// Creates an encoder. `configure` sets its strategies; it is called at once, or for each value, on any thread.
    /// What it puts in is used by several threads at a time.
    public init(_ configure: (@Sendable (JSONEncoder) -> Void)? = nil) {
        guard let configure else {
            source = Self.plain
            return
        }
        source = Source {
            let encoder = JSONEncoder()
            configure(encoder)
            return encoder
        }
    }

    /// `application/json`
    public var contentType: String { "application/json" }

    public func encode(_ value: some Encodable) throws -> Data {
        try source.coder.encode(value)
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

/// Gives a coder of Foundation's: the same one to all threads, where they can share it.
private struct Source<Coder: AnyObject>: @unchecked Sendable {
    // Unchecked: there is a shared one only where its class is thread-safe, and nobody changes it once it is made.
    private let shared: Coder?
    private let make: @Sendable () -> Coder

    init(_ make: @escaping @Sendable () -> Coder) {
        self.make = make
        if #available(iOS 16, macOS 13, tvOS 16, watchOS 9, *) {  // newer: thread-safe coders
            shared = make()
        } else {
            shared = nil
        }
    }

    var coder: Coder { shared ?? make() }
}
