// SPDX-License-Identifier: MIT

import PulseCore
public import PulseStorage

extension PulseClient {
    /// The queue of calls that wait for a connection; nil if the configuration's
    /// ``PulseConfiguration/offlineQueuePolicy`` is disabled, as it is by default.
    public var offlineQueue: OfflineQueue? { offline }

    static func offlineQueue(_ configuration: PulseConfiguration, _ environment: CallEnvironment) -> OfflineQueue? {
        let policy = configuration.offlineQueuePolicy
        guard policy.isEnabled else { return nil }
        return OfflineQueue(
            policy: policy, directory: policy.journalDirectory(baseURL: configuration.baseURL),
            clock: configuration.clock, randomness: configuration.randomness,
            connectivity: configuration.connectivity ?? .system, events: environment.events,
            redaction: environment.redaction)
    }

    /// The offline gate of a call whose endpoint is queueable; nil for all other calls. A queueable call has an
    /// idempotency key from its first attempt on.
    func gate<E: Endpoint>(for endpoint: E, _ options: inout RequestOptions) -> OfflineGate? {
        guard let offline, endpoint.isQueueableWhenOffline else { return nil }
        if options.idempotencyKey == nil { options.idempotencyKey = .automatic }
        let wirelessPipeline =
            options.queuesBehindPending == true
            ? pipeline(for: endpoint.plugins, retry: .never) { request, context, _ in
                do throws(PulseError) {
                    if let url = request.url { try context.checkAuth(of: request, at: url) }
                } catch {
                    // The call is not queued: no plugin would add a credential at the replay.
                    context.store[HandledAuthKey.self] = false
                    throw error
                }
                throw PulseError.noConnection
            } : nil
        return OfflineGate(
            offline, configuration.offlineQueuePolicy,
            ownHeaders: endpoint.headers.overridden(by: options.headers ?? [:]), wirelessPipeline: wirelessPipeline)
    }

    /// Sends a queue entry as a regular call, with all plugins of the client. The call fails if its account is no
    /// longer logged in.
    func replay(_ replay: QueuedSend) async -> ReplayOutcome {
        var options = replay.options
        // An accepted 401 would bypass the auth plugin, and a replay has no caller to handle it.
        options.acceptedStatuses = options.acceptedStatuses?.without(401)
        // Still queueable, so that the call records whether a server has responded.
        let plan = plan(replaying: replay, options, isQueueable: true)
        let call = plan.call
        do {
            return ReplayOutcome(result: .success(try await perform(plan)))
        } catch {
            let failure = PulseError(wrapping: error)
            return ReplayOutcome(
                result: .failure(failure), isOfOtherAccount: failure.meansAnotherAccount,
                isUnsent: call.sentCount == 0 && call.lastStatus == nil, isOfOtherWork: call.failsForOtherWork,
                status: call.lastStatus)
        }
    }

    /// The call of a stored request, which is sent only for its account.
    package func plan(
        replaying replay: QueuedSend, _ options: RequestOptions, _ shape: CallShape = CallShape(),
        isQueueable: Bool = false
    ) -> CallPlan {
        var options = options
        resolve(&options, idleTimeout: 0)
        let wire = shape.substitute.map { self.wire(over: $0) } ?? pipeline.wire
        let pipeline = pipeline(for: [], retry: nil) { request, context, plugins in
            guard !context.call.isOfOtherAccount else { throw PulseError.custom(PulseError.AccountMismatch()) }
            return try await wire(request, context, plugins)
        }
        let call = call(
            to: replay.request.url?.absoluteString ?? "", nil,
            HTTPMethod(rawValue: replay.request.httpMethod ?? "GET") ?? .get, options,
            shape.delivery, isQueueable: isQueueable, environment: shape.substitute?.environment)
        PluginContext.Store(call: call)[ExpectedAccount.self] = replay.account
        return CallPlan(call, pipeline, shape.carrier ?? DirectCarrier()) { [builder] in
            try builder.rebuild(replay, call.options)
        }
    }
}

extension PulseError {
    /// Whether the call was not sent because another account is logged in. The error of the account check identifies
    /// this case, since a call may also fail before that check.
    package var meansAnotherAccount: Bool {
        switch self {
        case .custom(is AccountMismatch): true
        case .retryExhausted(let last, _), .deadlineExceeded(let last?): last.meansAnotherAccount
        default: false
        }
    }
}

extension Call {
    /// Whether the account under which the call was queued is no longer logged in.
    fileprivate var isOfOtherAccount: Bool {
        guard let expected = PluginContext.Store(call: self)[ExpectedAccount.self] else { return false }
        return account != .known(expected)
    }
}
