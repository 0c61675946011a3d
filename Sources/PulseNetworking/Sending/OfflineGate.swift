// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The outermost layer of a call: one that ends without a connection, or with another failure that the policy queues,
/// before any server has answered it, goes into the offline queue, and its caller gets the entry's id.
final class OfflineGate: Sendable {
    private let queue: OfflineQueue
    private let policy: OfflineQueuePolicy
    private let environment: CallEnvironment
    /// The headers that the endpoint and its options set themselves.
    private let ownHeaders: [String: String]
    /// The chain without a wire, for a call that joins the queue: its plugins still tell who is logged in. Nil for a
    /// call that does not ask for that.
    private let wireless: PluginPipeline?

    init(
        _ queue: OfflineQueue, _ policy: OfflineQueuePolicy, environment: CallEnvironment,
        ownHeaders: [String: String], wireless: PluginPipeline?
    ) {
        self.queue = queue
        self.policy = policy
        self.environment = environment
        self.ownHeaders = ownHeaders
        self.wireless = wireless
    }

    /// Sends the request, or throws ``PulseError/queuedOffline(id:)`` once it is in the journal.
    func send(
        _ built: BuiltRequest, for call: Call, through pipeline: PluginPipeline, _ follower: RedirectFollower
    ) async throws -> PulseResponse {
        var pipeline = pipeline
        var isBehind = false
        if let wireless, try await queue.hasPending(tag: call.options.tag) { (pipeline, isBehind) = (wireless, true) }
        if call.options.auth != .anonymous, pipeline.asksForAccount {
            ContextStore(call: call)[AccountIsAsked.self] = false
        }
        do {
            return try await follower.send(built, for: call, through: pipeline)
        } catch {
            let failure = PulseError(wrapping: error)
            let queueing = failure.queueing.flatMap { policy.queues.contains($0) ? $0 : nil }
            let isQueued = isBehind ? failure.mayPass(accountIsKnown: account(of: call) != nil) : queueing != nil
            guard isQueued, !call.isResponded, !hasFailedUnasked(call),
                ContextStore(call: call)[AuthIsHandled.self] != false
            else { throw error }
            let draft = try draft(built, of: call)
            throw PulseError.queuedOffline(id: try await queue.enqueue(draft, after: isBehind ? nil : queueing))
        }
    }

    /// Puts a request into the queue that was not sent.
    ///
    /// - Parameter plugins: those of its chain, of which one may know who is logged in.
    func enqueue(_ built: BuiltRequest, of call: Call, asking plugins: [any PulsePlugin]) async throws -> UUID {
        if built.isHome {
            for case let plugin as any AsksForAccount in plugins {
                guard let account = await plugin.account(for: built.urlRequest, call.options) else { continue }
                ContextStore(call: call)[AccountID.self] = account
            }
        }
        return try await queue.enqueue(try draft(built, of: call), after: nil)
    }

    private func account(of call: Call) -> String? { ContextStore(call: call)[AccountID.self] }

    /// Whether it failed before the plugin that knows accounts was asked: later it would be sent under whichever
    /// account is logged in then.
    private func hasFailedUnasked(_ call: Call) -> Bool {
        let store = ContextStore(call: call)
        return store[AccountIsAsked.self] == false && store[AccountID.self] == nil
    }

    /// The parts of the request that may lie on a disk.
    private func draft(_ built: BuiltRequest, of call: Call) throws -> QueueDraft {
        var request = built.urlRequest
        let marked = call.markedSecrets
        var dropped: [String] = []
        for name in (request.allHTTPHeaderFields ?? [:]).keys
        where environment.redaction.isSecret(name) || marked.contains(name.asciiLowercased) {
            let isOwn = ownHeaders.header(name) != nil
            guard !isOwn || policy.stores(secretHeader: name) else {
                throw PulseError.unsupported(
                    "the endpoint sets \(name), a secret, which the offline queue does not store unless its policy's "
                        + "storableSecretHeaders has it; let a plugin or the default headers set it")
            }
            guard !isOwn else { continue }
            // A default is merged again at the replay, where nobody has marked it yet.
            request.setValue(nil, forHTTPHeaderField: name)
            dropped.append(name)
        }
        return QueueDraft(
            request: request, droppedDefaults: dropped, body: built.body, options: call.options,
            key: call.idempotencyKey, account: account(of: call))
    }
}

extension PluginPipeline {
    fileprivate var asksForAccount: Bool {
        plugins.contains { ($0 as? any AsksForAccount)?.asksForAccount == true }
    }
}

extension PulseError {
    /// Whether a call that joins its tag's queue may be queued after this failure, since it may be over when its turn
    /// comes: an open breaker, a limit, a refresh. Not a fault of the call itself, nor its cancellation.
    ///
    /// - Parameter accountIsKnown: if false, an unknown failure may have come before the account was asked for.
    fileprivate func mayPass(accountIsKnown: Bool) -> Bool {
        switch self {
        case .noConnection, .timeout, .transport, .unauthorized, .sessionExpired, .rateLimited, .http, .circuitOpen:
            true
        case .retryExhausted(let last, _): last.mayPass(accountIsKnown: accountIsKnown)
        case .custom(let error): accountIsKnown && !(error is AccountMismatch)
        default: false
        }
    }
}
