// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// One accepted connection as an async stream of bytes in both directions.
///
/// Reads ahead up to a limit even while nobody asks, so that a client that leaves is noticed at once. One task receives
/// and one sends; everything else is safe from any thread. Closing wakes whoever waits.
final class SocketStream: Sendable {
    /// How the client ended its side.
    enum PeerEnd: Sendable {
        case finished, reset
    }

    struct Closed: Error {}

    private struct State {
        var isOpen = true
        /// No more bytes are kept: they are read only to learn when the client ends.
        var discardsInput = false
        var hasEndedSending = false
        var input = Data()
        var inputLimit = SocketStream.readAhead
        var peerEnd: PeerEnd?
        var peerEndedFirst = false
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?
        var observers: [Int: @Sendable (PeerEnd?) -> Void] = [:]
        var nextObserver = 0

        var readSource: ReadinessSource?
        var isReadPaused = true
        /// Made when there is need of one, and running exactly while there is a writer. On Linux the sources of one
        /// descriptor share a registration, which one takes from the other while its handler runs, and which is gone
        /// for those to come once the connection has ended: so each direction has a descriptor, and one source for all
        /// its life.
        var writeSource: ReadinessSource?
        var writeDescriptor: SocketDescriptor?
        /// Sources whose cancel handler has not run: while there is one the descriptor must stay open.
        var liveSources = 0
        var isDisposed = false
        var disposalWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private static let readAhead = 64 << 10

    private let descriptor: SocketDescriptor
    private let queue: DispatchQueue
    private let state = Locked(State())

    init(_ descriptor: SocketDescriptor, queue: DispatchQueue) {
        self.descriptor = descriptor
        self.queue = queue
    }

    /// Begins to read. The sources keep this object alive until ``close(resetting:)``.
    func open() {
        state.withLock { state in
            guard state.isOpen, state.readSource == nil else { return }
            state.readSource = ReadinessSource(.read, of: descriptor, on: queue) {
                self.readReady()
            } onCancel: {
                self.sourceEnded()
            }
            state.liveSources += 1
            updateReading(&state)
        }
    }

    // MARK: Receiving

    /// The next bytes; nil once the client has ended its side. Throws if the connection was reset or
    /// closed here.
    func receive() async throws -> Data? {
        while true {
            let next = try state.withLock { state -> Data?? in
                if !state.input.isEmpty {
                    let taken = state.input
                    state.input = Data()
                    updateReading(&state)
                    return taken
                }
                guard state.isOpen, state.peerEnd != .reset else { throw Closed() }
                return state.peerEnd == nil ? .none : .some(nil)
            }
            if let next { return next }
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard state.isOpen, state.peerEnd == nil, state.input.isEmpty else { return false }
                    state.reader = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        }
    }

    /// Reads at most that far ahead of ``receive()``; nil for the usual 64 KiB. Less holds a fast client back, and
    /// its end is then seen only after its bytes were taken.
    func limitReadAhead(to limit: Int?) {
        state.withLock { state in
            state.inputLimit = limit ?? Self.readAhead
            updateReading(&state)
        }
    }

    /// Reads on and drops what comes, to learn when the client ends its side however much it sends before.
    func discardInput() {
        state.withLock { discardInput(&$0) }
    }

    private func discardInput(_ state: inout State) {
        state.discardsInput = true
        state.input = Data()
        updateReading(&state)
    }

    /// Runs `body` once when the client ends its side (at once if it has), or with nil when the connection is closed
    /// here first.
    func onPeerEnd(_ body: @escaping @Sendable (PeerEnd?) -> Void) -> Int {
        let (token, isOver, end) = state.withLock { state -> (Int, Bool, PeerEnd?) in
            state.nextObserver += 1
            let isOver = !state.isOpen || state.peerEnd != nil
            if !isOver { state.observers[state.nextObserver] = body }
            return (state.nextObserver, isOver, state.peerEnd)
        }
        if isOver { body(end) }
        return token
    }

    func removeObserver(_ token: Int) {
        state.withLock { state in
            state.observers[token] = nil
        }
    }

    /// How the client ended its side, if it did so before this side.
    var firstPeerEnd: PeerEnd? {
        state.withLock { $0.peerEndedFirst ? $0.peerEnd : nil }
    }

    // MARK: Sending

    /// Returns when the system has taken all of it. Throws if the client has gone or the connection was closed here.
    func send(_ bytes: Data) async throws {
        var rest = bytes
        while !rest.isEmpty {
            let output = try state.withLock { state -> SocketDescriptor.Output in
                guard state.isOpen, !state.hasEndedSending, state.peerEnd != .reset else { throw Closed() }
                return descriptor.writeBytes(rest)
            }
            switch output {
            case .wrote(let count): rest = rest.dropFirst(count)
            case .wouldBlock: try await writability()
            case .failed(let failure):
                // While reading is paused for want of room, this is how the client's end shows.
                let woken = state.withLock { $0.peerEnd == nil ? peerEnded(.reset, &$0) : Woken() }
                woken.resume(with: .reset)
                throw failure
            }
        }
    }

    /// Sends FIN. What the client sends from now on is read and dropped, so that closing later cannot turn into a
    /// reset that destroys what is on its way to the client.
    func endSending() {
        state.withLock { state in
            guard state.isOpen, !state.hasEndedSending else { return }
            state.hasEndedSending = true
            descriptor.endSending()
            discardInput(&state)
        }
    }

