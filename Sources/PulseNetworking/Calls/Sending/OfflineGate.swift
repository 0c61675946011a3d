// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The outermost layer of a call. It queues a call that fails without a connection, or with another failure that the
/// policy queues, before any server has responded. The caller then gets the id of the queue entry.
final class OfflineGate: Sendable {
    private let queue: OfflineQueue
    private let policy: OfflineQueuePolicy
    /// The headers that the endpoint and its options set themselves.
    private let ownHeaders: [String: String]
    /// The chain without a wire, for a call that queues behind pending entries: its plugins still set the account. Nil
    /// for a call that does not opt into this.
    private let wirelessPipeline: PluginPipeline?

    init(
        _ queue: OfflineQueue, _ policy: OfflineQueuePolicy, ownHeaders: [String: String],
        wirelessPipeline: PluginPipeline?
    ) {
        self.queue = queue
        self.policy = policy
        self.ownHeaders = ownHeaders
        self.wirelessPipeline = wirelessPipeline
    }

    /// Sends the request, or throws ``PulseError/queuedOffline(id:)`` once it is in the journal.
    func send(_ built: BuiltRequest, over route: CallRoute) async throws -> PulseResponse {
        let call = route.call
        var pipeline = route.pipeline
        var isBehind = false
        if let wirelessPipeline, try await queue.hasPending(tag: call.options.tag) {
            (pipeline, isBehind) = (wirelessPipeline, true)
        }
        let asksForAccount = call.options.auth != .anonymous && pipeline.asksForAccount
        // An earlier request of the call was for no account; this one may be for another user.
        if asksForAccount, call.account == .none { call.account = .unknown }
        if policy.queuedFailures.contains(.noConnection) {
            PluginContext.Store(call: call)[ImmediateQueueingKey.self] = true
        }
        do {
            return try await route.follower.send(built, for: call, through: pipeline)
        } catch {
            let failure = PulseError(wrapping: error)
            let queueing = failure.queueing.flatMap { policy.queuedFailures.contains($0) ? $0 : nil }
            let isQueued = isBehind ? failure.mayPass(accountIsKnown: call.account.identifier != nil) : queueing != nil
            // A call that failed before its account was requested would be replayed for any account that logs in later.
            let hasFailedUnasked = asksForAccount && call.account == .unknown
            guard isQueued, call.lastStatus == nil, !hasFailedUnasked,
                PluginContext.Store(call: call)[HandledAuthKey.self] != false
            else { throw error }
            let draft = try QueueDraft(built, of: call, ownHeaders: ownHeaders, storing: policy)
            throw PulseError.queuedOffline(id: try await queue.enqueue(draft, after: isBehind ? nil : queueing))
        }
    }
}

extension QueueDraft {
    /// Creates a draft of the request in the form that may be stored on disk. Throws ``PulseError/unsupported(_:)`` for
    /// a secret of the endpoint that the policy does not list.
    ///
    /// - Parameter ownHeaders: the headers that the endpoint and its options set themselves.
    init(
        _ built: BuiltRequest, of call: Call, ownHeaders: [String: String], storing policy: OfflineQueuePolicy
    ) throws {
        var request = built.urlRequest
        request.url = built.storableURL
        let marked = call.markedSecrets
        var dropped: [String] = []
        for (name, value) in request.allHTTPHeaderFields ?? [:]
        where call.environment.redaction.isSecret(name, value: value) || marked.contains(name.asciiLowercased) {
            let isOwn = ownHeaders.header(name) != nil
            guard !isOwn || policy.stores(secretHeader: name) else {
                throw PulseError.unsupported(
                    "the endpoint sets \(name), with a secret, which is not stored on disk unless the "
                        + "storableSecretHeaders of the offline queue's policy have it; let a plugin or the default "
                        + "headers set it")
            }
            guard !isOwn else { continue }
            // The replay merges the default headers again, when no plugin has marked them as secret yet.
            request.setValue(nil, forHTTPHeaderField: name)
            dropped.append(name)
        }
        self.init(
            request: request, droppedDefaults: dropped, body: built.body, options: call.options,
            key: call.idempotencyKey, account: call.account.identifier)
    }
}

extension PluginPipeline {
    fileprivate var asksForAccount: Bool {
        plugins.contains { ($0 as? any AccountIdentifying)?.asksForAccount == true }
    }
}

extension PulseError {
    /// Whether a call that queues behind pending entries may be queued after this failure. A failure that may have
    /// passed by the replay qualifies, such as an open circuit, a rate limit or a failed refresh. A fault of the call
    /// itself or a cancellation does not.
    ///
    /// - Parameter accountIsKnown: if false, an unknown failure may have occurred before the account was requested.
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
