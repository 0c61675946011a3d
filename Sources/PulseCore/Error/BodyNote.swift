// SPDX-License-Identifier: MIT

/// Describes the response whose body failed to decode, for the error's text: no byte of the body, no query.
///
/// It is the `underlyingError` in the context of the `DecodingError`, so that the error keeps its type.
package struct BodyNote: Error, Sendable {
    /// The response's status and media type, and the media type that the decoder reads.
    package let status: Int
    let mediaType: String?
    let expected: String?
    /// The part of a stream that was decoded, such as an event; nil for a whole body.
    let element: String?
    let byteCount: Int
    /// Whether the body begins like HTML or XML.
    let isMarkup: Bool
    /// Whether the body is JSON. Parsed only if the decoder's error has no location; otherwise true.
    let isJSON: Bool
    /// The method and the redacted URL.
    let request: String
    /// The previous underlying error of the context.
    package let underlying: (any Error)?

    init(
        _ response: PulseResponse, expected: String?, _ element: String?, underlying: (any Error)?, checksJSON: Bool
    ) {
        self.element = element
        status = response.statusCode
        mediaType = response.headers["Content-Type"].map { Self.shown($0) }
        self.expected = expected.map { Self.shown($0) }
        byteCount = response.data.count
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        isMarkup = response.data.first { !space.contains($0) } == UInt8(ascii: "<")
        isJSON =
            !checksJSON
            || (try? JSONSerialization.jsonObject(with: response.data, options: .fragmentsAllowed)) != nil
        request = PulseError.text(of: response.request, maskedBy: response.redaction)
        self.underlying = underlying
    }

    /// The media type without its parameters, or a fixed text if it is not a valid media type: the server controls it.
    private static func shown(_ contentType: String) -> String {
        let type = contentType.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
        let isType = type.utf8.count <= 80 && type.split(separator: "/").count == 2
        return isType && type.split(separator: "/").allSatisfy { String($0).isHTTPToken } ? type : "no media type"
    }

    /// Whether the decoder reads JSON.
    var expectsJSON: Bool { expected.map { $0.hasSuffix("json") } ?? false }

    /// The kind of the body, for errors without a location in it.
    var nature: String {
        // For a number that does not fit, Foundation throws the error of invalid JSON, which has no location.
        guard !isJSON else { return "it is JSON, with a value that does not fit its type" }
        return isMarkup ? "it is not JSON, it begins like HTML or XML" : "it is not JSON"
    }

    /// - Parameter withRequest: whether the URL may be shown.
    func text(withRequest: Bool) -> String {
        let end = "\(byteCount) bytes" + (withRequest ? ", \(request)" : "")
        // The decoder read an element of the response, not its body.
        if let element { return "\(element), \(end)" }
        var type = mediaType ?? "no Content-Type"
        if let expected, mediaType?.asciiLowercased != expected.asciiLowercased { type += " read as \(expected)" }
        return "status \(status), \(type), \(end)"
    }
}

extension DecodingError {
    /// The attached note, if there is one.
    var note: BodyNote? { context?.underlyingError as? BodyNote }

    private var context: Context? {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
            .dataCorrupted(let context):
            context
        @unknown default: nil
        }
    }

    /// Whether the error has no location in the body.
    private var mayNotBeJSON: Bool {
        if case .dataCorrupted(let context) = self { context.codingPath.isEmpty } else { false }
    }

    /// The same error with a note about the response.
    func noting(_ response: PulseResponse, expected: String?, _ element: String?) -> DecodingError {
        guard note == nil else { return self }
        func noted(_ context: Context) -> Context {
            Context(
                codingPath: context.codingPath, debugDescription: context.debugDescription,
                underlyingError: BodyNote(
                    response, expected: expected, element, underlying: context.underlyingError,
                    checksJSON: mayNotBeJSON))
        }
        return switch self {
        case .typeMismatch(let type, let context): .typeMismatch(type, noted(context))
        case .valueNotFound(let type, let context): .valueNotFound(type, noted(context))
        case .keyNotFound(let key, let context): .keyNotFound(key, noted(context))
        case .dataCorrupted(let context): .dataCorrupted(noted(context))
        @unknown default: self
        }
    }

    /// The kind of value that was found instead of the expected type, from Foundation's text; nil if the text does not
    /// match a known phrase.
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
