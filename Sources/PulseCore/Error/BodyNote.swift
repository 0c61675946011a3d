// SPDX-License-Identifier: MIT

/// The response whose body did not decode, for the error's text: no byte of the body, no query.
///
/// It stands as the `underlyingError` in the context of the `DecodingError`, so that the error keeps its type for those
/// who read it.
package struct BodyNote: Error, Sendable {
    /// The response's status and media type, and what the decoder reads.
    package let status: Int
    let mediaType: String?
    let expected: String?
    let byteCount: Int
    /// Whether the body begins as HTML and XML do.
    let isMarkup: Bool
    /// Whether the body is JSON; looked into only where the decoder's error leaves that open.
    let isJSON: Bool
    /// The method and the redacted URL.
    let request: String
    /// What stood in the context before.
    package let underlying: (any Error)?

    init(_ response: PulseResponse, expected: String?, underlying: (any Error)?, checksJSON: Bool) {
        status = response.statusCode
        mediaType = response.headers["Content-Type"].map { Self.shown($0) }
        self.expected = expected.map { Self.shown($0) }
        byteCount = response.data.count
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        isMarkup = response.data.first { !space.contains($0) } == UInt8(ascii: "<")
        isJSON =
            !checksJSON
            || (try? JSONSerialization.jsonObject(with: response.data, options: .fragmentsAllowed)) != nil
        request = PulseError.text(of: response.request)
        self.underlying = underlying
    }

    /// The media type without its parameters, and only if it is one: it is a word of the server's.
    private static func shown(_ contentType: String) -> String {
        let type = contentType.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
        let isType = type.utf8.count <= 80 && type.split(separator: "/").count == 2
        return isType && type.split(separator: "/").allSatisfy { String($0).isHTTPToken } ? type : "no media type"
    }

    /// Whether the decoder reads JSON.
    var expectsJSON: Bool { expected.map { $0.hasSuffix("json") } ?? false }

    /// What the body is, as far as the decoder has not found a place in it.
    var nature: String {
        // Foundation tells of a number that does not fit as of bytes that are no JSON, without a place.
        guard !isJSON else { return "it is JSON, with a value that does not fit its type" }
        return isMarkup ? "it is not JSON, it begins like HTML or XML" : "it is not JSON"
    }

    /// - Parameter withRequest: whether the URL may be shown.
    func text(withRequest: Bool) -> String {
        var type = mediaType ?? "no Content-Type"
        if let expected, mediaType?.asciiLowercased != expected.asciiLowercased { type += " read as \(expected)" }
        return "status \(status), \(type), \(byteCount) bytes" + (withRequest ? ", \(request)" : "")
    }
}

extension DecodingError {
    /// The note that was added, if one was.
    var note: BodyNote? { context?.underlyingError as? BodyNote }

    private var context: Context? {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
            .dataCorrupted(let context):
            context
        @unknown default: nil
        }
    }

    /// Whether the decoder found no place in the body.
    private var mayBeNoJSON: Bool {
        if case .dataCorrupted(let context) = self { context.codingPath.isEmpty } else { false }
    }

    /// The same error, which tells the response too.
    func noting(_ response: PulseResponse, expected: String?) -> DecodingError {
        guard note == nil else { return self }
        func noted(_ context: Context) -> Context {
            Context(
                codingPath: context.codingPath, debugDescription: context.debugDescription,
                underlyingError: BodyNote(
                    response, expected: expected, underlying: context.underlyingError,
                    checksJSON: mayBeNoJSON))
        }
        return switch self {
        case .typeMismatch(let type, let context): .typeMismatch(type, noted(context))
        case .valueNotFound(let type, let context): .valueNotFound(type, noted(context))
        case .keyNotFound(let key, let context): .keyNotFound(key, noted(context))
        case .dataCorrupted(let context): .dataCorrupted(noted(context))
        @unknown default: self
        }
    }

    /// What was there instead of the type asked for, by Foundation's words; nil if it does not say so in words that are
    /// its own.
    var found: String? {
        guard case .typeMismatch(_, let context) = self,
            let start = context.debugDescription.range(of: "but found ")?.upperBound
        else { return nil }
        let words = context.debugDescription[start...]
        return Self.kinds.first { words.hasPrefix($0.key) }?.value
    }

    private static let kinds = [
        "a string": "a string", "an array": "an array", "a dictionary": "an object", "a number": "a number",
        "number": "a number", "bool": "a Boolean", "null": "null",
    ]
}
