// SPDX-License-Identifier: MIT

import Foundation
import PulseCore
import Testing

@testable import PulseTransports

/// A channel whose callbacks a test calls.
final class ScriptedChannel: CallbackChannel {
    private struct State {
        var report: (@Sendable (CallbackChannelEvent) -> Void)?
        var receives: [@Sendable (Data?, Bool, CallbackFailure?) -> Void] = []
        var sends: [@Sendable (CallbackFailure?) -> Void] = []
        var calls: [Call] = []
        var hook: (@Sendable () -> Void)?
    }

    enum Call: Equatable {
        case start, finish, cancel
        case receive(upTo: Int)
        case send([UInt8])
    }

    static let reset = CallbackFailure(cause: .posix(.ECONNRESET), underlying: POSIXError(.ECONNRESET))

    private let state = Locked(State())

    /// All calls so far but repeated cancellations.
    var calls: [Call] {
        state.withLock(\.calls).reduce(into: []) { if $1 != .cancel || $0.last != .cancel { $0.append($1) } }
    }

    /// The number of receives without a completion.
    var receiveCount: Int { state.withLock(\.receives.count) }

    // MARK: The test's side

    /// Runs `body` at the beginning of the next send or receive.
    func once(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.hook = body }
    }

    private func runHook() {
        state.withLock { state in
            defer { state.hook = nil }
            return state.hook
        }?()
    }

    func report(_ event: CallbackChannelEvent) {
        state.withLock { $0.report }?(event)
    }

    /// Completes the oldest receive.
    func deliver(_ bytes: [UInt8]? = nil, isEnd: Bool = false, _ failure: CallbackFailure? = nil) throws {
        let receive = try #require(state.withLock { $0.receives.isEmpty ? nil : $0.receives.removeFirst() })
        receive(bytes.map { Data($0) }, isEnd, failure)
    }

    /// Completes the oldest send.
    func take(_ failure: CallbackFailure? = nil) throws {
        let send = try #require(state.withLock { $0.sends.isEmpty ? nil : $0.sends.removeFirst() })
        send(failure)
    }

    // MARK: CallbackChannel

    func start(_ report: @escaping @Sendable (CallbackChannelEvent) -> Void) {
        state.withLock { state in
            state.calls.append(.start)
            state.report = report
        }
    }

    func receive(upTo limit: Int, _ completion: @escaping @Sendable (Data?, Bool, CallbackFailure?) -> Void) {
        runHook()
        state.withLock { state in
            state.calls.append(.receive(upTo: limit))
            state.receives.append(completion)
        }
    }

    func send(_ bytes: Data, _ completion: @escaping @Sendable (CallbackFailure?) -> Void) {
        runHook()
        state.withLock { state in
            state.calls.append(.send([UInt8](bytes)))
            state.sends.append(completion)
        }
    }

    func finish() {
        state.withLock { $0.calls.append(.finish) }
    }

    func cancel() {
        state.withLock { $0.calls.append(.cancel) }
    }
}
