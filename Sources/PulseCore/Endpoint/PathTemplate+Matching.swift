// SPDX-License-Identifier: MIT

extension PathTemplate {
    /// The decoded values of the placeholders if the template matches this path, else nil. Stubs and test servers use
    /// it to find their route. Takes linear time.
    ///
    /// Segments are compared after decoding, so `%61` matches `a`, while an encoded slash never ends a segment. A
    /// leading slash is optional on both sides, a trailing one is significant; a query or fragment is ignored. A
    /// placeholder matches at least one character, and as few as the following text allows. A repeated name takes its
    /// value at its first occurrence, and must match the same value again. `{name...}` at the end matches the rest,
    /// slashes and empty segments included.
    package func match(_ path: String) -> [String: String]? {
        let segments = Self.segments(of: path)
        let templates = Self.segments(of: text)
        var matching = Matching()
        for (index, template) in templates.enumerated() {
            guard index < segments.count, let pieces = try? PathTemplate(String(template)).pieces() else { return nil }
            let isRest = if case .rest = pieces.last { true } else { false }
            guard !isRest || index == templates.count - 1 else { return nil }
            let segment =
                isRest ? path[segments[index].startIndex..<segments[segments.count - 1].endIndex] : segments[index]
            guard let text = PercentEncoding.decode(segment), matching.matches(pieces, Array(text.unicodeScalars))
            else { return nil }
            if isRest { return matching.values }
        }
        return segments.count == templates.count ? matching.values : nil
    }

    /// The segments, split at bytes as the path rules require: Swift treats a slash and a following combining mark as
    /// one `Character`.
    private static func segments(of path: String) -> [Substring] {
        let slash = UInt8(ascii: "/")
        let path = path.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let segments = (path.first == slash ? path.dropFirst() : path)
            .split(separator: slash, omittingEmptySubsequences: false)
        return segments.map { Substring($0) }
    }
}

/// Matches segments in order, each in one pass. It compares scalars: a path must not match only because two texts are
/// canonically equivalent.
private struct Matching {
    private(set) var values: [String: String] = [:]
    /// The placeholder whose end is not known yet.
    private var open: String?
    private var rest: ArraySlice<Unicode.Scalar> = []

    /// The first occurrence of a literal is always the right one, since a placeholder matches any text.
    mutating func matches(_ pieces: [PathTemplate.Piece], _ text: [Unicode.Scalar]) -> Bool {
        (open, rest) = (nil, text[...])
        for (index, piece) in pieces.enumerated() {
            let isLast = index == pieces.count - 1
            switch piece {
            case .literal(let encoded):
                guard let literal = PercentEncoding.decode(encoded), take(literal, isLast: isLast) else { return false }
            case .placeholder(let name):
                if open == name, !closeAfterOne() { return false }
                if let value = values[name] {
                    guard take(value, isLast: isLast) else { return false }
                } else {
                    guard open == nil || closeAfterOne() else { return false }
                    open = name
                }
            case .rest(let name):
                guard open == nil || closeAfterOne() else { return false }
                if let value = values[name] { return take(value, isLast: true) }
                close(name, at: rest.endIndex)
            }
        }
        guard let name = open else { return rest.isEmpty }
        guard !rest.isEmpty else { return false }
        close(name, at: rest.endIndex)
        return true
    }

    /// Consumes a literal that must come next, or after the open placeholder; the last literal must end the segment.
    private mutating func take(_ literal: String, isLast: Bool) -> Bool {
        let literal = Array(literal.unicodeScalars)
        StepCount.add(literal.count)
        guard let name = open else {
            guard rest.starts(with: literal) else { return false }
            rest = rest.dropFirst(literal.count)
            return !isLast || rest.isEmpty
        }
        guard rest.count > literal.count else { return false }
        let index: Int?
        if isLast {
            let start = rest.endIndex - literal.count
            index = rest[start...].elementsEqual(literal) ? start : nil
        } else {
            index = rest.dropFirst().firstIndex(ofPattern: literal)
        }
        guard let index else { return false }
        close(name, at: index)
        rest = rest.dropFirst(literal.count)
        return true
    }

    private mutating func closeAfterOne() -> Bool {
        guard let name = open, !rest.isEmpty else { return false }
        close(name, at: rest.startIndex + 1)
        return true
    }

    private mutating func close(_ name: String, at end: Int) {
        var value = String.UnicodeScalarView()
        value.append(contentsOf: rest[..<end])
        values[name] = String(value)
        rest = rest[end...]
        open = nil
    }
}
