// SPDX-License-Identifier: MIT

public import PulseCore

/// A GraphQL query, mutation or subscription as a value.
///
/// ```swift
/// struct GetHero: GraphQLOperation {
///     struct Value: Decodable, Sendable { let hero: Hero }
///     struct Variables: Encodable, Sendable { let id: String }
///
///     static let document = "query GetHero($id: ID!) { hero(id: $id) { name } }"
///     let variables: Variables
/// }
/// let hero = try await client.graphQL(GetHero(variables: .init(id: "7"))).hero
/// ```
///
/// An operation is an ``Endpoint`` whose method, body and `decode` are provided: it can be sent with every method of
/// ``PulseClient``, and its options, plugins and headers work as for any endpoint. Its ``Endpoint/path`` is empty by
/// default, which means the path of the client's ``GraphQLSettings``.
public protocol GraphQLOperation: Endpoint where Response == GraphQLResponse<Value> {
    /// The type of the response's `data`.
    associatedtype Value: Decodable & Sendable
    /// The type of the variables.
    associatedtype Variables: Encodable & Sendable

    /// The document, with the operation and its fragments.
    static var document: String { get }

    /// The name of the operation in the document. Nil, the default, selects the only operation of the document.
    static var operationName: String? { get }

    /// The variables, encoded by the call's encoder; ``NoVariables`` by default.
    var variables: Variables { get }

    /// Files that replace variables; none by default.
    var uploads: [GraphQLUpload] { get }

    /// The `extensions` of the request. Empty by default; empty extensions are not sent.
    var requestExtensions: [String: JSONValue] { get }
}

/// The variables of an operation without variables.
public struct NoVariables: Encodable, Sendable, Hashable {
    /// Creates an empty set of variables.
    public init() {}
}

extension GraphQLOperation {
    public static var operationName: String? { nil }
    public var uploads: [GraphQLUpload] { [] }
    public var requestExtensions: [String: JSONValue] { [:] }

    public var method: HTTPMethod { .post }
    public var body: RequestBody {
        .operation(
            GraphQLContent(
                document: Self.document, operationName: Self.operationName, variables: variables, uploads: uploads,
                extensions: requestExtensions))
    }

    /// Decodes the response: `data` with the decoder, everything else by the rules of GraphQL.
    public func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> GraphQLResponse<Value> {
        try GraphQLResponse(response, using: decoder)
    }
}

// Constrained, so that an operation whose path has another type does not get a second `path`.
extension GraphQLOperation where PathValue == String {
    public var path: String { "" }
}

extension GraphQLOperation where Variables == NoVariables {
    public var variables: NoVariables { NoVariables() }
}
