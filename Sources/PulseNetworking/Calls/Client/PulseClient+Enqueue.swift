// SPDX-License-Identifier: MIT

public import PulseCore
import PulseStorage

extension PulseClient {
    /// Adds a call to the offline queue without trying to send it first, and returns the id of its queue entry.
    ///
    /// The entry is in the journal when this method returns. The queue sends it by the rules of ``offlineQueue``: after
    /// the pending entries with its tag, perhaps right away. The entry stores the account that is logged in now. Every
    /// attempt has the same idempotency key, and runs through the client's plugins, but not through the endpoint's own.
    /// `offlineQueue.result(of:)` waits for the outcome.
    ///
    /// The endpoint need not be ``Endpoint/isQueueableWhenOffline``, which applies only to failed calls. The app's own
    /// plugins also run now, up to the wire: they may set the account or secret headers.
    ///
    /// If the method throws, the call is not stored. It throws:
    /// - ``PulseError/unsupported(_:)`` if the client has no offline queue, for a body that can be read only once, and
    ///   for a secret header of the endpoint that the policy does not list;
    /// - ``PulseError/offlineQueueFull``;
    /// - ``PulseError/cancelled`` after ``shutdown(grace:)-(TimeInterval)``;
    /// - ``PulseError/custom(_:)`` with a `JournalFailure` if the disk fails;
    /// - the error of a request that cannot be built, or of a plugin of the app.
    @discardableResult
    public func enqueue<E: Endpoint>(
        _ endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> UUID {
        var options = options
        if options.idempotencyKey == nil, endpoint.options.idempotencyKey == nil { options.idempotencyKey = .automatic }
        let policy = configuration.offlineQueuePolicy
        return try await drafting(endpoint, options, storing: policy) {
            guard offline != nil else {
                throw PulseError.unsupported("the client has no offline queue; set its offlineQueuePolicy")
            }
        } store: { draft in
            guard let offline else { throw PulseError.cancelled }
            return try await offline.enqueue(draft, after: nil)
        }
    }

    /// Builds an endpoint's request in storable form, with the account that is logged in, and stores it. A client
    /// shutdown waits for this.
    ///
    /// - Parameter accept: the `Accept` of a request that does not set it, as for a sent request.
    /// - Parameter check: throws to refuse the call before its request is built.
    package func drafting<E: Endpoint, Value>(
        _ endpoint: E, _ options: RequestOptions, accept: String? = nil, storing policy: OfflineQueuePolicy,
        check: () throws -> Void = {}, store: (QueueDraft) async throws -> Value
    ) async throws -> Value {
        var options = options
        options.inherit(endpoint.options)
        resolve(&options, idleTimeout: endpoint.timeoutInterval)
        let isAtWire = Locked(false)
        let asked = pipeline(for: endpoint.plugins, retry: .never, where: Self.isAskedBeforeQueueing) { _, _, _ in
            isAtWire.withLock { $0 = true }
            throw PulseError.noConnection
        }
        let body = endpoint.body
        let content = body.callContent
        if options.route == nil, let route = content?.route { options.route = route }
        let path = path(of: endpoint, content)
        let call = call(to: (try? path.get()) ?? "", E.self, endpoint.method, options)
        // Registered, so that a shutdown waits for the write to the journal.
        let active = ActiveCall(call, asked, in: calls)
        guard !Task.isCancelled, calls.add(active) else { throw PulseError.cancelled }
        defer { calls.remove(active) }
        do {
            try check()
            if let fault = options.fault { throw PulseError.invalidRequest(reason: fault) }
            try content?.check()
            var built = try builder.build(endpoint, path: path.get(), body, options, accept: accept)
            built.writeIdempotencyKey(of: call)
            if asked.hasPlugins {
                do {
                    _ = try await follower.send(built, for: call, through: asked)
                } catch  where isAtWire.withLock({ $0 }) {}
                await PluginChain.complete(call, asked)
            }
            if built.isHome {
                for case let plugin as any AccountIdentifying in pipeline(for: endpoint.plugins, options).plugins {
                    let account = await plugin.account(for: built.urlRequest, call.options)
                    if account != .none { call.account = account }
                }
            }
            let ownHeaders = endpoint.headers.overridden(by: options.headers ?? [:])
            return try await store(QueueDraft(built, of: call, ownHeaders: ownHeaders, storing: policy))
        } catch {
            throw PulseError(wrapping: error).naming(call)
        }
    }

    /// Whether a plugin runs before a call is stored: only the app's own code may know the account or a secret
    /// header. The library's other plugins would only delay the call.
    private static func isAskedBeforeQueueing(_ plugin: any PulsePlugin) -> Bool {
        ((plugin as? any HookDeclaring)?.asksTheAppForFields ?? true) && plugin.scope != .retry
    }
}
