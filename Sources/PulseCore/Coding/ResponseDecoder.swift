// SPDX-License-Identifier: MIT

/// Turns the bytes of an answer into a value. ``JSONResponseDecoder`` is the default; a property list, XML or Protobuf
/// decoder conforms in three lines. Called concurrently.
public protocol ResponseDecoder: Sendable {
    /// The media type that this decoder reads: what a call sends as `Accept` unless it names one itself.
    var contentType: String { get }

    /// What it throws reaches the caller inside ``PulseError/decodingFailed(type:underlying:)``.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension ResponseDecoder {
    public var contentType: String { "*/*" }
}

/// Turns a value into the bytes of a body. Called concurrently.
public protocol RequestEncoder: Sendable {
    /// The media type it writes: what a request sends as `Content-Type` unless it names one itself.
    var contentType: String { get }

    /// What it throws reaches the caller inside ``PulseError/encodingFailed(underlying:)``.
    func encode(_ value: some Encodable) throws -> Data
}
