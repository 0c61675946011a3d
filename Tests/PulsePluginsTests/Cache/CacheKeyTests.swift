// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins
@testable import PulseStorage

/// The cache's keys for URLs and users, by the fast and by the full path.
@Suite(.throttled)
struct CacheKeyTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func aNormalizedURLIsRecognizedAsSuch(seed: UInt64) {
        let random = SeededRandomness(seed: seed)
        let pieces = [
            "https://", "http://", "HTTP://", "a.b", "A.b", "a-1", "[::1]", ":80", ":443", ":8080", ":", "@", "/", "/",
            "//",
            "x", "Y", "?", "q=1", "%41", "%2f", "%", "~", "é",
        ]
        for _ in 0..<500 {
            let head = random.next() % 4 == 0 ? "" : random.next() % 2 == 0 ? "https://a.b" : "http://a.b/"
            let text = (0..<random.next() % 7).reduce(into: head) { text, _ in
                text += pieces[Int(random.next() % UInt64(pieces.count))]
            }
            // A fragment is ignored, but makes the cache parse each part.
            #expect(CacheURL.normalized(text) == CacheURL.normalized(text + "#"), "seed \(seed): \(text)")
        }
    }

    @Test func differentCredentialsHaveDifferentPartitions() {
        func name(_ headers: [String: String]) -> String {
            CachePartition.name(account: nil, headers) { $0 != "Accept" }
        }
        let users: [[String: String]] = [
            ["a": "bc"], ["ab": "c"], ["a": "b", "c": ""], ["a": "", "b": "c"], ["a": "b", "c": "d"], ["a": "b:c"],
            ["a": "\u{E9}"], ["a": "e\u{301}"], ["a": "B"], ["a": "b"],
        ]
        // Compares each pair, since the last credentials are remembered.
        var names = [Set<String>](repeating: [], count: users.count)
        for first in users.indices {
            for second in users.indices {
                for user in [first, second, first] { names[user].insert(name(users[user])) }
            }
        }
        #expect(names.allSatisfy { $0.count == 1 })
        #expect(Set(names).count == users.count)
        #expect(name(["A": "b"]) == name(["a": "b", "Accept": "text/plain"]))
        #expect(name(["Accept": "text/plain"]).isEmpty)
    }

    @Test func credentialsThatDifferOnlyInBytesHaveDifferentPartitionsWithoutAHashFunction() {
        let names = CacheDigest.$isUnsupported.withValue(true) {
            ["\u{E9}", "e\u{301}"].map { key in
                CachePartition.name(account: nil, ["X-API-Key": "\(key) without a hash function"]) { _ in true }
            }
        }
        #expect(Set(names).count == 2)
    }

    @Test func accountsThatDifferOnlyInBytesHaveDifferentPartitions() {
        let accounts = ["\u{E9}", "e\u{301}", "e", "c3 a9", "bytes:c3 a9", ""]
        #expect(Set(accounts.map { CachePartition.name(account: $0) }).count == accounts.count)
    }
}
