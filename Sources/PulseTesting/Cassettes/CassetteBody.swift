// SPDX-License-Identifier: MIT

import PulseCore
internal import PulseObservability

/// The comparable form of a recorded request's body.
struct CassetteBody: Sendable, Hashable {
    private struct Text: Sendable, Hashable {
        let text: String
        let json: JSONValue?

        init(_ text: String) {
            self.text = text
            json = JSONValue(text: text)
        }
    }

    private enum Content: Sendable, Hashable {
        case none
        /// The masked body, and the recorded one if it differs: in a recording by another program, and where our own
        /// mask is masked again, such as the size of a file.
        case text(Text, recorded: Text?)
        case size(Int64)
    }

    private let content: Content
    private let contentType: String?

    /// The recorded body; nil if it was not kept and its size is unknown: then any body matches.
    init?(_ request: HARDocument.Request, _ redaction: Redaction) {
        contentType = request.postData?.mimeType
        if let data = request.postData, let recorded = data.text ?? data.params?.formText, !recorded.isEmpty {
            let text = redaction.body(Data(recorded.utf8), contentType: contentType) ?? recorded
            content = .text(Text(text), recorded: text == recorded ? nil : Text(recorded))
        } else if request.postData?.comment != nil {
            guard let size = request.bodySize, size >= 0 else { return nil }
            content = .size(size)
        } else {
            content = .none
        }
    }

    var isSize: Bool {
        if case .size = content { true } else { false }
    }

    /// The body of a request, for comparison with recorded bodies.
    var recorded: PulseRecording.Body {
        switch content {
        case .none: .none
        case .text(let masked, _): PulseRecording.Body(.text(masked.text), contentType: contentType)
        case .size(let size): PulseRecording.Body(.omitted(.binary), byteCount: size, contentType: contentType)
        }
    }

    /// The lookup key of a body. Matching bodies have the same key.
    enum Key: Sendable, Hashable {
        case none
        case size(Int64)
        case text(String)
        case json(JSONValue)
    }

    /// The lookup key; nil if a mask may match requests with different keys.
    var key: Key? {
        switch content {
        case .none: return Key.none
        case .size(let size): return .size(size)
        case .text(let masked, nil):
            if let json = masked.json { return json.hasMask ? nil : .json(json) }
            return masked.text.contains(Redaction.mask) ? nil : .text(masked.text.withoutBoundary(of: contentType))
        case .text: return nil
        }
    }

    /// The keys of the recorded bodies that a request may match; nil for any key.
    static func keys(of request: CassetteRequest) -> [Key]? {
        if request.json?.hasMask == true { return nil }
        let text = (request.body.text ?? "").withoutBoundary(of: request.body.contentType)
        return [.text(text)] + (request.body.content == .none ? [Key.none] : [])
            + (request.body.byteCount.map { [.size($0)] } ?? []) + (request.json.map { [.json($0)] } ?? [])
    }

    func isLike(_ request: CassetteRequest) -> Bool {
        switch content {
        case .size(let size): return request.body.byteCount == size
        case .none: return request.body.content == .none
        case .text(let masked, let recorded):
            return isLike(request, masked) || recorded.map { isLike(request, $0) } ?? false
        }
    }

    private func isLike(_ request: CassetteRequest, _ recorded: Text) -> Bool {
        if let json = recorded.json { return request.json?.isLike(json) ?? false }
        let text = (request.body.text ?? "").withoutBoundary(of: request.body.contentType)
        return text.isLike(recorded.text.withoutBoundary(of: contentType))
    }
}

extension [HARDocument.Parameter] {
    /// The form-encoded text, for HAR files from browsers that omit it.
    fileprivate var formText: String {
        QueryEncoder.formString(map { URLQueryItem(name: $0.name, value: $0.value) })
    }
}

extension JSONValue {
    /// The JSON object or array; nil for anything else.
    init?(text: String) {
        guard let first = text.utf8.first(where: { $0 > 0x20 }), "{[".utf8.contains(first),
            let value = try? JSONResponseDecoder.json.decode(JSONValue.self, from: Data(text.utf8))
        else { return nil }
        self = value
    }

    /// Whether any string in the value contains a mask.
    fileprivate var hasMask: Bool {
        switch self {
        case .string(let text): text.contains(Redaction.mask)
        case .array(let elements): elements.contains { $0.hasMask }
        case .object(let members): members.values.contains { $0.hasMask }
        case .null, .bool, .integer, .number: false
        }
    }

    /// Whether the values are equal, except for masked values on either side.
    fileprivate func isLike(_ recorded: JSONValue) -> Bool {
        if case .string(Redaction.mask) = self { return true }
        switch (self, recorded) {
        case (_, .string(Redaction.mask)): return true
        case (.string(let text), .string(let pattern)): return text.isLike(pattern)
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { $0.isLike($1) }
        case (.object(let left), .object(let right)):
            return left.count == right.count
                && left.allSatisfy { key, value in right[key].map { value.isLike($0) } ?? false }
        default: return self == recorded
        }
    }
}

extension String {
    /// Replaces the multipart boundary, which is different each time.
    fileprivate func withoutBoundary(of contentType: String?) -> String {
        guard let contentType, contentType.asciiLowercased.hasPrefix("multipart/"),
            let start = contentType.range(of: "boundary=", options: .caseInsensitive)
        else { return self }
        let value = contentType[start.upperBound...].prefix { $0 != ";" }.trimmingCharacters(in: ["\"", " "])
        return value.isEmpty ? self : replacingOccurrences(of: value, with: "boundary")
    }
}
