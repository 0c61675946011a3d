// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Refreshes a provider's tokens, one refresh at a time, for all calls that need it.
///
/// A refresh runs in a task of this object. A waiting call may leave at any time; ``shutdown()`` ends a refresh without
/// waiters.
final class TokenRefresh: Sendable {
    typealias Waiter = CheckedContinuation<Outcome, Never>

    /// The outcome for a waiter.
    enum Outcome: Sendable {
        case token(String)
        /// The provider may have another token now.
        case recheck
        case failure(PulseError)
        /// No refresh was started, for this reason.
        case refused(PulseError)
    }

    private struct State {
        var machine = StateMachine<Waiter>()
        /// The tasks that call the provider, by the number of the call. One runs at a time.
        var workers: [Int: Task<Void, Never>] = [:]
        /// Keyed by run number.
        var timers: [Int: Task<Void, Never>] = [:]
        /// The context of the call that started the current refresh.
        var context: PluginContext?
        var waiterCount = 0
    }

    private let provider: any TokenProvider
    private let state = Locked(State())

    init(_ provider: any TokenProvider) {
        self.provider = provider
    }

    /// Must be read before the provider's token.
    var version: Int {
        state.withLock { $0.machine.version }
    }

    var isEnded: Bool {
        state.withLock { $0.machine.isEnded }
    }

    func hasEnded(_ token: String, seenAt version: Int) -> Bool {
        state.withLock { $0.machine.hasEnded(token, seenAt: version) }
    }

    func validity(of token: String, until expiry: Date, now: Date) -> StateMachine<Waiter>.Validity {
        state.withLock { $0.machine.validity(of: token, remaining: expiry.timeIntervalSince(now)) }
    }

    /// The token to use in place of a rejected one: at once if the provider has a newer one, otherwise after a refresh.
    /// Nil if the provider no longer has a token. Throws ``PulseError``; a cancelled caller leaves at once.
    func replacement(for token: String, in context: PluginContext) async throws -> String? {
        while true {
            let version = version
            guard let current = try await provider.accessToken(), !current.isEmpty else {
                // A late call gets the same error as the earlier ones.
                if isEnded { throw PulseError.sessionExpired }
                return nil
            }
            guard current == token else {
                guard !hasEnded(current, seenAt: version) else { throw PulseError.sessionExpired }
                return current
            }
            switch await outcome(of: token, seenAt: version, in: context) {
            case .token(let new): return new
            case .recheck: continue
            case .failure(let error), .refused(let error):
                context.call.record(.failsForOtherWork(true))
                throw error
            }
        }
    }

    /// Refreshes a token that is still valid; no call waits.
    func refreshAhead(of token: String, seenAt version: Int, in context: PluginContext) {
        _ = state.withLock { request(token, seenAt: version, in: context, waiter: nil, &$0) }
    }

