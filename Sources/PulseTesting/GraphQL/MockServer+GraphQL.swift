// SPDX-License-Identifier: MIT

import PulseCore

extension MockServer {
    /// Serves GraphQL operations at that path: by POST and GET, with uploads and persisted queries, and over WebSockets
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
    /// Over a socket each operation has a task of its own, which is cancelled when the client completes it or leaves,
    /// and when the server shuts down. A violation of the protocol closes the socket with its code, such as 4401. The
    /// client has 3 seconds of the server's clock for `connection_init`.
    ///
    /// A test cuts a connection by ``ReceivedOperation/socket``, `try await operation.socket?.run(.reset)`, and closes
    /// it with a code by ``OperationReply/close(code:reason:)``. ``Activity/sockets`` counts sockets and messages.
    ///
    /// - Parameter knowsHashes: whether the server knows persisted queries. It then keeps the documents that it gets
    ///   with their hash, and says `PersistedQueryNotFound` for any other hash; else `PersistedQueryNotSupported`.
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
