// SPDX-License-Identifier: MIT

import PulseCore

/// Whether the status or the body of a GraphQL response decides its outcome (GraphQL over HTTP, section 6.4).
///
/// The body of `application/graphql-response+json` decides at any status, since only a GraphQL server sends it.
/// `application/json` may also come from a gateway. A response without a media type is treated as `application/json`,
/// and so is `application/graphql+json`, which drafts of the specification used.
enum GraphQLVerdict {
    /// The body contains the outcome.
    case body
    /// The request was refused with these errors.
    case errors([GraphQLError])
    /// The status is the error.
    case status
    /// A multipart body, used for incremental delivery.
    case parts
    /// A body of another media type, which is given.
    case foreign(String)

    /// - Parameter accepted: the statuses that are not errors by themselves.
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

    /// Statuses that gateways send or that the chain handles stay status errors, whatever the body.
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

    /// Throws `DecodingError` for text that is not a GraphQL response.
    init(_ text: Data) throws {
        members = try JSONMembers(of: text)
        let hasData = members.has("data")
        do {
            errors =
                try members["errors"].map { try JSONResponseDecoder().decode([GraphQLError].self, from: $0) } ?? []
        } catch {
            guard hasData else { throw error }
            // Malformed errors must not hide the data.
            errors = [GraphQLError(message: "")]
        }
        guard !errors.isEmpty || hasData else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "The response has neither data nor errors."))
        }
    }

    /// Nil if `data` is missing or null.
    var data: Data? { members["data"] }

    var extensions: [String: JSONValue] {
        guard let text = members["extensions"],
            let value = try? JSONResponseDecoder().decode(JSONValue.self, from: text),
            case .object(let extensions) = value
        else { return [:] }
        return extensions
    }
}
