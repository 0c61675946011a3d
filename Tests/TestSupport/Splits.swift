// SPDX-License-Identifier: MIT

import Foundation

/// The ways to cut bytes into chunks.
package enum Splits {
    /// Every way, for short inputs.
    package static func all(of bytes: [UInt8], _ body: ([Data]) throws -> Void) rethrows {
        guard !bytes.isEmpty else { return try body([]) }
        for cuts in 0..<(1 << (bytes.count - 1)) {
            var (chunks, start, rest) = ([Data](), 0, cuts)
            while rest != 0 {
                let end = rest.trailingZeroBitCount + 1
                chunks.append(Data(bytes[start..<end]))
                start = end
                rest &= rest - 1
            }
            chunks.append(Data(bytes[start...]))
            try body(chunks)
        }
    }

    /// Every way with at most two cuts.
    package static func pairs(of bytes: [UInt8], _ body: ([Data]) throws -> Void) rethrows {
        for first in 0...bytes.count {
            for second in first...bytes.count {
                try body([Data(bytes[..<first]), Data(bytes[first..<second]), Data(bytes[second...])])
            }
        }
    }

    /// A random way.
    package static func random(of bytes: [UInt8], _ random: inout SplitMix64) -> [Data] {
        var chunks: [Data] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int(random.next() % 20))
            chunks.append(Data(piece))
            rest = rest.dropFirst(piece.count)
        }
        return chunks
    }

    /// A random input of these pieces, at most that long.
    package static func input(_ pieces: [[UInt8]], upTo limit: Int, _ random: inout SplitMix64) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = pieces[Int(random.next() % UInt64(pieces.count))]
            guard bytes.count + piece.count <= limit else { return bytes }
            bytes += piece
        }
    }
}
