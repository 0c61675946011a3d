// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// Decides which of a host's addresses to try next, and when (RFC 8305, section 5): a pure value.
struct ConnectionRace {
    enum Step: Equatable {
        /// Start connecting to the address at this index, then call again.
        case attempt(Int)
        /// Wait for an attempt to end, at most until this time.
        case wait(until: TimeInterval)
        /// No address is left.
        case fail
    }

    /// The Connection Attempt Delay of RFC 8305, in seconds.
    static let delay: TimeInterval = 0.25

    private let count: Int
    private var nextIndex = 0
    private var pendingCount = 0
    private var nextStart = -TimeInterval.infinity

    /// - Parameter count: the number of addresses.
    init(count: Int) {
        self.count = count
    }

    mutating func step(now: TimeInterval) -> Step {
        guard nextIndex < count else { return pendingCount > 0 ? .wait(until: .infinity) : .fail }
        guard now >= nextStart else { return .wait(until: nextStart) }
        defer { nextIndex += 1 }
        (pendingCount, nextStart) = (pendingCount + 1, now + Self.delay)
        return .attempt(nextIndex)
    }

    /// Notes that an attempt has failed: the next one begins at once.
    mutating func noteFailure() {
        (pendingCount, nextStart) = (pendingCount - 1, -.infinity)
    }
}

extension SocketLoop {
    private enum RaceEvent {
        case connected(SocketConnection)
        case failed(any Error)
        case reached(TimeInterval)
    }

    /// Connects to the first address of a host that accepts. Throws the error of ``connect(to:)`` for the last failed
    /// attempt.
    func connect(toFirstOf addresses: [SocketAddress], clock: any PulseClock) async throws -> SocketConnection {
        if addresses.count == 1 { return try await connect(to: addresses[0], clock: clock) }
        // The losing connections are released, and thereby closed, before this returns.
        return try await withThrowingTaskGroup(of: RaceEvent.self) { group in
            defer { group.cancelAll() }
            var race = ConnectionRace(count: addresses.count)
            var (now, wake) = (clock.uptime, TimeInterval.infinity)
            var failure: any Error = ConnectionFailure("the host has no address")
            while true {
                switch race.step(now: now) {
                case .attempt(let index):
                    group.addTask {
                        do {
                            return .connected(try await self.connect(to: addresses[index], clock: clock))
                        } catch {
                            return .failed(error)
                        }
                    }
                    continue
                case .wait(let until):
                    if until < .infinity, until != wake {
                        wake = until
                        group.addTask {
                            try await clock.sleep(until - clock.uptime, for: .timeout)
                            return .reached(until)
                        }
                    }
                case .fail:
                    throw failure
                }
                switch try await group.next() {
                case .connected(let connection): return connection
                case .failed(let error):
                    if error is CancellationError { throw error }
                    failure = error
                    race.noteFailure()
                    now = clock.uptime
                case .reached(let time): now = max(clock.uptime, time)
                case nil: throw CancellationError()
                }
            }
        }
    }

    /// Connects as ``connect(to:)`` does, and retries while the backlog of a unix-domain socket is full: the system
    /// reports that at once, and no event reports room.
    private func connect(to address: SocketAddress, clock: any PulseClock) async throws -> SocketConnection {
        var delay: TimeInterval = 0.001
        while true {
            do {
                return try await connect(to: address)
            } catch let failure as ConnectionFailure where failure.number == EAGAIN && address.family == AF_UNIX {
                try await clock.sleep(delay, for: .backoff)
                delay = min(2 * delay, 0.1)
            }
        }
    }
}
#endif
