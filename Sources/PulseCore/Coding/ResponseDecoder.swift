// SPDX-License-Identifier: MIT

/// A decoder, which turns the bytes of an answer into a value. ``JSONResponseDecoder`` is the default; a decoder for
/// property lists, XML or Protobuf conforms in three lines. Called concurrently.
public protocol ResponseDecoder: Sendable {
    /// The media type that this decoder reads, which a call sends as `Accept` unless it names one itself. `*/*` by
    /// default.
    var contentType: String { get }

    /// Makes the value out of a body. An error reaches the caller inside
    /// ``PulseError/decodingFailed(type:underlying:)``, or as ``PulseError/emptyBody`` if there are no bytes; a
    /// ``PulseError`` as it is.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension ResponseDecoder {
    public var contentType: String { "*/*" }
}

/// An encoder, which turns a value into the bytes of a body. Called concurrently.
public protocol RequestEncoder: Sendable {
    /// The media type that this encoder writes, which a request sends as `Content-Type` unless it names one itself.
    var contentType: String { get }

    /// Makes the body out of a value. An error reaches the caller inside ``PulseError/encodingFailed(underlying:)``, a
    /// ``PulseError`` as it is.
    func encode(_ value: some Encodable) throws -> Data
}
