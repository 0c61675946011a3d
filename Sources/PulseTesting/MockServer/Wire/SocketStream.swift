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

    struct State {
        var channel: SocketChannel
        var isOpen = true
        /// No more bytes are kept: they are read only to learn when the client ends.
        var discardsInput = false
        var hasEndedSending = false
        var input = Data()
        var inputLimit = SocketStream.readAhead
        var peerEnd: PeerEnd?
        var peerEndedFirst = false
        /// What was wrong with the client's TLS, or with this side's in the client's eyes.
        var problem: String?
        /// Whether this side has ended the connection for the sake of ``problem``.
        var isBroken = false
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?
        /// Waits for the end of the handshake.
        var opener: CheckedContinuation<Void, Never>?
        var observers: [Int: @Sendable (PeerEnd?) -> Void] = [:]
        var nextObserver = 0

        var readSource: ReadinessSource?
        var isReadPaused = true
        /// Made when there is need of one, running exactly while something waits to be sent. On Linux the sources of
        /// one descriptor share a registration, which one takes from the other while its handler runs, and which is
        /// gone for those to come once the connection has ended: so each direction has a descriptor, and one source
        /// for all its life.
        var writeSource: ReadinessSource?
        var writeDescriptor: SocketDescriptor?
        var isWritePaused = true
        /// Sources whose cancel handler has not run: while there is one the descriptor must stay open.
        var liveSources = 0
        var isDisposed = false
        var disposalWaiters: [CheckedContinuation<Void, Never>] = []

        /// Whether nothing more comes from the client.
        var isOver: Bool { !isOpen || peerEnd != nil || isBroken }
        /// Whether bytes for the client go nowhere.
        var isDeaf: Bool { !isOpen || hasEndedSending || peerEnd == .reset || isBroken }
    }

    static let readAhead = 64 << 10

    let descriptor: SocketDescriptor
    let queue: DispatchQueue
    let state: Locked<State>
    let speaksTLS: Bool

    init(_ channel: SocketChannel, queue: DispatchQueue) {
        descriptor = channel.descriptor
        speaksTLS = channel.isUnsecured
        self.queue = queue
        state = Locked(State(channel: channel))
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

    /// What was wrong with TLS, on either side.
    var problem: String? {
        state.withLock { $0.problem }
    }

    /// Begins with TLS, if there is some to begin with.
    func secure() {
        guard speaksTLS else { return }
        let hasBegun = state.withLock { state in
            guard state.channel.isUnsecured else { return false }
            state.channel.secure(state.input)
            state.input = Data()
            updateReading(&state)
            return true
        }
        if hasBegun { readAgain() }
    }

    // MARK: Receiving

    /// The next bytes; nil once the client has ended its side. Throws if the connection was reset or
    /// closed here.
    func receive() async throws -> Data? {
        secure()
        while true {
            let next = try state.withLock { state -> Data?? in
                if !state.input.isEmpty {
                    let taken = state.input
                    state.input = Data()
                    updateReading(&state)
                    return taken
                }
                guard state.isOpen, state.peerEnd != .reset, !state.isBroken else { throw Closed() }
                return state.peerEnd == nil ? .none : .some(nil)
            }
            if let next { return next }
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard !state.isOver, state.input.isEmpty else { return false }
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

    func discardInput(_ state: inout State) {
        state.discardsInput = true
        state.input = Data()
        updateReading(&state)
    }

    /// Runs `body` once when the client ends its side (at once if it has), or with nil when the connection is closed
    /// here first.
    func onPeerEnd(_ body: @escaping @Sendable (PeerEnd?) -> Void) -> Int {
        let (token, isOver, end) = state.withLock { state -> (Int, Bool, PeerEnd?) in
            state.nextObserver += 1
            if !state.isOver { state.observers[state.nextObserver] = body }
            return (state.nextObserver, state.isOver, state.peerEnd)
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

    // MARK: Closing

    /// Closes both directions: with FIN, or with RST if `resetting`. The descriptor itself goes a moment later, see
    /// ``disposal()``.
    func close(resetting: Bool = false) {
        let woken = state.withLock { state -> Woken in
            guard state.isOpen else { return Woken() }
            state.isOpen = false
            if resetting {
                descriptor.armReset()
            } else if !state.isBroken {
                // Bytes left unread would turn the FIN into a reset, as they do where servers refuse a handshake.
                var reads = 0
                while reads < 16, case .bytes = descriptor.readBytes(upTo: Self.readAhead) { reads += 1 }
            }
            state.readSource?.cancel(isPaused: state.isReadPaused)
            let writer = takeWriter(&state)
            state.writeSource?.cancel(isPaused: state.isWritePaused)
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

    /// What is to be run once the lock is left.
    struct Woken {
        var continuations: [CheckedContinuation<Void, Never>] = []
        var observers: [@Sendable (PeerEnd?) -> Void] = []

        init(continuations: [CheckedContinuation<Void, Never>] = []) {
            self.continuations = continuations
        }

        /// All that wait for the client: its bytes or its end.
        init(taking state: inout State) {
            continuations = [state.reader, state.opener].compactMap { $0 }
            observers = state.observers.sorted { $0.key < $1.key }.map(\.value)
            state.reader = nil
            state.opener = nil
            state.observers = [:]
        }

        func resume(with end: PeerEnd?) {
            observers.forEach { $0(end) }
            continuations.forEach { $0.resume() }
        }
    }
}
