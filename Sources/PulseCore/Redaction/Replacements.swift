// SPDX-License-Identifier: MIT

/// A text under construction: some ranges of the input are replaced, in order, and the rest stays unchanged.
struct Replacements {
    private let bytes: [UInt8]
    private let range: Range<Int>
    private var output: [UInt8] = []
    private var isEmpty = true
    /// The index where the last replaced range ends.
    private(set) var replacedEnd: Int
    /// The index where the last mask ends: the text after it is unchanged.
    private(set) var maskedEnd: Int

    init(of bytes: [UInt8], in range: Range<Int>) {
        self.bytes = bytes
        self.range = range
        replacedEnd = range.lowerBound
        maskedEnd = range.lowerBound
    }

    /// - Parameter maskedEnd: the end of the last mask in the range, if unmasked text follows it there.
    mutating func replace(
        _ replaced: Range<Int>, with replacement: [UInt8] = Redaction.maskBytes, maskedEnd: Int? = nil
    ) {
        output.append(contentsOf: bytes[replacedEnd..<replaced.lowerBound])
        output.append(contentsOf: replacement)
        replacedEnd = replaced.upperBound
        self.maskedEnd = maskedEnd ?? replaced.upperBound
        isEmpty = false
    }

    /// A snapshot of the replacements up to a position.
    struct Mark {
        fileprivate let outputCount, replacedEnd, maskedEnd: Int
        fileprivate let isEmpty: Bool
    }

    var mark: Mark {
        Mark(outputCount: output.count, replacedEnd: replacedEnd, maskedEnd: maskedEnd, isEmpty: isEmpty)
    }

    /// Undoes all replacements after the mark.
    mutating func rewind(to mark: Mark) {
        output.removeLast(output.count - mark.outputCount)
        (replacedEnd, maskedEnd, isEmpty) = (mark.replacedEnd, mark.maskedEnd, mark.isEmpty)
    }

    /// A masked part of a text.
    struct Masked {
        let bytes: [UInt8]
        /// The end of the last mask, as an index in the original part.
        let end: Int
    }

    var masked: Masked? { result().map { Masked(bytes: $0, end: maskedEnd) } }

    mutating func replace(_ replaced: Range<Int>, with masked: Masked) {
        replace(replaced, with: masked.bytes, maskedEnd: masked.end)
    }

    /// The text with its replacements, or nil if there are none.
    func result() -> [UInt8]? {
        isEmpty ? nil : output + bytes[replacedEnd..<range.upperBound]
    }
}
