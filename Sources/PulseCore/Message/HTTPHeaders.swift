// SPDX-License-Identifier: MIT

/// The header fields of a response: ordered, repeatable, with case-insensitive names (RFC 9110, section 5).
///
/// ```swift
/// var headers: HTTPHeaders = ["Content-Type": "application/json"]
/// headers.add(name: "Link", value: "</orders?page=2>; rel=next")
/// let mediaType = headers[.contentType]
/// ```
///
/// A request's headers are `[String: String]` everywhere in PulseKit; ``dictionary`` converts to them. Any text can be
/// stored. Text that cannot be sent (a control character other than a tab in a value, a name that is not a token) is
/// rejected with an error before the request is sent, see ``validate()``.
public struct HTTPHeaders: Sendable, Hashable {
    /// One field line.
    public struct Field: Sendable, Hashable {
        /// The name as received.
        public var name: String
        /// The value, without the name and the colon. Bytes that are not UTF-8 are decoded as Latin-1.
        public var value: String { didSet { isLatin1 = false } }
        /// Whether the value was decoded as Latin-1, so that its bytes differ from its UTF-8 encoding.
        private var isLatin1 = false

        /// Creates a field line from any text; ``HTTPHeaders/validate()`` checks whether it can be sent.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Creates a field line from a received value. It is decoded as UTF-8, or else as Latin-1, in which every byte
        /// is a character, so that no value is lost.
        package init(name: String, octets: UnsafeRawBufferPointer) {
            self.name = name
            value = String(decoding: octets, as: UTF8.self)
            // The loop checks every byte without an early exit, so that the compiler can vectorize it.
            guard octets.reduce(0, |) >= 0x80, !value.utf8.elementsEqual(octets) else { return }
            value = String(String.UnicodeScalarView(octets.map { Unicode.Scalar($0) }))
            isLatin1 = true
        }

        /// Appends a continuation line to the value, after a space.
        package mutating func append(line octets: UnsafeRawBufferPointer) {
            let wasLatin1 = isLatin1
            let line = Field(name: "", octets: octets)
            // Appended in place: the server controls the number of lines.
            if !wasLatin1, !line.isLatin1 {
                value.append(" ")
                value.append(line.value)
                return
            }
            if !wasLatin1 { value = String(String.UnicodeScalarView(value.utf8.map { Unicode.Scalar($0) })) }
            value.append(" ")
            for octet in octets { value.unicodeScalars.append(Unicode.Scalar(octet)) }
            isLatin1 = true
        }

        /// The bytes of the value, as received.
        package var octets: [UInt8] {
            isLatin1 ? value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(value.utf8)
        }

        public static func == (left: Field, right: Field) -> Bool {
            left.value == right.value && left.name.equalsIgnoringASCIICase(right.name)
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(name.asciiLowercased)
            hasher.combine(value)
        }
    }

    private var fields: [Field]

    /// Creates headers without fields.
    public init() {
        fields = []
    }

    /// Creates headers from those fields, in the given order; names may repeat.
    public init(_ fields: some Sequence<Field>) {
        self.fields = Array(fields)
    }

    /// Creates headers from a dictionary, sorted by name, so that equal dictionaries give equal headers.
    public init(_ dictionary: [String: String]) {
        fields = dictionary.sorted { $0.key < $1.key }.map { Field(name: $0.key, value: $0.value) }
    }

    /// The value of the field `name`, or nil if there is none. Several lines are joined with a comma (RFC 9110, section
    /// 5.2), except `Set-Cookie`, whose lines cannot be joined: its first line is returned. Setting a value replaces
    /// all lines of that name; setting nil removes them.
    public subscript(name: String) -> String? {
        get {
            var joined: String?
            for field in fields where field.name.equalsIgnoringASCIICase(name) {
                guard joined != nil else {
                    joined = field.value
                    if name.equalsIgnoringASCIICase("set-cookie") { return joined }
                    continue
                }
                // Appended in place: the server controls the number of lines.
                joined?.append(", ")
                joined?.append(field.value)
            }
            return joined
        }
        set {
            guard let newValue else { return remove(name) }
            guard let first = fields.firstIndex(where: { $0.name.equalsIgnoringASCIICase(name) }) else {
                return add(name: name, value: newValue)
            }
            fields[first] = Field(name: name, value: newValue)
            fields = fields[...first] + fields[(first + 1)...].filter { !$0.name.equalsIgnoringASCIICase(name) }
        }
    }

