// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

extension SocketStream {
    /// Returns when the handshake is over or has failed.
    private func establishment() async {
        secure()
        await state.suspend(if: { !$0.channel.isReady && !$0.isOver }) { $0.opener = $1 }
    }

    /// Returns when the system has accepted all bytes. Throws if the client has disconnected or the connection was
    /// closed locally.
    func send(_ bytes: Data) async throws {
        guard !bytes.isEmpty else { return }
        if speaksTLS { await establishment() }
        try await send(bytes) { $0.write(&$1) }
    }

    /// The same beneath TLS, or before it.
    func sendUnencrypted(_ bytes: Data) async throws {
        try await send(bytes) { $0.writeUnencrypted(&$1) }
    }

    /// Sends TLS's closure alert, if there is TLS.
    func sendClosureAlert() async throws {
        let isNeeded = state.withLock { state in
            guard !state.isDeaf else { return false }
            state.channel.writeClosureAlert()
            return !state.channel.isFlushed
        }
        if isNeeded { try await send(Data()) { channel, _ in channel.flush() } }
    }

    /// Sends what the system accepts at once, and TLS's closure alert. No other task may be sending.
    func sendAtOnce(_ bytes: Data) {
        state.withLock { state in
            guard !state.isDeaf, state.channel.isReady else { return }
            var rest = bytes
            _ = state.channel.write(&rest)
            state.channel.writeClosureAlert()
            _ = state.channel.flush()
        }
    }

    private func send(
        _ bytes: Data, _ write: (inout SocketChannel, inout Data) -> SocketDescriptor.Output
    ) async throws {
        var rest = bytes
        while true {
            let (output, isDone) = try state.withLock { state in
                guard !state.isDeaf else { throw Closed() }
                let output = write(&state.channel, &rest)
                return (output, rest.isEmpty && state.channel.isFlushed)
            }
            switch output {
            case .wrote: if isDone { return }
            case .wouldBlock: try await writability()
            case .failed(let failure):
                // While reading is paused because the buffer is full, a failed write reveals the client's end.
                let woken = state.withLock { $0.peerEnd == nil ? peerEnded(.reset, &$0) : Woken() }
                woken.resume(with: .reset)
                throw failure
            }
        }
    }

    /// Sends FIN. Later input is read and discarded, so that closing later cannot cause a reset that destroys data in
    /// flight to the client.
    func endSending() {
        state.withLock { state in
            guard state.isOpen, !state.hasEndedSending else { return }
            state.hasEndedSending = true
            descriptor.endSending()
            discardInput(&state)
        }
    }

    /// Returns when the client's system has received the sent bytes, as far as it accepts them: a later reset does not
    /// discard them.
    func delivery() async {
        while state.withLock({ $0.isOpen && descriptor.isDelivering }) { await Task.yield() }
    }

    private func writability() async throws {
        _ = try state.withLock { state in
            guard state.isOpen else { throw Closed() }
            return try writeSource(&state)
        }
        await state.suspend(if: { !$0.isDeaf }) {
            $0.writer = $1
            resumeWriting(&$0)
        }
    }

    private func resumeWriting(_ state: inout State) {
        guard state.isWritePaused, let source = state.writeSource else { return }
        state.isWritePaused = false
        source.resume()
    }

    private func pauseWriting(_ state: inout State) {
        guard !state.isWritePaused, let source = state.writeSource else { return }
        state.isWritePaused = true
        source.pause()
    }

    func writeSource(_ state: inout State) throws -> ReadinessSource {
        if let source = state.writeSource { return source }
        let watched = try descriptor.duplicate()
        let source = ReadinessSource(.write, of: watched.number, by: poller, on: queue) {
            self.writeReady()
        } onCancel: {
            self.sourceEnded()
        }
        (state.writeDescriptor, state.writeSource) = (watched, source)
        state.liveSources += 1
        return source
    }

    /// Nil if there is no waiting writer.
    func takeWriter(_ state: inout State) -> CheckedContinuation<Void, Never>? {
        pauseWriting(&state)
        defer { state.writer = nil }
        return state.writer
    }

    private func writeReady() {
        let writer = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.writer == nil, case .wouldBlock = state.channel.flush() { return nil }
            return takeWriter(&state)
        }
        writer?.resume()
    }

    /// TLS's own messages are sent when the socket is writable.
    func flushLater(_ state: inout State) {
        guard state.isOpen, (try? writeSource(&state)) != nil else { return }
        resumeWriting(&state)
    }
}