    /// Waits for the refresh of a token, and starts it unless it is running.
    func outcome(of token: String, seenAt version: Int, in context: PluginContext) async -> Outcome {
        let id = state.withLock { state in
            state.waiterCount += 1
            return state.waiterCount
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let decision = state.withLock { state -> StateMachine<Waiter>.Decision in
                    // A cancellation before this line found no waiter to resume.
                    if Task.isCancelled { return .refuse(.cancelled) }
                    return request(token, seenAt: version, in: context, waiter: (id, continuation), &state)
                }
                switch decision {
                case .begin, .takeOver, .wait: break
                case .recheck: continuation.resume(returning: .recheck)
                case .refuse(let error): continuation.resume(returning: .refused(error))
                case .refuseLoop(let isFirst):
                    if isFirst { warnOfLoop(in: context) }
                    continuation.resume(returning: .refused(.sessionExpired))
                }
            }
        } onCancel: {
            self.state.withLock { $0.machine.leave(id) }?.resume(returning: .failure(.cancelled))
        }
    }

    /// Ends the current refresh unless calls wait for it: they may belong to another client.
    func shutdown() async {
        let (context, tasks) = state.withLock { state -> (PluginContext?, [Task<Void, Never>]) in
            let kept = state.machine.abandon()
            let context = kept == nil ? state.context : nil
            if kept == nil { state.context = nil }
            return (
                context,
                state.workers.filter { $0.key != kept?.providerCall }.map(\.value)
                    + state.timers.filter { $0.key != kept?.run }.map(\.value)
            )
        }
        if let context { context.emit(.authRefreshFailed(context.summary, PulseError.Summary(.cancelled))) }
        tasks.forEach { $0.cancel() }
        // The provider may shut down a client from within its refresh, which would then wait for itself.
        guard !WorkScope.isWithin(self) else { return }
        for task in tasks { await task.value }
    }

    // MARK: A refresh

    private func request(
        _ token: String, seenAt version: Int, in context: PluginContext, waiter: (id: Int, value: Waiter)?,
        _ state: inout State
    ) -> StateMachine<Waiter>.Decision {
        let decision = state.machine.request(token, seenAt: version, now: context.clock.uptime, waiter: waiter)
        // Under the lock, so that a shutdown finds the tasks. They start on other threads.
        switch decision {
        case .begin(let number):
            state.context = context
            state.workers[number] = worker(number, for: context)
            state.timers[number] = timer(number, for: context)
        case .takeOver(let number):
            state.context = context
            state.timers[number] = timer(number, for: context)
        case .wait, .recheck, .refuse, .refuseLoop: break
        }
        return decision
    }

    private func worker(_ number: Int, for context: PluginContext) -> Task<Void, Never> {
        // High priority, regardless of the first call's, since others may wait.
        Task(priority: .userInitiated) {
            context.emit(.authRefreshStarted(context.summary))
            await WorkScope.run(self) { await self.refresh(number, for: context) }
            self.state.withLock { $0.workers[number] = nil }
        }
    }

    private func timer(_ number: Int, for context: PluginContext) -> Task<Void, Never> {
        Task {
            let isOver = (try? await context.clock.sleep(RefreshLimits.timeout, for: .timeout)) != nil
            if isOver { self.expire(number, for: context) }
            self.state.withLock { $0.timers[number] = nil }
        }
    }

    private func refresh(_ number: Int, for context: PluginContext) async {
        var result: Result<String, PulseError>
        do {
            let token = try await provider.refreshToken()
            result =
                token.isEmpty
                ? .failure(.invalidRequest(reason: "the token provider's refresh returned an empty token"))
                : .success(token)
        } catch {
            result = .failure(PulseError(wrapping: error))
        }
        var (lifetime, current): (TimeInterval?, String?)
        if (try? result.get()) != nil {
            lifetime = await provider.tokenExpiry?.timeIntervalSince(context.clock.now)
        } else {
            // A user may have logged in again while the refresh of the old session failed.
            current = try? await provider.accessToken()
        }
        if finish(number, result, current, lifetime, for: context) { await provider.handleAuthenticationFailure() }
        if let failure = (provider as? any NotesStoreFailures)?.takeStoreFailure() {
            // Another error's text may hold a secret.
            let text = (failure as? SecretStoreFailure)?.description ?? PulseError.Summary(.custom(failure)).message
            context.emit(.warning("the token store failed, which the session survives: \(text)"))
        }
    }

    /// Ends a run; returns whether the session is over. An ignored result changes nothing.
    private func finish(
        _ number: Int, _ result: Result<String, PulseError>, _ current: String?, _ lifetime: TimeInterval?,
        for context: PluginContext
    ) -> Bool {
        let now = context.clock.uptime
        let (finish, timer) = state.withLock { state -> (StateMachine<Waiter>.Finish, Task<Void, Never>?) in
            let finish = state.machine.finish(number, result, current: current, lifetime: lifetime, now: now)
            switch finish {
            case .ended(let ending):
                state.context = nil
                return (finish, state.timers[ending.run])
            case .again(let number): state.workers[number] = worker(number, for: context)
            case .late, .ignored: break
            }
            return (finish, nil)
        }
        timer?.cancel()
        switch finish {
        case .again, .ignored:
            return false
        case .late(let endsSession):
            if endsSession { context.emit(.sessionExpired(context.summary)) }
            return endsSession
        case .ended(let ending):
            switch result {
            case .success: context.emit(.authRefreshSucceeded(context.summary))
            case .failure(let error): context.emit(.authRefreshFailed(context.summary, PulseError.Summary(error)))
            }
            if ending.endsSession { context.emit(.sessionExpired(context.summary)) }
            ending.resumeWaiters()
            return ending.endsSession
        }
    }

    /// Cancels the provider's refresh. The provider is not called again until it returns.
    private func expire(_ number: Int, for context: PluginContext) {
        let now = context.clock.uptime
        let (ending, worker) = state.withLock { state -> (StateMachine<Waiter>.Ending?, Task<Void, Never>?) in
            guard let (ending, providerCall) = state.machine.expire(number, .refreshTimeout, now: now) else {
                return (nil, nil)
            }
            state.context = nil
            return (ending, state.workers[providerCall])
        }
        guard let ending else { return }
        context.emit(.authRefreshFailed(context.summary, PulseError.Summary(.refreshTimeout)))
        // Before the waiters resume: the next call must find the refresh cancelled.
        worker?.cancel()
        ending.resumeWaiters()
    }

    private func warnOfLoop(in context: PluginContext) {
        context.emit(
            .warning(
                "the server rejects tokens as fast as they are refreshed: more than \(RefreshLimits.loopCount) times in "
                    + "\(Int(RefreshLimits.loopWindow)) s; calls fail with sessionExpired until that is over"))
    }
}

extension TokenRefresh.StateMachine<TokenRefresh.Waiter>.Ending {
    fileprivate func resumeWaiters() {
        waiters.forEach { $0.resume(returning: outcome) }
        others.forEach { $0.resume(returning: .recheck) }
    }
}

extension PulseError {
    fileprivate static var refreshTimeout: PulseError {
        .transport(
            .timedOut, underlying: TransportFailure(code: .timedOut, phase: .maybeSent, underlying: RefreshTimeout()))
    }
}

/// The failure of a refresh that takes too long.
private struct RefreshTimeout: Error, CustomStringConvertible {
    var description: String { "the token provider's refresh took longer than \(Int(RefreshLimits.timeout)) s" }
}
