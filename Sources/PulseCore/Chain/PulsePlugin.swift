// SPDX-License-Identifier: MIT

/// A layer around calls. A plugin prepares requests, inspects responses, responds itself, or calls the rest of the
/// chain again.
///
/// ```swift
/// struct RequestIDPlugin: PulsePlugin {
///     let identifier = "com.example.request-id"
///
///     func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
///         request.setValue("\(context.id)", forHTTPHeaderField: "X-Request-ID")
///     }
/// }
/// ```
///
/// Most plugins need only the hooks (``prepare(_:for:)``, ``didReceive(_:for:)`` …) and never implement
/// ``intercept(_:for:next:)``. Concurrent calls run every method concurrently, so the state of a plugin must be
/// thread-safe. The state of one call belongs in ``PluginContext/store``. A method may throw any error: the chain turns
/// it into a ``PulseError``.
///
/// Check the signatures: a method whose types differ from the requirement compiles as a separate member and is never
/// called. A ``didReceive(_:for:)`` may return `Result<…>` without the `?`, see ``PluginChain/ReplacesOutcome``.
public protocol PulsePlugin: PluginChain.ReplacesOutcome, Sendable {
    /// The name of the plugin in reverse-DNS form: `com.example.audit`.
    var identifier: String { get }

    /// The position of the plugin in the chain; ``PluginScope/attempt`` by default.
    var scope: PluginScope { get }

    /// Changes the request on its way in. Does nothing by default.
    ///
    /// A thrown error ends the call with that error. In a plugin of scope ``PluginScope/attempt`` it ends the attempt:
    /// the retry policy judges it like any other failure.
    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws

    /// Observes the final request right before each send, without the secrets that its destination must not receive.
    /// Does nothing by default.
    func willSend(_ request: URLRequest, for context: PluginContext) async

    /// Sees the outcome on its way out. A returned result replaces the outcome; nil, the default, leaves it unchanged.
    ///
    /// Any server response is a success here, whatever its status; ``PulseError/init(validating:accepted:)`` checks
    /// whether the status is accepted. The chain does not call this hook if the plugin's own `prepare` threw.
    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>?

    /// Runs once per call, after decoding, whatever the outcome. For a streamed call it runs when the stream has ended.
    /// It runs for every plugin that was entered, in reverse order. Does nothing by default.
    func didComplete(_ context: PluginContext) async

    /// Wraps the rest of the chain. It may respond without calling `next`, or call `next` several times.
    ///
    /// The default runs the hooks, see ``runHooks(_:for:next:)``. A plugin that drops a response must call
    /// ``PulseResponse/discard()``, which ends its stream or connection.
    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse

    /// Ends background work in progress. The plugin stays usable, since several clients may share it. Work that calls
    /// wait for continues: a client's own calls have ended by then. Does nothing by default.
    func shutdown() async
}

/// The position of a plugin in the chain. Within a scope the caller's order applies, outermost first.
public enum PluginScope: Int, Sendable, Hashable, Comparable {
    /// Once around all attempts of a call, and of each redirect hop.
    case call
    /// In place of the retry loop: the plugin itself retries the rest of the chain.
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

    /// Runs `prepare`, then the rest of the chain, then `didReceive`. For a plugin that implements `intercept` and
    /// still wants its hooks.
    public func runHooks(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        var request = request
        try await prepare(&request, for: context)
        let result = await next.result(request, context: context)
        do {
            let response = try await didReceive(result, for: context)?.get() ?? result.get()
            // A pattern match, since `get` would copy the response.
            if case .success(let received) = result { received.discard(replacedBy: response) }
            return response
        } catch {
            if case .success(let received) = result { received.discard() }
            throw error
        }
    }
}

/// A plugin that declares its hooks besides `intercept`. Only the library's own plugins conform. The chain then records
/// only plugins that need `didComplete`.
package protocol HookDeclaring: PulsePlugin {
    /// The hooks that the plugin has; none by default.
    var hooks: PluginHooks { get }
    /// Whether the plugin gets header fields from the app's code; false by default.
    var asksTheAppForFields: Bool { get }
}

extension HookDeclaring {
    package var hooks: PluginHooks { [] }
    package var asksTheAppForFields: Bool { false }
}

/// The hooks that run separately from a plugin's `intercept`.
package struct PluginHooks: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package static let willSend = PluginHooks(rawValue: 1)
    package static let didComplete = PluginHooks(rawValue: 2)

    /// The hooks of a plugin. A plugin from outside the library may have any hook.
    init(of plugin: any PulsePlugin) {
        self = (plugin as? any HookDeclaring)?.hooks ?? [.willSend, .didComplete]
    }
}
