// SPDX-License-Identifier: MIT

/// Entries whose name is itself a value: `<input name="password" value="…">`, `{"key": "api_key", "value": "…"}`.
extension SecretScanner {
    /// The members of an entry that have been read so far.
    struct Entry {
        /// The end of the name, if no value has followed it.
        var name: (end: Int, isSecret: Bool)?
        /// The value, if no name preceded it: the name may follow.
        var value: Value?
        /// The index from which such values are recorded. The text before it has been scanned twice.
        var valueFloor = 0

        struct Value {
            let name: Name
            let range: Range<Int>
            /// The replacements made before the value.
            let mark: Replacements.Mark
        }
    }

    /// Scans a pair whose name is not that of a secret: it may name the value of another pair, or be such a value.
    ///
    /// A brace or an angle bracket between two pairs ends the entry.
    mutating func scanEntry(_ name: Name, isColon: Bool) {
        guard let role = EntryRole(bytes[name.range].drop { $0 == UInt8(ascii: "[") }) else { return }
        let start = valueStart(after: position, name, isColon: isColon)
        guard start < end else { return }
        switch role {
        case .name, .identifier: scanEntryName(from: start, name, role)
        case .attribute where isColon: break
        case .value, .attribute: scanEntryValue(from: start, name)
        }
    }

    private mutating func scanEntryName(from start: Int, _ name: Name, _ role: EntryRole) {
        let (text, next) = entryName(from: start)
        let isSecret = names.contains(bytes[text])
        if isSecret, let value = entry.value, value.range.upperBound <= name.range.lowerBound {
            entry.value = nil
            if isOneEntry(value.range.upperBound, name) {
                entry = Entry(valueFloor: name.range.lowerBound)
                rewind(to: value.mark, at: value.range.upperBound)
                return maskValue(from: value.range.lowerBound, value.name, isEncoded: false)
            }
        }
        if isSecret || role == .name { entry.name = (next, isSecret) }
    }

    private mutating func scanEntryValue(from start: Int, _ name: Name) {
        if let known = entry.name, known.end <= name.range.lowerBound {
            entry.name = nil
            if isOneEntry(known.end, name) {
                entry.value = nil
                if known.isSecret { maskValue(from: start, name, isEncoded: false) }
                return
            }
        }
        // Records no value within a recorded one, and no object or array: those contain entries themselves.
        guard start >= max(entry.valueFloor, entry.value?.range.upperBound ?? 0), !"{[".utf8.contains(byte(start))
        else { return }
        // Without members: the name of the value may follow a bracket that stays open.
        let end = valueEnd(start, isEncoded: false, hasMembers: false)
        entry.value = Entry.Value(name: name, range: start..<end, mark: mark)
    }

    /// Whether that quote opens the name of an entry's member. Such a quote ends an unquoted value before it, as in
    /// `token=abc\n{\u0022key\u0022:…`. Otherwise the scanner would miss the value of the entry.
    func beginsEntry(_ quote: Quote) -> Bool {
        let (content, next) = quoted(by: quote, maxLength: 64)
        return EntryRole(bytes[content]) != nil && isSeparator(skipBlanks(next))
    }

    /// The text that names a value, and the index after it.
    private func entryName(from start: Int) -> (text: Range<Int>, next: Int) {
        if let quote = quote(from: start) {
            let (content, next) = quoted(by: quote, maxLength: Self.maxNameLength)
            return (content, next)
        }
        var stop = start
        while stop - start < Self.maxNameLength, kind(stop).isName { stop += 1 }
        return (start..<stop, stop)
    }

    /// Whether the pair of that name belongs to the same entry as the pair that ends at `start`. Masked text in between
    /// is ignored, so that a second pass gives the same result.
    private func isOneEntry(_ start: Int, _ name: Name) -> Bool {
        let end = name.range.lowerBound
        return !bytes[min(max(start, floor), end)..<end].contains { "{}<>".utf8.contains($0) }
    }
}
