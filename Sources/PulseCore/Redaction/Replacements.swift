// SPDX-License-Identifier: MIT

/// A text that is being built: some ranges of the bytes are replaced, in order, and the rest stays as it is.
struct Replacements {
    private let bytes: [UInt8]
    private let range: Range<Int>
    private var output: [UInt8] = []
    private var isEmpty = true
    /// The index where the last replaced range ended.
    private(set) var replacedEnd: Int
    /// The index where the last mask in it ended: what is behind that is as it was.
    private(set) var maskedEnd: Int

    init(of bytes: [UInt8], in range: Range<Int>) {
        self.bytes = bytes
        self.range = range
        replacedEnd = range.lowerBound
        maskedEnd = range.lowerBound
    }

    /// - Parameter maskedEnd: where the last mask in the range ends, if more follows it there.
    mutating func replace(
        _ replaced: Range<Int>, with replacement: [UInt8] = Redaction.maskBytes, maskedEnd: Int? = nil
    ) {
        output.append(contentsOf: bytes[replacedEnd..<replaced.lowerBound])
        output.append(contentsOf: replacement)
        replacedEnd = replaced.upperBound
        self.maskedEnd = maskedEnd ?? replaced.upperBound
        isEmpty = false
    }

    /// What has been replaced up to a moment.
    struct Mark {
        fileprivate let outputCount, replacedEnd, maskedEnd: Int
        fileprivate let isEmpty: Bool
    }

    var mark: Mark {
        Mark(outputCount: output.count, replacedEnd: replacedEnd, maskedEnd: maskedEnd, isEmpty: isEmpty)
    }

    /// Takes back what has been replaced since.
    mutating func rewind(to mark: Mark) {
        output.removeLast(output.count - mark.outputCount)
        (replacedEnd, maskedEnd, isEmpty) = (mark.replacedEnd, mark.maskedEnd, mark.isEmpty)
    }

    /// A part of a text with its secrets masked.
    struct Masked {
        let bytes: [UInt8]
        /// Where the last mask ends in the part as it was.
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
