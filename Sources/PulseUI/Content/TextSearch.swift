// SPDX-License-Identifier: MIT

import PulseCore

/// A case-insensitive search for a text.
struct TextSearch: Sendable {
    private let text: String
    /// The lowercase bytes of an ASCII text, which are found without converting megabytes of bodies.
    private let bytes: [UInt8]?

    /// Nil for a blank text, which matches every text.
    init?(_ text: String) {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty else { return nil }
        self.text = trimmed.lowercased()
        bytes = trimmed.utf8.allSatisfy { $0 < 0x80 } ? self.text.utf8.map { $0 } : nil
    }

    func matches(_ other: String) -> Bool {
        guard let bytes else { return other.lowercased().contains(text) }
        return other.utf8.withContiguousStorageIfAvailable { Self.contains($0, bytes) }
            ?? Array(other.utf8).withUnsafeBufferPointer { Self.contains($0, bytes) }
    }

    private static func contains(_ text: UnsafeBufferPointer<UInt8>, _ wanted: [UInt8]) -> Bool {
        guard let first = wanted.first, text.count >= wanted.count else { return false }
        return (0...(text.count - wanted.count)).contains { start in
            guard lowercase(text[start]) == first else { return false }
            return (1..<wanted.count).allSatisfy { lowercase(text[start + $0]) == wanted[$0] }
        }
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }
}
