// SPDX-License-Identifier: MIT

import PulseCore

extension MockServer {
    /// Serves GraphQL operations at a path: by POST and GET, with uploads and persisted queries, and over WebSockets
    /// with the subprotocol `graphql-transport-ws`.
    ///
    /// ```swift
    /// server.onGraphQL("/graphql") { operation in
    ///     switch operation.name {
    ///     case "GetHero": .data(["hero": ["name": "R2-D2"]])
    ///     case "Messages": .events(messages())
    ///     default: .errors(GraphQLError(message: "unknown operation"))
    ///     }
    /// }
    /// ```
    ///
    /// A request without an operation gets a 400 with the error, a mutation by GET a 405. The media type of responses
    /// is `application/graphql-response+json` for clients that accept it, else `application/json`. An error that the
    /// closure throws becomes the error of the operation; a `GraphQLError` keeps its members.
    ///
    /// Over a socket each operation runs in its own task, which is cancelled when the client completes it or
    /// disconnects, and when the server shuts down. A protocol violation closes the socket with its code, such as 4401.
    /// The client has 3 seconds of the server's clock for `connection_init`.
    ///
    /// To cut a connection, use ``ReceivedOperation/socket``: `try await operation.socket?.run(.reset)`. To close it
    /// with a code, return ``OperationReply/close(code:reason:)``. ``Activity/sockets`` counts sockets and messages.
    ///
    /// - Parameter knowsHashes: whether the server supports persisted queries. If true, it stores each document
    ///   received with a hash, and rejects other hashes with `PersistedQueryNotFound`; if false, all with
    ///   `PersistedQueryNotSupported`.
    public func onGraphQL(
        _ pathTemplate: String, knowsHashes: Bool = true,
        _ respond: @escaping @Sendable (ReceivedOperation) async throws -> OperationReply
    ) {
        let service = OperationService(knowsHashes: knowsHashes, clock: clock, respond: respond)
        on(.post, pathTemplate) { try await service.response(to: $0) }
        on(.get, pathTemplate) { request in
            guard request.headers.list("Upgrade").contains(where: { $0.equalsIgnoringASCIICase("websocket") }) else {
                return try await service.response(to: request)
            }
            return try .socket(accepting: request, subprotocols: [OperationSocket.subprotocol]) { socket in
                await OperationSocket(socket, of: service).serve()
            }
        }
    }
}
