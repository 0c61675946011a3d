// SPDX-License-Identifier: MIT

/// A layer around calls: it prepares requests, looks at answers, answers by itself, or calls the rest of the chain again.
///
/// Most plugins need only the hooks (``prepare(_:for:)``, ``didReceive(_:for:)`` …) and never meet
/// ``intercept(_:for:next:)``. Every method is called concurrently for concurrent calls; what a plugin keeps must be
/// thread-safe, what belongs to one call goes into ``PluginContext/store``. Any error may be thrown: the chain turns it
/// into a ``PulseError``.
///
/// Mind the optional result of ``didReceive(_:for:)``: a method that returns `Result<…>` without the `?` compiles as a
/// member of its own and is never called.
public protocol PulsePlugin: Sendable {
    /// A reverse-DNS name: `com.example.audit`.
    var identifier: String { get }

    /// Where in the chain the plugin stands: around each attempt unless it says otherwise.
    var scope: PluginScope { get }

    /// Changes the request on its way in. Throwing aborts the call with that error.
    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws

    /// Sees the final request, secrets stripped, right before each time it goes to the wire.
    func willSend(_ request: URLRequest, for context: PluginContext) async

    /// Sees the outcome on its way out; a result replaces it, nil leaves it as it is. A status is no error here: any
    /// answer of a server is a success, see ``PulseError/init(validating:accepted:)``. Not called if this plugin's own
    /// `prepare` threw.
    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>?

    /// Runs once a call, after decoding, for every plugin that was entered, in reverse order, whatever the end; for a
    /// streamed call when its stream has ended.
    func didComplete(_ context: PluginContext) async

    /// Stands around the rest of the chain: may answer without calling `next`, or call it several times.
    ///
    /// The default runs the hooks, see ``runHooks(_:for:next:)``. A plugin that drops a streamed answer cancels it.
    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse

    /// Ends the background work of the moment; the plugin stays usable, since several clients may share it.
    func shutdown() async
}

/// Where in the chain a plugin stands. Within a scope the caller's order holds, outermost first.
public enum PluginScope: Int, Sendable, Hashable, Comparable {
    /// Once around all attempts of a call (of each redirect hop).
    case call
    /// In the place of the retry loop: the plugin repeats what is further in.
    case retry
    /// Around each attempt.
    case attempt

    public static func < (left: PluginScope, right: PluginScope) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension PulsePlugin {
    public var scope: PluginScope { .attempt }

    public func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {}

    public func willSend(_ request: URLRequest, for context: PluginContext) async {}

    public func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>? {
        nil
    }

    public func didComplete(_ context: PluginContext) async {}

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        try await runHooks(request, for: context, next: next)
    }

    public func shutdown() async {}

    /// `prepare`, then the rest of the chain, then `didReceive`: for a plugin that has an `intercept` of its own and
    /// still wants its hooks.
    public func runHooks(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        var request = request
        try await prepare(&request, for: context)
        let result = await next.result(request, context: context)
        // By a pattern: an answer that is taken out by `get` is copied.
        var streamed: ByteStream?
        if case .success(let response) = result { streamed = response.bytes }
        do {
            let response = try await didReceive(result, for: context)?.get() ?? result.get()
            // Another stream may be made of this one; without one nobody reads it.
            if let streamed, response.bytes == nil { streamed.cancel() }
            return response
        } catch {
            streamed?.cancel()
            throw error
        }
    }
}

/// A plugin that tells which hooks it has beside its `intercept`: the library's own, so that a call does not stop at each
/// of them only to ask.
package protocol TellsItsHooks: PulsePlugin {
    /// None by default.
    var hooks: PluginHooks { get }
}

extension TellsItsHooks {
    package var hooks: PluginHooks { [] }
}

/// The hooks that run apart from a plugin's `intercept`.
package struct PluginHooks: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package static let willSend = PluginHooks(rawValue: 1)
    package static let didComplete = PluginHooks(rawValue: 2)

    /// Somebody else's plugin may have any.
    init(of plugin: any PulsePlugin) {
        self = (plugin as? any TellsItsHooks)?.hooks ?? [.willSend, .didComplete]
    }
}
