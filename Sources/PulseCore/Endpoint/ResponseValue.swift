// SPDX-License-Identifier: MIT

/// A response type that reads the response itself instead of being decoded from the body.
///
/// ```swift
/// struct Quota: ResponseValue {
///     let remaining: String?
///     static func read(_ response: PulseResponse, using decoder: any ResponseDecoder) -> Quota {
///         Quota(remaining: response.headers["X-RateLimit-Remaining"])
///     }
/// }
/// ```
public protocol ResponseValue: Decodable {
    /// Creates the value from an accepted response. A thrown error that is not a ``PulseError`` is wrapped in
    /// ``PulseError/decodingFailed(type:underlying:)``.
    static func read(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Self
}

/// The response type of a call whose body does not matter: any accepted status is a success, and the body is ignored.
public struct EmptyResponse: ResponseValue, Sendable, Hashable {
    /// Creates an empty response.
    public init() {}

    public init(from decoder: any Decoder) throws {}

    /// Returns an empty response, whatever the content of the response.
    public static func read(_ response: PulseResponse, using decoder: any ResponseDecoder) -> EmptyResponse {
        EmptyResponse()
    }
}

extension Data: ResponseValue {
    /// Returns the body unchanged, empty or not.
    public static func read(_ response: PulseResponse, using decoder: any ResponseDecoder) -> Data {
        response.data
    }
}

extension String: ResponseValue {
    /// Returns the body as text in the charset of `Content-Type` (UTF-8, UTF-16, US-ASCII or Latin-1), else UTF-8.
    /// Throws ``PulseError/decodingFailed(type:underlying:)`` if the bytes are not text in that charset.
    public static func read(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> String {
        let encoding = Encoding(contentType: response.headers["Content-Type"])
        guard let text = String(data: response.data, encoding: encoding) else {
            throw PulseError.decodingFailed(
                type: "String", underlying: CocoaError(.fileReadInapplicableStringEncoding))
        }
        return text
    }
}

extension Optional: ResponseValue where Wrapped: Decodable {
    /// Returns nil for an empty body, else the `Wrapped` value in the body. The literal `null` of a decoded type is
    /// also nil.
    public static func read(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Wrapped? {
        if response.data.isEmpty { return nil }
        guard let type = Wrapped.self as? any ResponseValue.Type else {
            return try response.decode(Wrapped?.self, using: decoder)
        }
        return try type.read(response, using: decoder) as? Wrapped
    }
}

extension Optional: OptionalValue {
    package static var wrapped: Any.Type { Wrapped.self }
}

package protocol OptionalValue {
    static var wrapped: Any.Type { get }
}

extension Endpoint {
    /// Whether the default `decode` uses the decoder, as it does for a decodable type that is not a ``ResponseValue``.
    package static var usesDecoder: Bool {
        guard Response.self is any Decodable.Type else { return false }
        guard let type = Response.self as? any ResponseValue.Type else { return true }
        return (type as? any OptionalValue.Type).map { !($0.wrapped is any ResponseValue.Type) } ?? false
    }
}

extension String.Encoding {
    fileprivate init(contentType: String?) {
        let charset = (contentType ?? "").split(separator: ";").dropFirst().lazy
            .map { $0.trimmingCharacters(in: .whitespaces).asciiLowercased }
            .first { $0.hasPrefix("charset=") }?
            .dropFirst("charset=".count)
        switch charset.map({ $0.trimmingCharacters(in: CharacterSet(charactersIn: "\"")) }) {
        case "iso-8859-1", "latin1": self = .isoLatin1
        case "us-ascii", "ascii": self = .ascii
        case "utf-16": self = .utf16
        case "utf-16le": self = .utf16LittleEndian
        case "utf-16be": self = .utf16BigEndian
        default: self = .utf8
        }
    }
}
