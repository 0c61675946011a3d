// SPDX-License-Identifier: MIT

/// A layer around calls: it prepares requests, looks at answers, answers by itself, or calls the rest of the chain
/// again.
///
/// Most plugins need only the hooks (``prepare(_:for:)``, ``didReceive(_:for:)`` …) and never implement
/// ``intercept(_:for:next:)``. Every method is called concurrently for concurrent calls: what a plugin keeps must be
/// thread-safe, and what belongs to one call goes into ``PluginContext/store``. Any error may be thrown: the chain
/// turns it into a ``PulseError``.
///
/// Mind the signatures: a method that misses a requirement by a type compiles as a member of its own and is never
/// called. A ``didReceive(_:for:)`` may return `Result<…>` without the `?`, see ``ReplacesOutcome``.
public protocol PulsePlugin: ReplacesOutcome, Sendable {
    /// The name of the plugin in reverse-DNS form: `com.example.audit`.
    var identifier: String { get }

    /// Where in the chain the plugin stands; ``PluginScope/attempt`` by default.
    var scope: PluginScope { get }

    /// Changes the request on its way in. Does nothing by default.
    ///
    /// An error ends the call with that error. In a plugin of scope ``PluginScope/attempt`` it ends the attempt: the
    /// retry policy judges it as it does any failure.
    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws

    /// Sees the final request right before each time that it goes to the wire, without the secrets that must not go
    /// there. Does nothing by default.
    func willSend(_ request: URLRequest, for context: PluginContext) async

    /// Sees the outcome on its way out. A result replaces it; nil, the default, leaves it as it is.
    ///
    /// Any answer of a server is a success here, whatever its status; ``PulseError/init(validating:accepted:)`` tells
    /// whether it is accepted. Not called if this plugin's own `prepare` threw.
    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>?

    /// Runs once per call, after decoding, whatever the outcome; for a streamed call when its stream has ended. Called
    /// for every plugin that was entered, in reverse order. Does nothing by default.
    func didComplete(_ context: PluginContext) async

    /// Runs around the rest of the chain: it may answer without calling `next`, or call it several times.
    ///
    /// The default runs the hooks, see ``runHooks(_:for:next:)``. A plugin that drops a streamed answer must cancel it.
    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse

    /// Ends the background work that is under way. The plugin stays usable, since several clients may share it, and
    /// work that calls wait for goes on: a client's own calls have ended by then. Does nothing by default.
    func shutdown() async
}

/// Where in the chain a plugin stands. Within a scope the caller's order holds, outermost first.
public enum PluginScope: Int, Sendable, Hashable, Comparable {
    /// Once around all attempts of a call, and of each redirect hop.
    case call
    /// In place of the retry loop: the plugin repeats what is further in.
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
        try await replacement(by: self, of: result, for: context)
    }

    public func didComplete(_ context: PluginContext) async {}

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        try await runHooks(request, for: context, next: next)
    }

    public func shutdown() async {}

    /// Runs `prepare`, then the rest of the chain, then `didReceive`: for a plugin that has an `intercept` of its own
    /// and still wants its hooks.
    public func runHooks(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        var request = request
        try await prepare(&request, for: context)
        let result = await next.result(request, context: context)
        // By a pattern: `get` would copy the answer.
        var streamed: ByteStream?
        if case .success(let response) = result { streamed = response.bytes }
        do {
            let response = try await didReceive(result, for: context)?.get() ?? result.get()
            // The new answer may have a stream made of this one; without a stream, nobody reads this one.
            if let streamed, response.bytes == nil { streamed.cancel() }
            return response
        } catch {
            streamed?.cancel()
            throw error
        }
    }
}

/// A plugin that tells which hooks it has beside its `intercept`. Only the library's own do, so that a call does not
/// stop at each of them just to ask.
package protocol TellsItsHooks: PulsePlugin {
    /// The hooks that the plugin has; none by default.
    var hooks: PluginHooks { get }
    /// Whether the plugin asks code of the app for header fields; false by default.
    var asksTheAppForFields: Bool { get }
}

extension TellsItsHooks {
    package var hooks: PluginHooks { [] }
    package var asksTheAppForFields: Bool { false }
}

/// The hooks that run apart from a plugin's `intercept`.
package struct PluginHooks: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package static let willSend = PluginHooks(rawValue: 1)
    package static let didComplete = PluginHooks(rawValue: 2)

    /// The hooks of a plugin; one from outside the library may have any.
    init(of plugin: any PulsePlugin) {
        self = (plugin as? any TellsItsHooks)?.hooks ?? [.willSend, .didComplete]
    }
}
