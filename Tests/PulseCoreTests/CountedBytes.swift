// SPDX-License-Identifier: MIT

/// Bytes that count how many were written or copied: each reservation copies them, as a growing array does.
struct CountedBytes: RangeReplaceableCollection {
    private(set) var bytes: [UInt8] = []
    private(set) var steps = 0

    init() {}

    var startIndex: Int { 0 }
    var endIndex: Int { bytes.count }
    subscript(position: Int) -> UInt8 { bytes[position] }
    func index(after index: Int) -> Int { index + 1 }

    mutating func reserveCapacity(_ count: Int) {
        steps += bytes.count
    }

    mutating func append(_ byte: UInt8) {
        steps += 1
        bytes.append(byte)
    }

    mutating func append(contentsOf more: some Sequence<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: more)
        steps += bytes.count - start
    }

    mutating func replaceSubrange(_ range: Range<Int>, with more: some Collection<UInt8>) {
        steps += bytes.count + more.count
        bytes.replaceSubrange(range, with: more)
    }
}
