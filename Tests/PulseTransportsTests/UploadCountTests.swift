// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled, .timeLimit(.minutes(15)))
struct UploadCountTests {
    private func moves(_ counts: [Int64], of length: Int64) -> [Bool] {
        var count = UploadCount()
        return counts.map { count.moves(to: $0, of: length) }
    }

    /// Otherwise the idle timeout of each request with a small body would start at the first check, and expire twice as
    /// late.
    @Test func aBodySentWithItsRequestIsNoActivity() {
        #expect(moves([100, 100], of: 100) == [false, false])
    }

    @Test func aProgressingUploadIsActivity() {
        #expect(moves([0, 60, 60, 100, 100], of: 100) == [false, true, false, true, false])
    }

    @Test func everyByteOfABodyOfUnknownLengthIsActivity() {
        #expect(moves([60, 60, 61], of: .max) == [true, false, true])
    }
}
#endif
