// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

extension GraphQLContent: CallContent {
    /// The name of the operation; nil for a malformed document, which fails the call.
    var route: String? { (try? operation())?.name }

    var comparisonValue: AnyHashable? {
        guard uploads.isEmpty else { return nil }
        let variables = RequestBody.comparisonValue(of: variables)
        let extensions = RequestBody.comparisonValue(of: extensions)
        return AnyHashable([document, operationName, variables, extensions])
    }

    func path(_ path: String, in configuration: PulseConfiguration) -> String {
        path.isEmpty ? configuration.graphQL.path : path
    }

    func check() throws {
        guard try operation().kind != .subscription else {
            throw PulseError.invalidRequest(reason: "GraphQL: a subscription is no request")
        }
    }

    /// The plugin for persisted queries, unless every request sends its document.
    func plugins(in client: PulseClient) -> [any PulsePlugin] {
        let settings = client.configuration.graphQL
        guard settings.persistedQueries != .off, uploads.isEmpty, let kind = try? operation().kind else { return [] }
        let support = client.features[PersistedQueryPlugin.Support.self]
        return [PersistedQueryPlugin(content: self, kind: kind, settings: settings, support: support)]
    }

    func prepare(_ call: Call) {
        let store = PluginContext.Store(call: call)
        store[ReadOnlyKey.self] = (try? operation())?.kind == .query
        store[CallOutcome.self] = { response, accepted in
            switch GraphQLVerdict(response, accepted: accepted) {
            case .body, .errors: true
            case .status, .parts, .foreign: false
            }
        }
    }

    func body(using encoder: any RequestEncoder) throws -> RequestBody {
        try body(.document, using: encoder)
    }

    func complete(
        _ built: inout BuiltRequest, in configuration: PulseConfiguration, using encoder: any RequestEncoder
    ) throws {
        let settings = configuration.graphQL
        if !uploads.isEmpty {
            built.urlRequest.requirePreflight()
        } else if settings.queriesUseGET, settings.persistedQueries == .off, try operation().kind == .query,
            try built.urlRequest.makeGET(of: self, .document, using: encoder), let url = built.urlRequest.url
        {
            built.url = url
        }
    }
}
