// SPDX-License-Identifier: MIT

import PulseCore

extension String {
    /// Whether the strings are equal; a mask in `recorded` matches anything.
    func isLike(_ recorded: String) -> Bool {
        guard self != recorded else { return true }
        let pieces = recorded.components(separatedBy: Redaction.mask).map { Array($0.utf8) }
        var rest = Array(utf8)[...]
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last, rest.starts(with: first) else {
            return false
        }
        rest = rest.dropFirst(first.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let found = rest.firstIndex(ofPattern: piece) else { return false }
            rest = rest[(found + piece.count)...]
        }
        return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last)
    }
}
