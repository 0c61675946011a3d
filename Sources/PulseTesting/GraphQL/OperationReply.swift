// SPDX-License-Identifier: MIT

import PulseCore

/// The outcome of an operation: data, errors, or both; over a socket also a stream of these, or the close of the
/// socket.
public struct OperationReply: Sendable {
    enum Content: Sendable {
        /// A response as JSON.
        case response(Result<Data, PulseError>)
        case errors([GraphQLError])
        /// Passes each event to a function, in order.
        case events(@Sendable (@Sendable (OperationReply) async throws -> Void) async throws -> Void)
        case close(ServerSocket.Close)
    }

    let content: Content

    /// Data, encoded as JSON, with optional errors. Data that cannot be encoded fails the operation.
    public static func data(
        _ value: some Encodable, errors: [GraphQLError] = [], extensions: [String: JSONValue] = [:]
    ) -> OperationReply {
        OperationReply(.response(Response(data: value, errors: errors, extensions: extensions).json))
    }

    /// Errors without data. Over a socket they fail the operation; as an event of a subscription they are just that
    /// event.
    public static func errors(_ errors: GraphQLError...) -> OperationReply {
        OperationReply(errors: errors)
    }

    /// The events of a subscription, each with data or errors, until the sequence ends or the client disconnects.
    ///
    /// An error that the sequence throws fails the operation. The task of the sequence is cancelled when the client
    /// completes the operation or disconnects, and when the server shuts down. Cancellation ends an `AsyncStream` for
    /// all its readers: create a stream for each operation, not one for all. Nested events are flattened.
    ///
    /// Over HTTP the response is an error.
    public static func events<Events: AsyncSequence & Sendable>(
        _ events: Events
    ) -> OperationReply where Events.Element == OperationReply {
        OperationReply(
            .events { receive in
                for try await event in events {
                    // The sequence may ignore the cancellation.
                    if Task.isCancelled { return }
                    try await receive(event)
                }
            })
    }

    /// Closes the socket, as the reply or as an event. A code that may not be sent, or a reason of more than 123 bytes,
    /// fails the operation. Over HTTP the response is an error.
    public static func close(code: Int, reason: String = "") -> OperationReply {
        OperationReply(.close(ServerSocket.Close(code: code, reason: reason)))
    }

    private init(_ content: Content) {
        self.content = content
    }

    init(errors: [GraphQLError]) {
        self.init(.errors(errors))
    }

    /// The response as JSON. Throws ``ReceivedOperation/Fault`` for what only a socket can carry.
    var body: Data {
        get throws {
            switch content {
            case .response(let json): try json.get()
            case .errors(let errors):
                try Response<JSONValue>(data: nil, errors: errors, extensions: [:]).json.get()
            case .events:
                throw ReceivedOperation.Fault(message: "events need a WebSocket of \(OperationSocket.subprotocol)")
            case .close: throw ReceivedOperation.Fault(message: "only a WebSocket has a close code")
            }
        }
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

        var json: Result<Data, PulseError> {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return Result { try encoder.encode(self) }.mapError { PulseError.encodingFailed(underlying: $0) }
        }
    }
}

extension Stub {
    /// A stub for a GraphQL operation of this name, at any path, by POST or GET.
    ///
    /// ```swift
    /// let transport = MockTransport(stubs: [.graphQL("GetHero", data: ["hero": ["name": "R2-D2"]])])
    /// ```
    public static func graphQL(
        _ operationName: String, data: some Encodable, errors: [GraphQLError] = []
    ) -> Stub {
        graphQL(operationName, .data(data, errors: errors))
    }

    /// A stub for a GraphQL operation of this name, at any path, by POST or GET, with any outcome that a response can
    /// have: for ``OperationReply/events(_:)`` and a close the call fails with ``PulseError/unsupported(_:)``.
    public static func graphQL(_ operationName: String, _ reply: OperationReply) -> Stub {
        let stub = Stub().matching("it is no operation named \(operationName)") { request in
            operationNames(of: request).contains(operationName)
        }
        do {
            return stub.reply(.data(try reply.body, contentType: "application/graphql-response+json"))
        } catch let fault as ReceivedOperation.Fault {
            return stub.reply(.failure(PulseError.unsupported("a stub has no sockets: \(fault.message)")))
        } catch {
            return stub.reply(.failure(error))
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