    private func writability() async throws {
        let source = try state.withLock { state in
            guard state.isOpen else { throw Closed() }
            return try writeSource(&state)
        }
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                guard state.isOpen, state.peerEnd != .reset else { return false }
                state.writer = continuation
                source.resume()
                return true
            }
            if !waits { continuation.resume() }
        }
    }

    private func writeSource(_ state: inout State) throws -> ReadinessSource {
        if let source = state.writeSource { return source }
        let watched = try descriptor.duplicate()
        let source = ReadinessSource(.write, of: watched, on: queue) {
            self.writeReady()
        } onCancel: {
            self.sourceEnded()
        }
        (state.writeDescriptor, state.writeSource) = (watched, source)
        state.liveSources += 1
        return source
    }

    /// Nil if nobody waits to write.
    private func takeWriter(_ state: inout State) -> CheckedContinuation<Void, Never>? {
        guard let writer = state.writer else { return nil }
        state.writer = nil
        state.writeSource?.pause()
        return writer
    }

    // MARK: Closing

    /// Closes both directions: with FIN, or with RST if `resetting`. The descriptor itself goes a moment later, see
    /// ``disposal()``.
    func close(resetting: Bool = false) {
        let woken = state.withLock { state -> Woken in
            guard state.isOpen else { return Woken() }
            state.isOpen = false
            if resetting {
                descriptor.armReset()
            } else {
                // Bytes left unread would turn the FIN into a reset.
                var reads = 0
                while reads < 16, case .bytes = descriptor.readBytes(upTo: Self.readAhead) { reads += 1 }
            }
            state.readSource?.cancel(isPaused: state.isReadPaused)
            let writer = takeWriter(&state)
            state.writeSource?.cancel(isPaused: true)
            state.readSource = nil
            state.writeSource = nil
            var woken = Woken(taking: &state)
            woken.continuations += [writer].compactMap { $0 }
            if state.liveSources == 0 { woken.continuations += dispose(&state) }
            return woken
        }
        woken.resume(with: nil)
    }

    /// Returns when the descriptor has been given back to the system, after ``close(resetting:)``.
    func disposal() async {
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                if !state.isDisposed { state.disposalWaiters.append(continuation) }
                return !state.isDisposed
            }
            if !waits { continuation.resume() }
        }
    }

    // MARK: On the queue

    private func readReady() {
        let (woken, end) = state.withLock { state -> (Woken, PeerEnd?) in
            guard state.isOpen, state.peerEnd == nil else { return (Woken(), nil) }
            switch descriptor.readBytes(upTo: state.discardsInput ? Self.readAhead : room(in: state)) {
            case .bytes(let bytes):
                if !state.discardsInput { state.input.append(bytes) }
                updateReading(&state)
                readAgain()
                defer { state.reader = nil }
                return (Woken(continuations: [state.reader].compactMap { $0 }), nil)
            case .wouldBlock:
                return (Woken(), nil)
            case .end:
                return (peerEnded(.finished, &state), .finished)
            case .failed:
                return (peerEnded(.reset, &state), .reset)
            }
        }
        woken.resume(with: end)
    }

    private func peerEnded(_ end: PeerEnd, _ state: inout State) -> Woken {
        state.peerEnd = end
        state.peerEndedFirst = !state.hasEndedSending
        // A socket at its end stays readable for ever.
        updateReading(&state)
        var woken = Woken(taking: &state)
        if end == .reset { woken.continuations += [takeWriter(&state)].compactMap { $0 } }
        return woken
    }

    /// On Linux a source tells the end of the connection once, also if there are bytes to be read before it: so whoever
    /// has read some, or has made room, looks himself whether there is more.
    private func readAgain() {
        queue.async { self.readReady() }
    }

    private func writeReady() {
        state.withLock { takeWriter(&$0) }?.resume()
    }

    private func sourceEnded() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.liveSources -= 1
            return state.liveSources == 0 && !state.isOpen ? dispose(&state) : []
        }
        waiters.forEach { $0.resume() }
    }

    /// Gives the socket back to the system; returns who waits for that.
    private func dispose(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        state.writeDescriptor?.dispose()
        descriptor.dispose()
        state.isDisposed = true
        defer { state.disposalWaiters = [] }
        return state.disposalWaiters
    }

    private func room(in state: State) -> Int {
        max(0, state.inputLimit - state.input.count)
    }

    /// Keeps the read source running exactly while there is room and something to come.
    private func updateReading(_ state: inout State) {
        guard let source = state.readSource else { return }
        let shouldPause = state.peerEnd != nil || !state.discardsInput && room(in: state) == 0
        guard shouldPause != state.isReadPaused else { return }
        state.isReadPaused = shouldPause
        if shouldPause {
            source.pause()
        } else {
            source.resume()
            readAgain()
        }
    }

    /// What is to be run once the lock is left.
    private struct Woken {
        var continuations: [CheckedContinuation<Void, Never>] = []
        var observers: [@Sendable (PeerEnd?) -> Void] = []

        init(continuations: [CheckedContinuation<Void, Never>] = []) {
            self.continuations = continuations
        }

        /// All that wait for the client: its bytes or its end.
        init(taking state: inout State) {
            continuations = [state.reader].compactMap { $0 }
            observers = state.observers.sorted { $0.key < $1.key }.map(\.value)
            state.reader = nil
            state.observers = [:]
        }

        func resume(with end: PeerEnd?) {
            observers.forEach { $0(end) }
            continuations.forEach { $0.resume() }
        }
    }
}