    /// All values of the field `name`, one for each line, in the order received.
    public func values(for name: String) -> [String] {
        fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }

    /// The bytes of all values of the field `name`, as received.
    package func octets(for name: String) -> [[UInt8]] {
        fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.octets)
    }

    /// Whether there is a field of that name, compared case-insensitively.
    public func contains(_ name: String) -> Bool {
        fields.contains { $0.name.equalsIgnoringASCIICase(name) }
    }

    /// Appends a line and keeps existing lines of the same name.
    public mutating func add(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }

    package mutating func append(_ field: Field) {
        fields.append(field)
    }

    /// Removes every line of that name.
    public mutating func remove(_ name: String) {
        fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
    }

    /// The fields as a dictionary: one entry for each name, in its first spelling, with the value of the subscript.
    public var dictionary: [String: String] {
        // Not through the subscript for each name: the server controls the number of fields.
        var joined: [Field] = []
        joined.reserveCapacity(fields.count)
        var indices = [String: Int](minimumCapacity: fields.count)
        for field in fields {
            let name = field.name.asciiLowercased
            guard let index = indices[name] else {
                indices[name] = joined.count
                joined.append(field)
                continue
            }
            // `Dictionary` treats canonically equivalent texts as equal, such as `é` in one scalar and in two; HTTP
            // does not.
            guard name != "set-cookie", field.name.equalsIgnoringASCIICase(joined[index].name) else { continue }
            joined[index].value += ", " + field.value
        }
        return joined.reduce(into: [:]) { $0[$1.name] = $1.value }
    }

    /// Checks that the fields can be sent.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` if a name is not a token, or a value has a control character other
    /// than a tab (RFC 9110, sections 5.1 and 5.5). Its text names the header and never shows the value.
    public func validate() throws {
        for field in fields {
            try Self.validate(name: field.name, value: field.value)
        }
    }

    package static func validate(name: String, value: String) throws {
        guard name.isHTTPToken else {
            throw PulseError.invalidRequest(reason: "a header name is not a token: \(name.debugDescription)")
        }
        guard value.isHTTPFieldValue else {
            throw PulseError.invalidRequest(reason: "the value of header \(name) contains a control character")
        }
    }
}

extension HTTPHeaders: RandomAccessCollection {
    public var startIndex: Int { fields.startIndex }
    public var endIndex: Int { fields.endIndex }
    public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// Creates headers with the lines in the written order; a repeated name becomes a repeated line.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }
}

extension HTTPHeaders: ExpressibleByArrayLiteral {
    /// Creates headers with those lines, in order.
    public init(arrayLiteral elements: Field...) {
        fields = elements
    }
}

extension HTTPHeaders.Field {
    /// `Authorization: Bearer …` (RFC 6750, section 2.1).
    public static func authorization(bearer token: String) -> Self {
        Self(name: "Authorization", value: "Bearer \(token)")
    }

    /// `Authorization: Basic …`, in UTF-8 (RFC 7617, section 2).
    public static func authorization(username: String, password: String) -> Self {
        let credentials = Data("\(username):\(password)".utf8).base64EncodedString()
        return Self(name: "Authorization", value: "Basic \(credentials)")
    }

    /// `Accept: …` (RFC 9110, section 12.5.1).
    public static func accept(_ value: String) -> Self { Self(name: "Accept", value: value) }

    /// `Accept-Language: …` (RFC 9110, section 12.5.4).
    public static func acceptLanguage(_ value: String) -> Self { Self(name: "Accept-Language", value: value) }

    /// `Content-Type: …` (RFC 9110, section 8.3).
    public static func contentType(_ value: String) -> Self { Self(name: "Content-Type", value: value) }

    /// `User-Agent: …` (RFC 9110, section 10.1.5).
    public static func userAgent(_ value: String) -> Self { Self(name: "User-Agent", value: value) }
}

extension HTTPHeaders: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// One line for each field, with the values of secret fields masked and control characters escaped.
    public var description: String {
        fields.map(\.description).joined(separator: "\n")
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["fields": description]) }
}

extension HTTPHeaders.Field: CustomStringConvertible, CustomReflectable {
    /// The field as on the wire, on one line, with a secret value masked and control characters escaped.
    public var description: String { "\(name): \(Redaction.standard.headerValue(value, for: name))".onOneLine }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
