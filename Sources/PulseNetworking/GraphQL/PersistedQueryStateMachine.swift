// SPDX-License-Identifier: MIT

import PulseCore

/// Decides what a call with a persisted query sends: the hash of the document first, the document if the server does
/// not know the hash.
struct PersistedQueryStateMachine {
    /// The server's error about a hash.
    enum Complaint: Equatable {
        /// It does not know the hash.
        case notFound
        /// It does not support persisted queries.
        case notSupported

        /// The complaint among the errors of a response; nil if there is none.
        init?(_ errors: [GraphQLError]) {
            let names = Set(
                errors.flatMap { error -> [String] in
                    if case .string(let code)? = error.extensions["code"] {
                        [error.message, code]
                    } else {
                        [error.message]
                    }
                })
            if !names.isDisjoint(with: ["PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED"]) {
                self = .notSupported
            } else if !names.isDisjoint(with: ["PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND"]) {
                self = .notFound
            } else {
                return nil
            }
        }
    }

    struct Step: Equatable {
        let form: GraphQLContent.Form
        /// Whether the request is a GET if its URL is short enough.
        let isGET: Bool
    }

    private enum State {
        case asking, sending, done
    }

    private let settings: GraphQLSettings
    private let isQuery: Bool
    private var state: State

    /// The first request.
    let first: Step

    /// - Parameter isRepeatable: whether the call may send a second request. With an idempotency key it may not: the
    ///   server would take the second request, with the document, for the first.
    init(_ settings: GraphQLSettings, _ kind: GraphQLDocument.Kind, isRepeatable: Bool, isSupported: Bool) {
        self.settings = settings
        isQuery = kind == .query
        if !isSupported {
            state = .done
            first = Step(form: .document, isGET: isQuery && settings.queriesUseGET)
        } else if !isRepeatable {
            state = .sending
            first = Step(form: .both, isGET: false)
        } else {
            state = .asking
            let isGET = settings.queriesUseGET || settings.persistedQueries == .automaticWithGET
            first = Step(form: .hash, isGET: isQuery && isGET)
        }
    }

    /// The next request; nil if the response is final.
    mutating func next(after complaint: Complaint?) -> Step? {
        defer { state = state == .asking && complaint == .notFound ? .sending : .done }
        guard state == .asking, let complaint else { return nil }
        let isGET = isQuery && settings.queriesUseGET && settings.persistedQueries == .automatic
        switch complaint {
        case .notFound: return Step(form: .both, isGET: isGET)
        case .notSupported: return Step(form: .document, isGET: isGET)
        }
    }
}
