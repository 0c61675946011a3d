// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore
import Synchronization

/// The thread that waits for the sockets of connections. It runs until the loop is shut down or released, which closes
/// the connections.
final class SocketLoop: Sendable {
    let core: Core

    /// Starts the thread. Throws ``TransportFailure`` if the system has no descriptors left.
    convenience init() throws {
        let core = try Core()
        self.init(core)
        let thread = Thread { core.run() }
        thread.name = "PulseKit.sockets"
        thread.start()
    }

    /// A loop without a thread, for tests.
    init(_ core: Core) {
        self.core = core
    }

    deinit {
        core.close()
    }

    /// Takes over a connection. Throws ``TransportFailure`` if out of memory, and `CancellationError` after the
    /// shutdown. The connection is then closed.
    func connection(_ channel: SocketChannel, remoteAddress: String?) throws -> SocketConnection {
        try core.add(channel) { number in
            SocketConnection(channel, number: number, self, remoteAddress: remoteAddress)
        }
    }

    /// Connects to an address. Throws ``ConnectionFailure``, ``TransportFailure`` if out of memory, and
    /// `CancellationError`.
    func connect(to address: SocketAddress) async throws -> SocketConnection {
        try Task.checkCancellation()
        // Watched once it connects: before that, epoll would report its end.
        let channel = SocketChannel(try address.startConnecting())
        let connection = try connection(channel, remoteAddress: address.text)
        try await connection.finishConnecting()
        return connection
    }

    /// Closes all connections and waits for the end of the thread.
    func shutdown() async {
        core.close()
        await core.threadEnd.wait()
    }

    /// The part that the thread retains.
    final class Core: Sendable {
        struct Entry {
            weak var connection: SocketConnection?
        }

        struct State {
            /// The connections, each at the index that is its number.
            var connections: [Entry] = []
            /// The unused numbers.
            var free: [Int] = []
            /// The connections on which the thread sends.
            var sends: [SocketConnection] = []
            /// Other work that writes on the thread.
            var works: [@Sendable () -> Void] = []
            /// The parts of tasks that run on the thread.
            var jobs: [UnownedJob] = []
            /// Whether the thread reads a large body.
            var isFilling = false
            /// Whether the thread runs no more jobs.
            var hasLeft = false
            /// Whether the thread waits, or is about to, and has not been woken.
            var isAsleep = false
            var isClosed = false

            var isIdle: Bool { sends.isEmpty && works.isEmpty && jobs.isEmpty && !isClosed }
        }

        let poller: pulse_poller
        let threadEnd = Latch()
        let state = Locked(State())
        /// When the first timeout can expire: the bits of the time, which sort as times do.
        private let nextCheck = Atomic(TimeInterval.infinity.bitPattern)

        init() throws {
            var poller = pulse_poller()
            guard pulse_poller_open(&poller) else {
                throw TransportFailure(code: .resourceUnavailable, phase: .beforeSend)
            }
            self.poller = poller
        }

        deinit {
            pulse_poller_close(poller)
        }

        // MARK: Connections

        fileprivate func add(_ channel: SocketChannel, _ make: (Int) -> SocketConnection) throws -> SocketConnection {
            let connection = state.withLock { state -> SocketConnection? in
                guard !state.isClosed else { return nil }
                let number = state.free.popLast() ?? state.connections.count
                let connection = make(number)
                if number == state.connections.count { state.connections.append(Entry()) }
                state.connections[number].connection = connection
                return connection
            }
            guard let connection else {
                channel.close(poller)
                throw CancellationError()
            }
            guard connection.isWatched(by: poller) else {
                throw TransportFailure(code: .resourceUnavailable, phase: .beforeSend)
            }
            return connection
        }

        /// The highest number of connections at a time so far.
        var capacity: Int { state.withLock { $0.connections.count } }

        /// Forgets a connection that is being released.
        func remove(_ number: Int) {
            state.withLock { $0.free.append(number) }
        }

        /// Makes the thread send on a connection, together with others.
        func post(_ connection: SocketConnection) {
            post { $0.sends.append(connection) }
        }

        /// Makes the thread run work that writes, after its pending reads.
        func post(_ work: @escaping @Sendable () -> Void) {
            post { $0.works.append(work) }
        }

