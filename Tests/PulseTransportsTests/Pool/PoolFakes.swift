// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

@testable import PulseTransports

/// A shared connection with a fixed number of places.
final class FakeSharedConnection: SharedConnection {
    private struct State {
        var used = 0
        var isOpen = true
        var idleSince: TimeInterval? = 0
    }

    let places: Int
    private let state = Locked(State())

    init(places: Int) {
        self.places = places
    }

    var streamLimit: Int? { places }
    var isOpen: Bool { state.withLock { $0.isOpen } }
    var idleSince: TimeInterval? { state.withLock { $0.idleSince } }
    var usedCount: Int { state.withLock { $0.used } }
    var hasPlace: Bool { state.withLock { $0.isOpen && $0.used < places } }

    func reserve() -> Bool {
        state.withLock { state in
            guard state.isOpen, state.used < places else { return false }
            state.used += 1
            state.idleSince = nil
            return true
        }
    }

    func giveBack(now: TimeInterval) {
        state.withLock { state in
            state.used -= 1
            if state.used == 0 { state.idleSince = now }
        }
    }

    func retire() {
        state.withLock { $0.isOpen = false }
    }
}

/// A connection on which nothing comes.
final class FakeConnection: ReusableConnection {
    private let sentCount = Locked(0)

    var remoteAddress: String? { nil }
    var sent: (count: Int, time: TimeInterval) { (sentCount.withLock { $0 }, 0) }
    var mayHaveSent: Bool { false }

    func read() async throws -> Data? { nil }
    func write(_ bytes: Data) async throws {}
    func finishWriting() {}
    func close() {}
    func begin(idleTimeout: TimeInterval) {}
    func limitIdleTime(to timeout: TimeInterval) {}
    func send(_ bytes: Data, ifIdle: Bool, isBatched: Bool) { sentCount.withLock { $0 += bytes.count } }
    func finishSending() async throws {}
    func beginStreaming() {}
    func endReading() {}
    func upgrade(unread: Data) {}
}
#endif
