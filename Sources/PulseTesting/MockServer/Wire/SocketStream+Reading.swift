// SPDX-License-Identifier: MIT

import PulseCore

extension SocketStream {
    // MARK: On the queue

    func readReady() {
        let (woken, end) = state.withLock { state -> (Woken, PeerEnd?) in
            guard !state.isOver else { return (Woken(), nil) }
            let input = state.channel.read(upTo: state.discardsInput ? Self.readAhead : room(in: state))
            if !state.channel.isFlushed { flushLater(&state) }
            switch input {
            case .bytes(let bytes):
                if !state.discardsInput { state.input.append(bytes) }
                updateReading(&state)
                readAgain()
                defer { state.reader = nil }
                return (Woken(continuations: [state.reader, takeOpener(&state)].compactMap { $0 }), nil)
            case .wouldBlock:
                return (Woken(continuations: [takeOpener(&state)].compactMap { $0 }), nil)
            case .end:
                return (peerEnded(.finished, &state), .finished)
            case .failed:
                return (peerEnded(.reset, &state), .reset)
            case .refused(let problem):
                state.problem = problem
                return (peerEnded(.finished, &state), .finished)
            case .broken(let problem):
                return (broken(problem, &state), nil)
            }
        }
        woken.resume(with: end)
    }

    /// Nil without a waiter for the handshake, or while the handshake continues.
    private func takeOpener(_ state: inout State) -> CheckedContinuation<Void, Never>? {
        guard state.channel.isReady else { return nil }
        defer { state.opener = nil }
        return state.opener
    }

    /// The client's TLS is invalid: nothing more is read or sent.
    private func broken(_ problem: String, _ state: inout State) -> Woken {
        state.problem = problem
        state.isBroken = true
        updateReading(&state)
        var woken = Woken(taking: &state)
        woken.continuations += [takeWriter(&state)].compactMap { $0 }
        return woken
    }

    func peerEnded(_ end: PeerEnd, _ state: inout State) -> Woken {
        state.peerEnd = end
        state.peerEndedFirst = !state.hasEndedSending
        // A socket at its end stays readable forever.
        updateReading(&state)
        var woken = Woken(taking: &state)
        if end == .reset { woken.continuations += [takeWriter(&state)].compactMap { $0 } }
        return woken
    }

    /// On Linux a source reports the end of the connection once, even if there are bytes to read before it. So each
    /// reader that has read bytes or freed buffer space checks for more.
    func readAgain() {
        queue.async { self.readReady() }
    }

    func sourceEnded() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.liveSources -= 1
            return state.liveSources == 0 && !state.isOpen ? dispose(&state) : []
        }
        waiters.forEach { $0.resume() }
    }

    /// Closes the descriptor; returns the continuations that wait for that.
    func dispose(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        state.writeDescriptor?.dispose()
        descriptor.dispose()
        state.isDisposed = true
        defer { state.disposalWaiters = [] }
        return state.disposalWaiters
    }

    func room(in state: State) -> Int {
        max(0, state.inputLimit - state.input.count)
    }

    /// Keeps the read source running exactly while there is buffer space and more input is possible.
    func updateReading(_ state: inout State) {
        guard let source = state.readSource else { return }
        let shouldPause = state.peerEnd != nil || state.isBroken || !state.discardsInput && room(in: state) == 0
        guard shouldPause != state.isReadPaused else { return }
        state.isReadPaused = shouldPause
        if shouldPause {
            source.pause()
        } else {
            source.resume()
            readAgain()
        }
    }
}