        private func post(_ add: (inout State) -> Void) {
            let wasAsleep = state.withLock { state in
                add(&state)
                defer { state.isAsleep = false }
                return state.isAsleep
            }
            if wasAsleep { pulse_poller_wake(poller) }
        }

        /// Records the deadline of a wait that has begun.
        func note(_ deadline: TimeInterval) {
            guard deadline.bitPattern < nextCheck.load(ordering: .relaxed),
                nextCheck.min(deadline.bitPattern, ordering: .relaxed).oldValue > deadline.bitPattern
            else { return }
            pulse_poller_wake(poller)
        }

        /// Whether the thread may read a large body: it does so for one connection at a time.
        func beginFilling() -> Bool {
            state.withLock { state in
                defer { state.isFilling = true }
                return !state.isFilling
            }
        }

        func endFilling() {
            state.withLock { $0.isFilling = false }
        }

        func close() {
            state.withLock { $0.isClosed = true }
            pulse_poller_wake(poller)
        }

        // MARK: Thread

        fileprivate func run() {
            pulse_poller_begin_thread()
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)
            defer { buffer.deallocate() }
            while turn(with: buffer) {}
            // Released outside the lock, which the last reference to a connection takes.
            let (all, sends, works) = state.withLock { state in
                defer { (state.connections, state.sends, state.works) = ([], [], []) }
                return (state.connections.map(\.connection), state.sends, state.works)
            }
            withExtendedLifetime((sends, works)) {}
            for connection in all { connection?.close() }
            state.withLock { $0.hasLeft = true }
            runJobs()
            threadEnd.open()
        }

        /// Waits, reads, resumes the readers, and sends. Returns false once the loop is closed.
        ///
        /// - Parameter waits: false in tests, which trigger the events first.
        func turn(with buffer: UnsafeMutableRawBufferPointer, waits: Bool = true) -> Bool {
            let mayBlock = state.withLock { state in
                state.isAsleep = state.isIdle && waits
                return state.isAsleep
            }
            let until = mayBlock ? TimeInterval(bitPattern: nextCheck.load(ordering: .relaxed)) : 0
            return withUnsafeTemporaryAllocation(of: pulse_poller_event.self, capacity: Int(PULSE_POLLER_TURN)) {
                events in
                let count = Int(pulse_poller_wait(poller, until, events.baseAddress))
                let now = pulse_monotonic_now()
                handle(events[..<count], with: buffer, now: now)
                let (sends, works, isClosed) = state.withLock { state in
                    defer { (state.sends, state.works) = ([], []) }
                    return (state.sends, state.works, state.isClosed)
                }
                var waiters: [SocketConnection.Waiter] = []
                for connection in sends { connection.flush(&waiters) }
                for waiter in waiters { waiter.resume() }
                for work in works { work() }
                runJobs()
                checkTimeouts(now: now)
                return !isClosed
            }
        }

        private func handle(
            _ events: Slice<UnsafeMutableBufferPointer<pulse_poller_event>>, with buffer: UnsafeMutableRawBufferPointer,
            now: TimeInterval
        ) {
            let connections = state.withLock { state in
                state.isAsleep = false
                // An event of a released connection may hit its successor, which then reads nothing once.
                return events.map { event in
                    event.number < state.connections.count ? state.connections[Int(event.number)].connection : nil
                }
            }
            var waiters: [SocketConnection.Waiter] = []
            for (event, connection) in zip(events, connections) {
                connection?.handle(event, with: buffer, now: now, &waiters)
            }
            // Reads everything before the first reader resumes, as sends are batched too.
            for waiter in waiters { waiter.resume() }
        }

        /// Ends the waits that have timed out.
        private func checkTimeouts(now: TimeInterval) {
            guard now >= TimeInterval(bitPattern: nextCheck.load(ordering: .relaxed)) else { return }
            // New waits lower the value again: their connections' locks order this store before their load.
            nextCheck.store(TimeInterval.infinity.bitPattern, ordering: .relaxed)
            let all = state.withLock { $0.connections.map(\.connection) }
            note(all.reduce(.infinity) { min($0, $1?.checkTimeout(now: now) ?? .infinity) })
        }
    }
}
#endif
