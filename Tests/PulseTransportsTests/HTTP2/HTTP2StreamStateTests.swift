// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct HTTP2StreamStateTests {
    private typealias Effects = HTTP2Connection.Effects

    private static var stream: HTTP2Connection.StreamState {
        HTTP2Connection.StreamState(idleTimeout: 30, receiveCount: 0, openedAt: 0)
    }

    /// A peer may send a frame for each byte.
    @Test func smallPiecesAreJoined() throws {
        var (state, effects) = (Self.stream, Effects())
        for byte in 0..<200 { state.take(Data([UInt8(byte)]), now: 0, &effects) }
        let taken = state.takePieces(upTo: .max)
        let pieces = try #require(taken?.pieces)
        #expect(pieces == [Data((0..<200).map { UInt8($0) })] && taken?.count == 200)
        let rest = state.takePieces(upTo: .max)
        #expect(rest == nil && state.receivedCount == 200)
    }

    /// The reader gets all bytes once and in order, whatever its limits are.
    @Test(arguments: [1, 10_000, 16_384, 100_000])
    func piecesAreTakenInOrder(limit: Int) {
        var (state, effects) = (Self.stream, Effects())
        var (given, taken) = (Data(), Data())
        for round in 0..<30 {
            for piece in 0..<3 {
                let bytes = Data(repeating: UInt8(round * 3 + piece), count: 5000 * (piece + 1))
                given += bytes
                state.take(bytes, now: 0, &effects)
            }
            if let (pieces, count) = state.takePieces(upTo: limit) {
                let joined = Data(pieces.joined())
                #expect(joined.count == count && count < limit + 15_000)
                taken += joined
            }
        }
        while let (pieces, _) = state.takePieces(upTo: limit) { taken += Data(pieces.joined()) }
        #expect(taken == given)
    }

    @Test func nothingComesAfterTheEnd() {
        var (state, effects) = (Self.stream, Effects())
        state.take(Data("a".utf8), now: 0, &effects)
        state.endResponse(["t": "u"], now: 1, time: 2, &effects)
        state.take(Data("b".utf8), now: 3, &effects)
        state.endResponse([:], now: 3, time: 4, &effects)
        #expect(state.hasEnded && state.trailers["T"] == "u" && state.lastByteAt == 2 && state.receivedCount == 1)
        #expect(state.hasMet(.body) && !state.hasMet(.head) && !state.hasMet(.sent))
    }

    @Test func theFirstEndCounts() {
        var (state, effects) = (Self.stream, Effects())
        state.end(.timedOut, &effects)
        state.end(.closed, &effects)
        guard case .timedOut = state.end else {
            Issue.record("another end")
            return
        }
        #expect(state.hasMet(.head) && state.hasMet(.room) && state.hasMet(.sent) && state.hasMet(.taken))
    }

    /// A stream without a waiting task has no deadline, nor has one that waits for the source of its body.
    @Test func onlyAWaitForThePeerHasADeadline() async {
        var state = Self.stream
        #expect(state.deadline == .infinity)
        await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
            state.reader = waiter
            state.lastActivity = 5
            #expect(state.deadline == 35)
            state.waitsForSource = true
            #expect(state.deadline == .infinity)
            state.unsentCount = 1
            #expect(state.deadline == 35)
            var effects = Effects()
            state.noteUnsent(0, now: 7, &effects)
            #expect(state.lastActivity == 7 && state.deadline == .infinity)
            state.end(.closed, &effects)
            for waiter in effects.waiters { waiter.resume() }
        }
    }
}
#endif
