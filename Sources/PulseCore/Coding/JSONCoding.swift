// SPDX-License-Identifier: MIT

/// A JSON decoder (RFC 8259) based on Foundation's. All values share one `JSONDecoder`; before iOS 16 and macOS 13,
/// where threads cannot share it, each value gets a new one.
///
/// ```swift
/// configuration.decoder = .json { $0.keyDecodingStrategy = .convertFromSnakeCase }
/// ```
///
/// Like Foundation on Linux, it also accepts a comma after the last element or member, `[1,]`, which is not JSON.
public struct JSONResponseDecoder: ResponseDecoder {
    private static let plain = Source { JSONDecoder() }

    private let source: Source<JSONDecoder>

    /// Creates a decoder. `configure` sets its strategies. It is called once now, or for each value on any thread.
    /// Several threads use the objects that it sets at the same time. JSON5 must be UTF-8.
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
        // Foundation's JSON5 reader traps on names that are not UTF-8.
        guard !coder.allowsJSON5 || String(data: data, encoding: .utf8) != nil else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "The text is not UTF-8."))
        }
        if let value = try Self.tree(type, data, coder) { return value }
        return try JSONOutline.with(data, coder) { try coder.decode(type, from: data) }
    }
}

extension JSONResponseDecoder {
    /// Whether the decoder has Foundation's defaults. False on systems where threads cannot share a decoder.
    fileprivate var isPlain: Bool { source.isShared(with: Self.plain) }

    /// A ``JSONValue``, which no strategy changes; nil for another type, and if the decoder accepts more than strict
    /// JSON.
    private static func tree<Value>(_ type: Value.Type, _ data: Data, _ coder: JSONDecoder) throws -> Value? {
        guard type == JSONValue.self, !coder.allowsJSON5, !coder.assumesTopLevelDictionary else { return nil }
        return try JSONParser.value(of: data) as? Value
    }
}

extension ResponseDecoder {
    /// The decoder that a response stores: nil for JSON with Foundation's defaults, which saves a copy.
    package var unlessPlainJSON: (any ResponseDecoder)? {
        (self as? JSONResponseDecoder)?.isPlain == true ? nil : self
    }
}

extension ResponseDecoder where Self == JSONResponseDecoder {
    /// JSON with Foundation's defaults.
    public static var json: JSONResponseDecoder { JSONResponseDecoder() }

    /// JSON with custom strategies: `.json { $0.keyDecodingStrategy = .convertFromSnakeCase }`.
    public static func json(_ configure: @escaping @Sendable (JSONDecoder) -> Void) -> JSONResponseDecoder {
        JSONResponseDecoder(configure)
    }
}

/// A JSON encoder (RFC 8259) based on Foundation's, which is shared as in ``JSONResponseDecoder``.
public struct JSONRequestEncoder: RequestEncoder {
    private static let plain = Source { JSONEncoder() }

    private let source: Source<JSONEncoder>

    /// Creates an encoder. `configure` sets its strategies. It is called once now, or for each value on any thread.
    /// Several threads use the objects that it sets at the same time.
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

    /// JSON with custom strategies: `.json { $0.dateEncodingStrategy = .iso8601 }`.
    public static func json(_ configure: @escaping @Sendable (JSONEncoder) -> Void) -> JSONRequestEncoder {
        JSONRequestEncoder(configure)
    }
}

/// Provides a Foundation coder: a shared one where threads can share it, else a new one for each use.
private struct Source<Coder: AnyObject>: @unchecked Sendable {
    // Unchecked: there is a shared coder only where its class is thread-safe, and it is never changed after creation.
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

    func isShared(with other: Source) -> Bool { shared != nil && shared === other.shared }
}
