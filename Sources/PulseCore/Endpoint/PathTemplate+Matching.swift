// SPDX-License-Identifier: MIT

extension PathTemplate {
    /// The decoded values of the gaps if the template can make this path, else nil. Stubs and test servers find their
    /// route with it.
    ///
    /// Segments are compared after decoding, so that `%61` matches `a` while an encoded slash never ends a segment. A
    /// slash at the start may be missing on either side, one at the end counts; a query or fragment is ignored. A gap
    /// takes at least one character, and as few as the text after it allows; a name that stands twice must have the
    /// same value. `{name...}` at the end takes the rest, slashes and empty segments included.
    package func match(_ path: String) -> [String: String]? {
        var segments = Self.segments(of: path)[...]
        var templates = Self.segments(of: text)[...]
        var values: [String: String] = [:]
        while let template = templates.popFirst() {
            guard let pieces = try? PathTemplate(String(template)).pieces(), !segments.isEmpty else { return nil }
            var segment = segments.removeFirst()
            if case .rest = pieces.last {
                guard templates.isEmpty else { return nil }
                segment = path[segment.startIndex..<(segments.last ?? segment).endIndex]
                segments = []
            }
            guard let text = PercentEncoding.decode(segment),
                let found = Self.match(pieces[...], Array(text.unicodeScalars)[...], with: values)
            else { return nil }
            values = found
        }
        return segments.isEmpty ? values : nil
    }

    /// The segments, cut at bytes as the path rules require: a slash followed by a combining mark is a single
    /// `Character`.
    private static func segments(of path: String) -> [Substring] {
        let slash = UInt8(ascii: "/")
        let path = path.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let segments = (path.first == slash ? path.dropFirst() : path)
            .split(separator: slash, omittingEmptySubsequences: false)
        return segments.map { Substring($0) }
    }

    /// Compares scalars: a path must not match because two texts merely look alike.
    private static func match(
        _ pieces: ArraySlice<Piece>, _ text: ArraySlice<Unicode.Scalar>, with values: [String: String]
    ) -> [String: String]? {
        guard let piece = pieces.first else { return text.isEmpty ? values : nil }
        let following = pieces.dropFirst()
        switch piece {
        case .literal(let encoded):
            guard let literal = PercentEncoding.decode(encoded), text.starts(with: literal.unicodeScalars) else {
                return nil
            }
            return match(following, text.dropFirst(literal.unicodeScalars.count), with: values)
        case .rest(let name):
            return bind(name, to: text, in: values)
        case .gap(let name):
            var length = following.isEmpty ? max(text.count, 1) : 1
            while length <= text.count {
                if let bound = bind(name, to: text.prefix(length), in: values),
                    let found = match(following, text.dropFirst(length), with: bound)
                {
                    return found
                }
                length += 1
            }
            return nil
        }
    }

    private static func bind(
        _ name: String, to text: ArraySlice<Unicode.Scalar>, in values: [String: String]
    ) -> [String: String]? {
        var value = String.UnicodeScalarView()
        value.append(contentsOf: text)
        var values = values
        let known = values.updateValue(String(value), forKey: name)
        return known == nil || known?.unicodeScalars.elementsEqual(value) == true ? values : nil
    }
}
