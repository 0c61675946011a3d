// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import Testing

@testable import PulseTransports

struct UploadCountTests {
    private func moves(_ looks: [Int64], of length: Int64) -> [Bool] {
        var count = UploadCount()
        return looks.map { count.moves(to: $0, of: length) }
    }

    /// Else the idle timeout of each request with a small body would count from the first look at it, and strike twice as
    /// late.
    @Test func aBodyThatWentWithItsRequestIsNoActivity() {
        #expect(moves([100, 100], of: 100) == [false, false])
    }

    @Test func aBodyThatIsOnItsWayIsActivityAsLongAsItMoves() {
        #expect(moves([0, 60, 60, 100, 100], of: 100) == [false, true, false, true, false])
    }

    @Test func aBodyOfUnknownLengthMovesWithEachByte() {
        #expect(moves([60, 60, 61], of: .max) == [true, false, true])
    }
}
#endif
