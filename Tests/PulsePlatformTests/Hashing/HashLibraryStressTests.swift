// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import TestSupport
import Testing

@Suite(.tags(.threads, .addresses), .throttled)
struct HashLibraryStressTests {
    @Test func oneKeyAndTheLibraryServeManyTasksAtOnce() async throws {
        let library = try #require(SystemHashes.library)
        let key = try #require(library.makeKey(Data("key".utf8)))
        let messages = (0..<64).map { HashVectors.bytes($0 * 3, seed: $0) }
        let codes = messages.map { $0.withUnsafeBytes { key.code(for: $0) } }
        let hashes = messages.map { library.sha256(Data($0)) }
        await withTaskGroup(of: Int.self) { group in
            for task in 0..<16 {
                group.addTask {
                    (0..<500).reduce(0) { wrong, step in
                        let index = (task * 31 + step) % messages.count
                        let code = messages[index].withUnsafeBytes { key.code(for: $0) }
                        let hash = library.sha256(Data(messages[index]))
                        return code == codes[index] && hash == hashes[index] ? wrong : wrong + 1
                    }
                }
            }
            for await wrong in group { #expect(wrong == 0) }
        }
    }
}
