// SPDX-License-Identifier: MIT

import PulseCore

/// What decides about the response to a GraphQL request: its status or its body (GraphQL over HTTP, section 6.4).
///
/// The body of `application/graphql-response+json` counts whatever the status is, since only a GraphQL server sends it.
/// `application/json` may come from a gateway as well. A response without a media type is read as the latter, and so is
/// `application/graphql+json`, which drafts of the specification had.
enum GraphQLVerdict {
    /// The body has the outcome.
    case body
    /// The request was refused with these errors.
    case errors([GraphQLError])
    /// The status is the error.
    case status
    /// A body in parts, of incremental delivery.
    case parts
    /// A body of that other media type.
    case foreign(String)

    /// - Parameter accepted: the statuses that are no error by themselves.
    init(_ response: PulseResponse, accepted: RequestOptions.AcceptedStatuses) {
        let isAccepted = accepted.contains(response.statusCode)
        switch response.mediaType {
        case "application/graphql-response+json":
            self = isAccepted || (try? GraphQLEnvelope(response.data)) != nil ? .body : .status
        case "application/json", "application/graphql+json", "":
            self = isAccepted ? .body : Self.refusal(response)
        case "multipart/mixed" where isAccepted:
            self = .parts
        case let type:
            self = isAccepted ? .foreign(type) : .status
        }
    }

    /// Statuses that gateways send, and those that the chain acts on, are errors of their own.
    private static func refusal(_ response: PulseResponse) -> GraphQLVerdict {
        switch response.statusCode {
        case 401, 429, 500...599: return .status
        default:
            guard let errors = try? GraphQLEnvelope(response.data).errors, !errors.isEmpty else { return .status }
            return .errors(errors)
        }
    }
}

/// The members of a GraphQL response (GraphQL specification, section 7.1), with `data` as text.
struct GraphQLEnvelope {
    let errors: [GraphQLError]
    private let members: JSONMembers

    /// Throws `DecodingError` for text that is no GraphQL response.
    init(_ text: Data) throws {
        members = try JSONMembers(of: text)
        let hasData = members.has("data")
        do {
            errors =
                try members["errors"].map { try JSONResponseDecoder().decode([GraphQLError].self, from: $0) } ?? []
        } catch {
            guard hasData else { throw error }
            // Whatever the errors say, the data is there.
            errors = [GraphQLError(message: "")]
        }
        guard !errors.isEmpty || hasData else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "The response has neither data nor errors."))
        }
    }

    /// Nil for none, and for null.
    var data: Data? { members["data"] }

    var extensions: [String: JSONValue] {
        guard let text = members["extensions"],
            let value = try? JSONResponseDecoder().decode(JSONValue.self, from: text),
            case .object(let extensions) = value
        else { return [:] }
        return extensions
    }
}
