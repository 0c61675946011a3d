// SPDX-License-Identifier: MIT

public import PulseCore

extension MockServer {
    /// Responds to GET, POST, PUT, PATCH, DELETE and QUERY for a path with server-sent events, and to HEAD with the
    /// header fields alone.
    ///
    /// ```swift
    /// server.onEvents("/feed") { request, feed in
    ///     try await feed.send(ServerSentEvent(data: "hello", id: "1"))
    /// }
    /// ```
    ///
    /// When the closure returns, the response ends cleanly; when it throws, the connection is reset. Either way the
    /// connection ends. The closure runs in a task that is cancelled when the client disconnects or the server shuts
    /// down.
    public func onEvents(
        _ pathTemplate: String, _ body: @escaping @Sendable (RecordedRequest, EventFeed) async throws -> Void
    ) {
        for method in [HTTPMethod.get, .post, .put, .patch, .delete, .query] {
            on(method, pathTemplate) { request in
                .raw([
                    Step(
                        .converse { conversation in
                            let feed = EventFeed(conversation)
                            do {
                                // The body of a GET does not belong to it.
                                guard request.method != .head else { return try await feed.open() }
                                try await conversation.socket.whilePeerStays { try await body(request, feed) }
                                try await feed.end()
                            } catch {
                                feed.reset()
                            }
                        })
                ])
            }
        }
    }

    /// The response to one request for server-sent events. One task at a time may use it.
    public struct EventFeed: Sendable {
        private let conversation: Conversation
        private let isBegun = Locked(false)
        private let isRefused = Locked(false)

        init(_ conversation: Conversation) {
            self.conversation = conversation
        }

        /// Sends the status line and header fields, if not sent yet: a 200 of type `text/event-stream`. The first event
        /// or comment does the same.
        public func open() async throws {
            try await begin(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
                    + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        }

        /// Responds with a status and an empty body in place of events. Throws ``PulseError/invalidRequest(reason:)``
        /// once the header fields have been sent.
        public func refuse(_ status: Int, headers: HTTPHeaders = [:]) async throws {
            guard !isBegun.withLock({ $0 }) else {
                throw PulseError.invalidRequest(reason: "the head of the response has been sent")
            }
            isRefused.withLock { $0 = true }
            let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined() + "Connection: close\r\n"
            let length = status == 204 ? "" : "Content-Length: 0\r\n"
            try await begin("HTTP/1.1 \(status) \(StatusText.phrase(of: status))\r\n\(fields)\(length)\r\n")
        }

        /// Sends an event, and returns when the system has accepted its bytes. Throws ``PulseError`` if the client has
        /// disconnected.
        public func send(_ event: ServerSentEvent) async throws {
            try await raw(Data(event.wireText.utf8))
        }

        /// Sends a comment, which keeps the connection alive and is not an event.
        public func comment(_ text: String = "") async throws {
            try await raw(Data(": \(text)\n".utf8))
        }

        /// Sends these bytes of the body unchanged.
        public func raw(_ bytes: Data) async throws {
            try await open()
            guard !bytes.isEmpty else { return }
            try await conversation.send(BodyLayout.chunkPrefix(bytes.count) + bytes + Data("\r\n".utf8))
        }

        /// Aborts the connection with RST. Bytes sent just before may never reach the client.
        public func reset() {
            conversation.socket.close(resetting: true)
        }

        func end() async throws {
            guard !isRefused.withLock({ $0 }) else { return }
            try await open()
            try await conversation.send(Data("0\r\n\r\n".utf8))
        }

        private func begin(_ head: String) async throws {
            let isFirst = isBegun.withLock { isBegun in
                defer { isBegun = true }
                return !isBegun
            }
            if isFirst { try await conversation.send(Data(head.utf8)) }
        }
    }
}

extension MockServer.Response {
    /// A response with these server-sent events.
    ///
    /// - Parameter retry: the reconnection time in seconds, which the response sends first; nil for none.
    /// - Parameter staysOpen: whether the response ends only when the client disconnects or the server shuts down.
    public static func events(
        _ events: [ServerSentEvent], retry: TimeInterval? = nil, staysOpen: Bool = false
    ) -> MockServer.Response {
        let body = Data(events.wireText(retry: retry).utf8)
        let response = data(body, contentType: "text/event-stream").framed(.chunked())
        return staysOpen ? response.fault(.stall, at: .body(body.count)) : response
    }
}

extension Stub.Reply {
    /// A response with these server-sent events.
    ///
    /// - Parameter retry: the reconnection time in seconds, which the response sends first; nil for none.
    public static func events(_ events: [ServerSentEvent], retry: TimeInterval? = nil) -> Stub.Reply {
        data(Data(events.wireText(retry: retry).utf8), contentType: "text/event-stream")
    }

    /// A body that arrives in these chunks, one for each read of a streamed call. A buffered call gets them joined.
    ///
    /// - Parameter failure: the error after the last chunk; nil for a clean end.
    public static func chunks(
        _ chunks: [Data], contentType: String? = nil, status: Int = 200, headers: HTTPHeaders = [:],
        failure: (any Error)? = nil
    ) -> Stub.Reply {
        var headers = headers
        if let contentType, !headers.contains("Content-Type") { headers["Content-Type"] = contentType }
        return closure { [headers] request, _ in
            let rest = Locked(chunks[...])
            var response = PulseResponse(statusCode: status, headers: headers, request: request, origin: .mock)
            response.body = .stream(
                ByteStream {
                    if let chunk = rest.withLock({ $0.popFirst() }) { return chunk }
                    if let failure { throw failure }
                    return nil
                })
            return response
        }
    }
}

extension ServerSentEvent {
    /// The event as it is sent (WHATWG HTML, section 9.2.6).
    var wireText: String {
        var text = id.isEmpty ? "" : "id: \(id)\n"
        if type != "message" { text += "event: \(type)\n" }
        let lines = data.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
        for line in lines { text += "data: \(line)\n" }
        return text + "\n"
    }
}

extension [ServerSentEvent] {
    fileprivate func wireText(retry: TimeInterval?) -> String {
        let start = retry.map { "retry: \(UInt64(($0 > 0 ? Swift.min($0, 1e12) : 0) * 1000))\n\n" } ?? ""
        return start + map(\.wireText).joined()
    }
}
