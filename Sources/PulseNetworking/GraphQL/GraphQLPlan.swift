// SPDX-License-Identifier: MIT

import PulseCore

/// How the client sends a GraphQL operation.
struct GraphQLPlan {
    private let content: GraphQLContent
    private let settings: GraphQLSettings

    init(_ content: GraphQLContent, _ settings: GraphQLSettings) {
        self.content = content
        self.settings = settings
    }

    /// Nil for a faulty document, which fails the call.
    private var operation: GraphQLDocument.Operation? { try? content.operation() }

    /// The name of the operation, which is the route of the call.
    var name: String? { operation?.name }

    func path(_ path: String) -> String {
        path.isEmpty ? settings.path : path
    }

    /// Throws the error of an operation that cannot be sent as a request.
    func check() throws {
        guard try content.operation().kind != .subscription else {
            throw PulseError.invalidRequest(reason: "GraphQL: a subscription is no request")
        }
    }

    /// The plugin that sends hashes; nil if the document is sent.
    func persisting(_ support: PersistedQueryPlugin.Support) -> PersistedQueryPlugin? {
        guard settings.persistedQueries != .off, content.uploads.isEmpty, let kind = operation?.kind else {
            return nil
        }
        return PersistedQueryPlugin(content: content, kind: kind, settings: settings, support: support)
    }

    /// Tells the chain whether the call may be repeated.
    func mark(_ call: Call) {
        PluginContext.Store(call: call)[OnlyReads.self] = operation?.kind == .query
    }

    /// Whether a response is the outcome of a GraphQL call although its status is not accepted.
    static func isOutcome(_ response: PulseResponse, of call: Call, _ accepted: RequestOptions.AcceptedStatuses) -> Bool
    {
        guard PluginContext.Store(call: call)[OnlyReads.self] != nil else { return false }
        return switch GraphQLVerdict(response, accepted: accepted) {
        case .body, .errors: true
        case .status, .parts, .foreign: false
        }
    }
}
