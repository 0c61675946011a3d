// SPDX-License-Identifier: MIT

/// The role of a member in an entry that has a name and its value in two members: `{"name": "pin", "value": 1234}`.
enum EntryRole {
    /// The name of the value.
    case name
    /// Possibly the name of the value.
    case identifier
    case value
    /// The value of HTML's `<meta name="csrf-token" content="…">`. In JSON it is mostly the content of a file.
    case attribute

    init?(_ key: ArraySlice<UInt8>) {
        guard let first = key.first, key.count <= 7, "cfiknv".utf8.contains(first.asciiLowercased) else { return nil }
        switch String(decoding: key, as: UTF8.self).asciiLowercased {
        case "name", "key", "field": self = .name
        case "id": self = .identifier
        case "value", "values": self = .value
        case "content": self = .attribute
        default: return nil
        }
    }
}
