// SPDX-License-Identifier: MIT

import PulseCore
import PulseGraphQL
import PulseNetworking

/// A GraphQL operation as a ``MockServer`` received it.
public struct ReceivedOperation: Sendable {
    /// The kind of an operation.
    public enum Kind: String, Sendable, Hashable {
        /// Reads data.
        case query
        /// Changes data.
        case mutation
        /// Subscribes to events.
        case subscription
    }

    /// A file of the operation (GraphQL multipart request specification).
    public struct Upload: Sendable, Hashable {
        /// The places in the variables, such as `files.0`.
        public let variables: [String]
        /// The name of the file.
        public let filename: String?
        /// The media type of the file.
        public let mimeType: String?
        /// The bytes of the file.
        public let data: Data
    }

    /// The name of the operation; nil for none.
    public let name: String?
    /// Query, mutation or subscription.
    public let kind: Kind
    /// The document.
    public let document: String
    /// The variables; empty for none.
    public let variables: [String: JSONValue]
    /// The `extensions` of the request; empty for none.
    public let extensions: [String: JSONValue]
    /// The files, in the order of the request.
    public internal(set) var uploads: [Upload] = []
    /// The payload of `connection_init`; empty for none, and over HTTP.
    public internal(set) var connectionPayload: [String: JSONValue] = [:]
    /// The request; over a socket its handshake.
    public let request: RecordedRequest
    /// The socket of the operation, to cut it or to send what the protocol forbids; nil over HTTP.
    public internal(set) var socket: ServerSocket?

    /// The reason why a request has no operation.
    struct Fault: Error {
        let message: String
        var code: String?
        var status = 400

        /// The fault as the error of a response.
        var error: GraphQLError {
            GraphQLError(message: message, extensions: code.map { ["code": .string($0)] } ?? [:])
        }
    }

    /// - Parameter members: `query`, `operationName`, `variables` and `extensions`.
    /// - Parameter document: looks up the document for a hash, and stores a given document under the hash.
    init(
        _ members: [String: JSONValue], of request: RecordedRequest,
        document find: (_ hash: String, _ document: String?) throws -> String?
    ) throws {
        self.request = request
        variables = members["variables"]?.objectValue ?? [:]
        extensions = members["extensions"]?.objectValue ?? [:]
        var document = members["query"]?.stringValue
        if let hash = extensions["persistedQuery"]?["sha256Hash"]?.stringValue { document = try find(hash, document) }
        guard let document else { throw Fault(message: "the request has no document") }
        self.document = document
        do {
            let operation = try GraphQLDocument(document).operation(named: members["operationName"]?.stringValue)
            name = operation.name
            kind = Kind(rawValue: operation.kind.rawValue) ?? .query
        } catch {
            throw Fault(message: "\(error)")
        }
    }
}
