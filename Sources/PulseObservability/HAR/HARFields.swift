// SPDX-License-Identifier: MIT

import PulseCore

/// One object of a HAR file, read leniently. A value of an unexpected type is converted if possible; otherwise it
/// counts as missing, with a note.
struct HARFields {
    private let values: KeyedDecodingContainer<Key>
    private let notes: HARNotes?

    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(_ decoder: any Decoder) throws {
        values = try decoder.container(keyedBy: Key.self)
        notes = decoder.harNotes
    }

    func note(_ text: String) {
        notes?.add(text)
    }

    private func key(_ name: String) -> Key? {
        let key = Key(stringValue: name)
        guard values.contains(key), (try? values.decodeNil(forKey: key)) == false else { return nil }
        return key
    }

    /// Whether there is a value that is not null.
    func has(_ name: String) -> Bool { key(name) != nil }

    /// A string. Any other value is returned as its JSON.
    func text(_ name: String) -> String? {
        guard let key = key(name) else { return nil }
        if let text = try? values.decode(String.self, forKey: key) { return text }
        note("\(name) is not a text")
        if let number = try? values.decode(Int64.self, forKey: key) { return "\(number)" }
        if let number = try? values.decode(Double.self, forKey: key) { return "\(number)" }
        guard notes?.readsTrees != false else { return nil }
        return (try? values.decode(JSONValue.self, forKey: key)).map { "\($0)" }
    }

    /// A finite number, which some programs write as a string.
    func number(_ name: String) -> Double? {
        guard let key = key(name) else { return nil }
        if let number = try? values.decode(Double.self, forKey: key), number.isFinite { return number }
        note("\(name) is not a number")
        return (try? values.decode(String.self, forKey: key)).flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil }
    }

    /// A whole number. A fraction is truncated.
    func integer(_ name: String) -> Int64? {
        guard let key = key(name) else { return nil }
        if let integer = try? values.decode(Int64.self, forKey: key) { return integer }
        if let number = try? values.decode(Double.self, forKey: key), number.isFinite {
            note("\(name) is not a whole number")
            return Self.whole(number)
        }
        note("\(name) is not a number")
        return (try? values.decode(String.self, forKey: key)).flatMap { Double($0) }.flatMap { Self.whole($0) }
    }

    private static func whole(_ number: Double) -> Int64? {
        guard number.isFinite else { return nil }
        return Int64(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max)
    }

    /// A nested object; nil if there is none that can be read.
    func part<Part: Decodable>(_ name: String, _ type: Part.Type = Part.self) -> Part? {
        guard let key = key(name) else { return nil }
        do {
            return try values.decode(type, forKey: key)
        } catch {
            note("\(name) cannot be read")
            return nil
        }
    }

    /// The readable elements of a list; nil if there is no list.
    func list<Element: Decodable>(_ name: String, _ type: Element.Type = Element.self) -> [Element]? {
        guard let key = key(name) else { return nil }
        guard var list = try? values.nestedUnkeyedContainer(forKey: key) else {
            note("\(name) is not a list")
            return nil
        }
        var elements: [Element] = []
        while !list.isAtEnd {
            do {
                elements.append(try list.decode(type))
            } catch {
                note("an element of \(name) cannot be read")
                guard (try? list.decode(Skipped.self)) != nil else { break }
            }
        }
        return elements
    }

    /// Names and values, which some programs write as one object.
    func fields(_ name: String) -> [HARDocument.Field]? {
        guard let key = key(name), (try? values.nestedUnkeyedContainer(forKey: key)) == nil,
            notes?.readsTrees != false, let object = try? values.decode([String: JSONValue].self, forKey: key)
        else { return list(name) }
        if !object.isEmpty { note("\(name) is an object") }
        return object.sorted { $0.key < $1.key }.map { name, value in
            HARDocument.Field(name: name, value: value.stringValue ?? (value.isNull ? "" : "\(value)"))
        }
    }
}

/// Skips any value.
struct Skipped: Decodable {
    init(from decoder: any Decoder) {}
}

extension CodingUserInfoKey {
    // The initializer does not fail for any text.
    static let harNotes = [CodingUserInfoKey(rawValue: "com.pulse.har.notes")].compactMap { $0 }
}

extension Decoder {
    var harNotes: HARNotes? { CodingUserInfoKey.harNotes.first.flatMap { userInfo[$0] as? HARNotes } }
}
