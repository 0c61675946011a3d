// SPDX-License-Identifier: MIT

import PulseCore

/// The outcome of an operation: data, errors, or both.
public struct OperationReply: Sendable {
    let body: Result<Data, PulseError>

    /// Data, which is encoded as JSON, and the errors beside it. Data that cannot be encoded fails the request.
    public static func data(
        _ value: some Encodable, errors: [GraphQLError] = [], extensions: [String: JSONValue] = [:]
    ) -> OperationReply {
        OperationReply(Response(data: value, errors: errors, extensions: extensions))
    }

    /// Errors without data.
    public static func errors(_ errors: GraphQLError...) -> OperationReply {
        OperationReply(Response<JSONValue>(data: nil, errors: errors, extensions: [:]))
    }

    private init(_ response: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        body = Result { try encoder.encode(response) }.mapError { PulseError.encodingFailed(underlying: $0) }
    }

    private struct Response<Value: Encodable>: Encodable {
        let data: Value?
        let errors: [GraphQLError]
        let extensions: [String: JSONValue]

        enum CodingKeys: String, CodingKey {
            case data, errors, extensions
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            // A request that was executed has data, if only null (GraphQL specification, section 7.1).
            try container.encode(data, forKey: .data)
            if !errors.isEmpty { try container.encode(errors, forKey: .errors) }
            if !extensions.isEmpty { try container.encode(extensions, forKey: .extensions) }
        }
    }
}

extension Stub {
    /// A stub for a GraphQL operation of that name, at any path, by POST or GET.
    ///
    /// ```swift
    /// let transport = MockTransport(stubs: [.graphQL("GetHero", data: ["hero": ["name": "R2-D2"]])])
    /// ```
    public static func graphQL(
        _ operationName: String, data: some Encodable, errors: [GraphQLError] = []
    ) -> Stub {
        graphQL(operationName, .data(data, errors: errors))
    }

    /// A stub for a GraphQL operation of that name, at any path, by POST or GET, with any outcome.
    public static func graphQL(_ operationName: String, _ reply: OperationReply) -> Stub {
        let stub = Stub().matching("it is no operation named \(operationName)") { request in
            operationNames(of: request).contains(operationName)
        }
        switch reply.body {
        case .success(let body): return stub.reply(.data(body, contentType: "application/graphql-response+json"))
        case .failure(let error): return stub.reply(.failure(error))
        }
    }

    private static func operationNames(of request: URLRequest) -> [String] {
        let items = [URLQueryItem](
            percentEncodedQuery: request.url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: false) }?
                .percentEncodedQuery)
        let body = request.httpBody.flatMap { try? JSONDecoder().decode(JSONValue.self, from: $0) }
        return items.filter { $0.name == "operationName" }.compactMap(\.value)
            + [body?["operationName"]?.stringValue].compactMap { $0 }
    }
}
