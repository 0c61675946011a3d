// SPDX-License-Identifier: MIT

/// A response type that reads the answer itself rather than through the decoder.
public protocol ResponseValue: Decodable {
    static func read(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Self
}

/// The response of a call whose body does not matter: any accepted status will do, and a body is ignored.
public struct EmptyResponse: ResponseValue, Sendable, Hashable {
    public init() {}

    public init(from decoder: any Decoder) throws {}

    public static func read(_ response: PulseResponse, using decoder: any ResponseDecoder) -> EmptyResponse {
        EmptyResponse()
    }
}

extension Data: ResponseValue {
    /// The body as it came, empty or not.
    public static func read(_ response: PulseResponse, using decoder: any ResponseDecoder) -> Data {
        response.data
    }
}

extension String: ResponseValue {
    /// The body as text: in the charset that `Content-Type` names (UTF-8, UTF-16, US-ASCII or Latin-1), else UTF-8.
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
    /// Nil for an empty body; else what `Wrapped` makes of it, nil for a literal `null` if that is decoded.
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
    /// Whether the default `decode` asks the decoder: for what is decodable and does not read itself.
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
