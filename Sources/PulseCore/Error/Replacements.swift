// SPDX-License-Identifier: MIT

/// A text that is being built: some ranges of the bytes are replaced, in order, and the rest stays as it is.
struct Replacements {
    private let bytes: [UInt8]
    private let range: Range<Int>
    private var output: [UInt8] = []
    private var isEmpty = true
    /// The index where the last replaced range ended.
    private(set) var replacedEnd: Int

    init(of bytes: [UInt8], in range: Range<Int>) {
        self.bytes = bytes
        self.range = range
        replacedEnd = range.lowerBound
    }

    mutating func replace(_ replaced: Range<Int>, with replacement: [UInt8] = Redaction.maskBytes) {
        output.append(contentsOf: bytes[replacedEnd..<replaced.lowerBound])
        output.append(contentsOf: replacement)
        replacedEnd = replaced.upperBound
        isEmpty = false
    }

    /// The text with its replacements, or nil if there are none.
    func result() -> [UInt8]? {
        isEmpty ? nil : output + bytes[replacedEnd..<range.upperBound]
    }
}
