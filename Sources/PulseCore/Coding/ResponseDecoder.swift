// SPDX-License-Identifier: MIT

/// Turns the bytes of a response into a value. ``JSONResponseDecoder`` is the default; a decoder for property lists,
/// XML or Protobuf conforms in three lines. Called concurrently.
public protocol ResponseDecoder: Sendable {
    /// The media type that this decoder reads, which a call sends as `Accept` unless it sets that header itself. `*/*`
    /// by default.
    var contentType: String { get }

    /// Decodes a value from a body. The caller gets an error inside ``PulseError/decodingFailed(type:underlying:)``, or
    /// ``PulseError/emptyBody`` if there are no bytes; a ``PulseError`` is passed on unchanged.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension ResponseDecoder {
    public var contentType: String { "*/*" }
}

/// Turns a value into the bytes of a body. Called concurrently.
public protocol RequestEncoder: Sendable {
    /// The media type that this encoder writes, which a request sends as `Content-Type` unless it sets that header
    /// itself.
    var contentType: String { get }

    /// Encodes a value as a body. The caller gets an error inside ``PulseError/encodingFailed(underlying:)``; a
    /// ``PulseError`` is passed on unchanged.
    func encode(_ value: some Encodable) throws -> Data
}
