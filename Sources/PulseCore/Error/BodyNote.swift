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
    /// The method and the redacted URL.
    let request: String
    /// What stood in the context before.
    package let underlying: (any Error)?

    init(_ response: PulseResponse, expected: String?, underlying: (any Error)?) {
        status = response.statusCode
        mediaType = response.headers["Content-Type"].map { Self.shown($0) }
        self.expected = expected.map { Self.shown($0) }
        byteCount = response.data.count
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        isMarkup = response.data.first { !space.contains($0) } == UInt8(ascii: "<")
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

    /// What the body is instead of JSON.
    var instead: String { isMarkup ? "it is not JSON, it begins like HTML or XML" : "it is not JSON" }

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

    /// The same error, which tells the response too.
    func noting(_ response: PulseResponse, expected: String?) -> DecodingError {
        guard note == nil else { return self }
        func noted(_ context: Context) -> Context {
            Context(
                codingPath: context.codingPath, debugDescription: context.debugDescription,
                underlyingError: BodyNote(response, expected: expected, underlying: context.underlyingError))
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

extension DecodingError.Context {
    /// Whether the bytes are no JSON at all, by the words or the cause that Foundation gives.
    var meansNoJSON: Bool {
        let cause = (underlyingError as? BodyNote)?.underlying
        return codingPath.isEmpty && (cause != nil || debugDescription.hasPrefix("The given data was not valid JSON"))
    }
}
