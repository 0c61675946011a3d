// SPDX-License-Identifier: MIT

/// The least that reading lines takes: finds the line ends in chunks of bytes, and makes a string of each line.
public struct LineLoop {
    @usableFromInline var rest: [UInt8] = []

    public init() {}

    /// The number of lines that end in `chunk` and are not empty.
    @inlinable
    public mutating func count(in chunk: some Collection<UInt8>) -> Int {
        var count = 0
        var start = 0
        rest.append(contentsOf: chunk)
        while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: rest[start..<end], as: UTF8.self)
            if !line.isEmpty { count += 1 }
            start = end + 1
        }
        rest.removeSubrange(..<start)
        return count
    }
}
