// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulsePlatform

/// One accepted connection as an async stream of bytes in both directions.
///
/// Reads ahead up to a limit even without a receiver, so that a client's disconnect is noticed at once. One task
/// receives and one sends; everything else is safe from any thread. Closing wakes all waiters.
final class SocketStream: Sendable {
    /// How the client ended its side.
    enum PeerEnd: Sendable {
        case finished, reset
    }

    struct Closed: Error {}

    struct State {
        var channel: SocketChannel
        var isOpen = true
        /// Whether bytes are discarded: they are read only to detect the client's end.
        var discardsInput = false
        var hasEndedSending = false
        var input = Data()
        var inputLimit = SocketStream.readAhead
        var peerEnd: PeerEnd?
        var peerEndedFirst = false
        /// The TLS error of the client, or the one that the client reported.
        var problem: String?
        /// Whether this side has ended the connection because of ``problem``.
        var isBroken = false
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?
        /// The waiter for the end of the handshake.
        var opener: CheckedContinuation<Void, Never>?
        var observers: [Int: @Sendable (PeerEnd?) -> Void] = [:]
        var nextObserver = 0

        var readSource: ReadinessSource?
        var isReadPaused = true
        /// Made on demand, running exactly while data waits to be sent. A descriptor has one source, so each direction
        /// has its own descriptor.
        var writeSource: ReadinessSource?
        var writeDescriptor: SocketDescriptor?
        var isWritePaused = true
        /// Sources whose cancel handler has not run: while there is one, the descriptor must stay open.
        var liveSources = 0
        var isDisposed = false
        var disposalWaiters: [CheckedContinuation<Void, Never>] = []

        /// Whether the client will send nothing more.
        var isOver: Bool { !isOpen || peerEnd != nil || isBroken }
        /// Whether bytes for the client cannot be delivered.
        var isDeaf: Bool { !isOpen || hasEndedSending || peerEnd == .reset || isBroken }
    }

    static let readAhead = 64 << 10

    let descriptor: SocketDescriptor
    let queue: DispatchQueue
    let poller: ReadinessPoller
    let state: Locked<State>
    let speaksTLS: Bool

    init(_ channel: SocketChannel, _ poller: ReadinessPoller, queue: DispatchQueue) {
        descriptor = channel.descriptor
        speaksTLS = channel.isUnsecured
        self.queue = queue
        self.poller = poller
        state = Locked(State(channel: channel))
    }

    /// Starts reading. The sources retain this object until ``close(resetting:)``.
    func open() {
        state.withLock { state in
            guard state.isOpen, state.readSource == nil else { return }
            state.readSource = ReadinessSource(.read, of: descriptor.number, by: poller, on: queue) {
                self.readReady()
            } onCancel: {
                self.sourceEnded()
            }
            state.liveSources += 1
            updateReading(&state)
        }
    }

    /// The TLS error of either side.
    var problem: String? {
        state.withLock { $0.problem }
    }

    /// Whether ALPN has selected a protocol, which is known once a byte was received.
    var hasProtocol: Bool {
        state.withLock { $0.channel.hasProtocol }
    }

    /// Starts TLS, if it is configured.
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

    /// The next bytes; nil once the client has ended its side. Throws if the connection was reset or closed locally, or
    /// if the task is cancelled and nothing has arrived.
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
            try Task.checkCancellation()
            await state.suspend(if: { !$0.isOver && $0.input.isEmpty }) {
                $0.reader = $1
            } onCancel: {
                $0.reader.take()
            }
        }
    }

    /// The bytes that the system still holds after a failed write has ended reading; nil if there are none.
    func leftover() -> Data? {
        state.withLock { state in
            guard state.isOpen, case .bytes(let bytes) = descriptor.readBytes(upTo: Self.readAhead) else { return nil }
            return bytes
        }
    }

    /// Limits the read-ahead of ``receive()``; nil for the usual 64 KiB. A lower limit slows a fast client down, and
    /// its end is then noticed only after its bytes were received.
    func limitReadAhead(to limit: Int?) {
        state.withLock { state in
            state.inputLimit = limit ?? Self.readAhead
            updateReading(&state)
        }
    }

    /// Reads and discards input, to detect the client's end whatever it sends before that.
    func discardInput() {
        state.withLock { discardInput(&$0) }
    }

    func discardInput(_ state: inout State) {
        state.discardsInput = true
        state.input = Data()
        updateReading(&state)
    }

    /// Runs `body` once when the client ends its side (at once if it has), or with nil when the connection is closed
    /// locally first.
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

    /// Closes both directions: with FIN, or with RST if `resetting`. The descriptor itself is closed a moment later,
    /// see ``disposal()``.
    func close(resetting: Bool = false) {
        let woken = state.withLock { state -> Woken in
            guard state.isOpen else { return Woken() }
            state.isOpen = false
            if resetting {
                descriptor.reset()
            } else if !state.isBroken {
                // Unread bytes would turn the FIN into a reset, as in servers that refuse a handshake.
                var reads = 0
                while reads < 16, case .bytes = descriptor.readBytes(upTo: Self.readAhead) { reads += 1 }
            }
            state.readSource?.cancel()
            let writer = takeWriter(&state)
            state.writeSource?.cancel()
            state.readSource = nil
            state.writeSource = nil
            var woken = Woken(taking: &state)
            woken.continuations += [writer].compactMap { $0 }
            if state.liveSources == 0 { woken.continuations += dispose(&state) }
            return woken
        }
        woken.resume(with: nil)
    }

    /// Returns when the descriptor has been closed, after ``close(resetting:)``.
    func disposal() async {
        await state.suspend(if: { !$0.isDisposed }) { $0.disposalWaiters.append($1) }
    }

    /// The continuations and actions to run after unlocking.
    struct Woken {
        var continuations: [CheckedContinuation<Void, Never>] = []
        var observers: [@Sendable (PeerEnd?) -> Void] = []

        init(continuations: [CheckedContinuation<Void, Never>] = []) {
            self.continuations = continuations
        }

        /// All waiters for the client's bytes or end.
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

extension SocketStream {
    /// Runs `body` in a task that is cancelled when the client disconnects or the server shuts down, and waits for it.
    func whilePeerStays<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task { try await body() }
        let token = onPeerEnd { _ in task.cancel() }
        defer { removeObserver(token) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
