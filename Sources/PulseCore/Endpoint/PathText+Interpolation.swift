// SPDX-License-Identifier: MIT

extension PathText: ExpressibleByStringInterpolation {
    /// Creates a path from a literal without interpolations.
    public init(stringLiteral path: String) {
        self.init(.literal, path)
    }

    /// Creates a path from a literal with interpolations.
    public init(stringInterpolation interpolation: StringInterpolation) {
        self.init(
            .literal, interpolation.text, pattern: interpolation.pattern, refusal: interpolation.refusal,
            warning: interpolation.warning)
    }

    /// Collects the path and encodes each value.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        private(set) var text = ""
        /// The text with a placeholder for each value, safe to show in an error.
        private(set) var pattern = ""
        private var count = 0
        private var isInQuery = false
        private var mayHaveDotSegment = false
        /// The number of the first value of a segment that contains only empty values so far; nil for any other
        /// segment.
        private var emptySegment: Int?
        /// The first refused value.
        private var fault: String?
        /// The number of the first value whose `/`, `?` or `=` would be a separator in plain text.
        private var separating: Int?

        /// Creates an empty path with capacity for the expected text and values.
        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 8 * interpolationCount)
            pattern.reserveCapacity(literalCapacity + RouteText.placeholder.utf8.count * interpolationCount)
        }

        /// Appends literal text unchanged.
        public mutating func appendLiteral(_ literal: String) {
            append(literal, shown: literal)
        }

        /// Appends a raw value, percent-encoded: text, a number, a Boolean, a UUID.
        public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            append(value: value.description)
        }

        /// Appends the raw value of an enum or a typed identifier, percent-encoded.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: CustomStringConvertible {
            append(value: value.rawValue.description)
        }

        /// Appends the description of a value that has one and not its raw value, as string interpolation does.
        public mutating func appendInterpolation<Value: RawRepresentable & CustomStringConvertible>(_ value: Value)
        where Value.RawValue: CustomStringConvertible {
            append(value: value.description)
        }

        /// Appends a URL: as it is at the start of the path, and elsewhere as a percent-encoded value.
        public mutating func appendInterpolation(_ url: URL) {
            if text.isEmpty { appendInterpolation(raw: url.absoluteString) } else { append(value: url.absoluteString) }
        }

        /// Appends another path unchanged: `"\(Self.root)/users/\(id)"`.
        public mutating func appendInterpolation(_ path: PathText) {
            append(path.written, shown: path.pattern ?? RouteText.withoutValues(path.written))
            fault = fault ?? path.refusal
            mayHaveDotSegment = true
        }

        /// Appends percent-encoded text unchanged, as if it stood in the literal; `/` and `?` keep their meaning.
        public mutating func appendInterpolation(raw text: String) {
            appendInterpolation(PathText(text))
        }

        /// Appends raw values as separate segments, with slashes between them: `"/files/\(segments: folders)"`.
        public mutating func appendInterpolation<Values: Sequence>(segments values: Values)
        where Values.Element: CustomStringConvertible {
            let segments = values.map { encoded($0.description) }
            guard !segments.isEmpty else { return refuse("has no segment") }
            if !isInQuery, let index = segments.firstIndex(of: "") {
                fault = fault ?? "value \(count - segments.count + index + 1) is empty"
            }
            append(encoded: segments.joined(separator: "/"))
        }
    }
}

// MARK: - Mistakes

extension PathText.StringInterpolation {
    /// Refuses an optional: its text would be `Optional(7)`, or `nil`.
    @available(*, deprecated, message: "unwrap the optional; the request fails as it is")
    public mutating func appendInterpolation<Value>(_ value: Value?) {
        refuse("is an optional; unwrap it")
    }

    /// Refuses a date, which has no single form in a path.
    @available(*, deprecated, message: "format the date as the server expects it; the request fails as it is")
    public mutating func appendInterpolation(_ date: Date) {
        refuse("is a date; format it as the server expects it")
    }

    // One overload per type: an overload for all sequences would refuse identifiers that are made of text.

    /// Refuses an array, whose text would be its debug description.
    @available(*, deprecated, message: "name the argument segments, or join the values; the request fails as it is")
    public mutating func appendInterpolation<Element>(_ values: [Element]) {
        refuse(Self.collection)
    }

    /// Refuses a set, whose text would be its debug description.
    @available(*, deprecated, message: "name the argument segments, or join the values; the request fails as it is")
    public mutating func appendInterpolation<Element>(_ values: Set<Element>) {
        refuse(Self.collection)
    }

    /// Refuses a dictionary, whose text would be its debug description.
    @available(*, deprecated, message: "write the values one by one; the request fails as it is")
    public mutating func appendInterpolation<Key, Value>(_ values: [Key: Value]) {
        refuse(Self.collection)
    }

