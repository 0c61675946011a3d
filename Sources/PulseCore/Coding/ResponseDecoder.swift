// SPDX-License-Identifier: MIT

/// Decodes the bytes of a response into a value. ``JSONResponseDecoder`` is the default. Called concurrently.
///
/// ```swift
/// struct PropertyListResponseDecoder: ResponseDecoder {
///     func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
///         try PropertyListDecoder().decode(type, from: data)
///     }
/// }
/// ```
public protocol ResponseDecoder: Sendable {
    /// The media type that this decoder reads, which a call sends as `Accept` unless it sets that header itself. `*/*`
    /// by default.
    var contentType: String { get }

    /// Decodes a value from a body. A thrown error is wrapped in ``PulseError/decodingFailed(type:underlying:)``, or
    /// replaced by ``PulseError/emptyBody`` if there are no bytes. A ``PulseError`` is passed on unchanged.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension ResponseDecoder {
    public var contentType: String { "*/*" }
}

/// Encodes a value into the bytes of a body. Called concurrently.
public protocol RequestEncoder: Sendable {
    /// The media type that this encoder writes, which a request sends as `Content-Type` unless it sets that header
    /// itself.
    var contentType: String { get }

    /// Encodes a value as a body. A thrown error is wrapped in ``PulseError/encodingFailed(underlying:)``. A
    /// ``PulseError`` is passed on unchanged.
    func encode(_ value: some Encodable) throws -> Data
}
