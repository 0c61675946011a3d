// SPDX-License-Identifier: MIT

import Foundation

#if canImport(Glibc)
/// The resident memory of this process, for tests that run in one of their own.
public enum ResidentMemory {
    /// In bytes; 0 if the system does not tell.
    public static var size: Int {
        // The second number is the resident pages, see proc(5).
        let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (pages.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0) * 4096
    }

    /// The growth in bytes of that many rounds, each counted like the lower quartile of them.
    ///
    /// A leak grows in every round. What the allocator keeps grows only in some, and by more on a busy machine.
    public static func growth(ofRounds count: Int, _ round: () async throws -> Void) async rethrows -> Int {
        var growths: [Int] = []
        for _ in 0..<count {
            let before = size
            try await round()
            growths.append(size - before)
        }
        return growths.sorted()[count / 4] * count
    }
}
#endif