    /// Refuses a range, whose text would be its debug description.
    @available(*, deprecated, message: "write both bounds; the request fails as it is")
    public mutating func appendInterpolation<Bound>(_ range: Range<Bound>) {
        refuse(Self.collection)
    }

    /// Refuses a range, whose text would be its debug description.
    @available(*, deprecated, message: "write both bounds; the request fails as it is")
    public mutating func appendInterpolation<Bound>(_ range: ClosedRange<Bound>) {
        refuse(Self.collection)
    }

    /// Refuses bytes, whose text would be their count.
    @available(*, deprecated, message: "write the bytes as hexadecimal or base64 text; the request fails as it is")
    public mutating func appendInterpolation(_ data: Data) {
        refuse("is bytes; write them as text")
    }

    private static let collection = "has several parts; write them one by one, or join them"

    /// Appends a value whose static type has no text: percent-encoded if the value has a description, and refused
    /// otherwise.
    @available(
        *, deprecated, message: "a value in a path has a description or a raw value; without one the request fails"
    )
    public mutating func appendInterpolation<Value>(_ value: Value) {
        // The value of an existential, such as `Any`, may have a description.
        if let value = value as? any CustomStringConvertible {
            append(value: value.description)
        } else {
            refuse("is of type \(Value.self), which has neither a description nor a raw value")
        }
    }
}

// MARK: - Values

extension PathText.StringInterpolation {
    private mutating func append(_ text: String, shown: String) {
        if let number = emptySegment, let next = text.utf8.first {
            if next == UInt8(ascii: "/") || next == UInt8(ascii: "?") { fault = fault ?? "value \(number) is empty" }
            emptySegment = nil
        }
        self.text += text
        pattern += shown
        if !isInQuery { isInQuery = text.utf8.contains(UInt8(ascii: "?")) }
    }

    private mutating func append(value: String) {
        let encoded = encoded(value)
        if text.isEmpty, value.contains("://") {
            fault = fault ?? #"value \#(count) is a URL; write \(raw: value) for the start of an absolute URL"#
        } else if isInAuthority, value.utf8.contains(UInt8(ascii: ":")) {
            fault = fault ?? #"value \#(count) is a host with a port; write \(raw: value)"#
        }
        if separating == nil, encoded.utf8.count != value.utf8.count, separates(value) { separating = count }
        let beginsSegment = text.isEmpty || text.utf8.last == UInt8(ascii: "/")
        if value.isEmpty, beginsSegment, !isInQuery { emptySegment = emptySegment ?? count }
        append(encoded: encoded)
    }

    private mutating func append(encoded: String) {
        if !encoded.isEmpty { emptySegment = nil }
        text += encoded
        pattern += RouteText.placeholder
    }

    private mutating func encoded(_ value: String) -> String {
        count += 1
        // Only these can make a dot segment, with the text around them or with another value.
        if value.isEmpty || value == "." || value == ".." { mayHaveDotSegment = true }
        return PercentEncoding.segment(value)
    }

    /// Whether the text is a scheme and `://`, so that a host comes next.
    private var isInAuthority: Bool {
        text.hasSuffix("://") && !isInQuery && !text.utf8.dropLast(2).contains(UInt8(ascii: "/"))
    }

    private mutating func refuse(_ reason: String) {
        count += 1
        fault = fault ?? "value \(count) \(reason)"
        pattern += RouteText.placeholder
    }

    /// Whether the value would add a segment, a query or a parameter as plain text of the path. In a query, text after
    /// a `=` is a value in both cases.
    private func separates(_ value: String) -> Bool {
        guard isInQuery else {
            return value.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        }
        let last = text.utf8.last
        return (last == UInt8(ascii: "?") || last == UInt8(ascii: "&")) && value.utf8.contains(UInt8(ascii: "="))
    }

    /// Why the path is invalid; nil if it is valid.
    var refusal: String? {
        if let fault = fault ?? emptySegment.map({ "value \($0) is empty" }) { return fault }
        guard mayHaveDotSegment else { return nil }
        let end = text.utf8.firstIndex(of: UInt8(ascii: "?")) ?? text.endIndex
        return PercentEncoding.containsDotSegment(String(text[..<end])) ? "the values make a dot segment" : nil
    }

    /// Warns about a value that is encoded here but would be a part of the path in a `String`.
    var warning: String? {
        separating.map { number in
            #"path \#(PathTemplate(pattern).route): value \#(number) has a separator, which is sent encoded; "#
                + #"write \(raw: value) for text that is percent-encoded, \(segments: values) for several segments"#
        }
    }
}
