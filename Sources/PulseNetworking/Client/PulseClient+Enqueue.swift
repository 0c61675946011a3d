// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseClient {
    /// Puts a call into the offline queue at once, without trying to send it first, and gives its id there.
    ///
    /// It is in the journal when this returns. It is sent as soon as it is its turn, perhaps right away, by the rules
    /// of ``offlineQueue``: after what waits under its tag, through the client's plugins but not the endpoint's own,
    /// with one idempotency key on every try, under the account that is logged in now. `offlineQueue.result(of:)` waits
    /// for its outcome.
    ///
    /// The endpoint need not be ``Endpoint/isQueueableWhenOffline``, which decides what becomes of calls that fail. Of
    /// the plugins those of your own run now, too, as far as the wire: they may know the account, or secret headers.
    ///
    /// Throws, and stores nothing: ``PulseError/unsupported(_:)`` if the client has no offline queue, for a body that
    /// can be read only once, and for a secret header of the endpoint that the policy does not list;
    /// ``PulseError/offlineQueueFull``; ``PulseError/cancelled`` after ``shutdown()``; ``PulseError/custom(_:)`` with a
    /// `JournalFailure` if the disk fails; and what a request that cannot be built, or a plugin of your own, throws.
    @discardableResult
    public func enqueue<E: Endpoint>(
        _ endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> UUID {
        var options = options
        options.inherit(endpoint.options)
        resolve(&options, idleTimeout: endpoint.timeoutInterval)
        if options.idempotencyKey == nil { options.idempotencyKey = .automatic }
        let isAtWire = Locked(false)
        let asked = pipeline(for: endpoint.plugins, retry: .never, where: Self.isAskedBeforeQueueing) { _, _, _ in
            isAtWire.withLock { $0 = true }
            throw PulseError.noConnection
        }
        let path = Result { try endpoint.path }
        let call = call(to: (try? path.get()) ?? "", E.self, endpoint.method, options)
        // So that a shutdown waits for what is being written.
        guard !Task.isCancelled, let ticket = calls.add(tag: options.tag) else { throw PulseError.cancelled }
        defer { calls.remove(ticket) }
        do {
            guard let offline else {
                throw PulseError.unsupported("the client has no offline queue; set its offlineQueuePolicy")
            }
            if let fault = options.fault { throw PulseError.invalidRequest(reason: fault) }
            var built = try builder.build(endpoint, path: path.get(), options)
            built.writeIdempotencyKey(of: call)
            if asked.hasPlugins {
                do {
                    _ = try await follower.send(built, for: call, through: asked)
                } catch  where isAtWire.withLock({ $0 }) {}
                await PluginChain.complete(call, asked)
            }
            let gate = OfflineGate(
                offline, configuration.offlineQueuePolicy, environment: environment,
                ownHeaders: endpoint.headers.overridden(by: options.headers ?? [:]), wireless: nil)
            let all = pipeline(for: endpoint.plugins, options).plugins
            return try await gate.enqueue(built, of: call, asking: all)
        } catch {
            throw PulseError(wrapping: error).naming(call)
        }
    }

    /// Whether a plugin runs before a call is queued by hand: only the app's own code may know the account or a secret
    /// header. The library's other plugins would only make the call wait.
    private static func isAskedBeforeQueueing(_ plugin: any PulsePlugin) -> Bool {
        ((plugin as? any TellsItsHooks)?.asksTheAppForFields ?? true) && plugin.scope != .retry
    }
}
