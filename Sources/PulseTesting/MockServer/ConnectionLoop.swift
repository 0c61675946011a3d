// SPDX-License-Identifier: MIT

import PulseCore

/// Serves one connection from its first byte to its last, in one task: it greets, then reads requests and responds to
/// each.
struct ConnectionLoop {
    let index: Int
    let socket: SocketStream
    let core: ServerCore
    private var parser: RequestParser
    private var requestCount = 0

    /// The reason why the loop stops.
    private enum Stop: Error {
        /// Nothing more can or should be sent.
        case now
        /// Everything is sent; the client may not have read it yet.
        case gracefully
    }

    init(index: Int, socket: SocketStream, core: ServerCore) {
        self.index = index
        self.socket = socket
        self.core = core
        parser = RequestParser(maxHeadSize: core.configuration.maxHeadSize)
    }

    mutating func run() async {
        socket.open()
        _ = socket.onPeerEnd { [self] end in
            if end != nil { noteEnding() }
        }
        do {
            try await perform(core.greeting(of: index))
            while true { try await serveNextRequest() }
        } catch Stop.gracefully {
            await endGracefully()
        } catch {
            // The client has disconnected, a step closed the connection, or the server shuts down.
        }
        noteEnding()
        if let problem = socket.problem { recordMalformed("TLS: \(problem)", 0) }
        socket.close()
        await socket.disposal()
        core.log.closed(index)
    }

    private func endGracefully() async {
        noteEnding()
        try? await socket.sendClosureAlert()
        socket.endSending()
        await peerEnd()
    }

    private func noteEnding() {
        switch socket.firstPeerEnd {
        case .finished: core.log.ending(.closedByClient, of: index)
        case .reset: core.log.ending(.resetByClient, of: index)
        case nil: core.log.ending(.closedByServer, of: index)
        }
    }

    private mutating func serveNextRequest() async throws {
        let head = try await readHead()
        var request = RecordedRequest(head, connection: index, indexOnConnection: requestCount)
        requestCount += 1
        let match = core.match(head.method, path: request.path)
        request.parameters = match.parameters
        core.log.began(request)

        try await read(&request, head, match.reading)
        let response = try await response(to: request, by: match.respond)
        let script = ResponseScript(
            response, to: head.method, isVersion10: head.isVersion10, closing: head.wantsClose,
            isBodyUnread: !request.isComplete)
        try await perform(script.steps, pace: script.pace)
        guard script.keepsAlive else { throw Stop.gracefully }
    }

    // MARK: Reading

    private mutating func readHead() async throws -> RequestHead {
        while true {
            switch parser.next() {
            case .head(let head): return head
            case .failed(let failure): try await refuse(failure)
            // Neither precedes the header fields.
            case .body, .end: continue
            case nil: break
            }
            guard let bytes = try await socket.receive() else {
                if !parser.isBetweenRequests { recordMalformed("the connection ended within a header block", 0) }
                throw Stop.now
            }
            parser.append(bytes)
        }
    }

    private mutating func read(
        _ request: inout RecordedRequest, _ head: RequestHead, _ reading: MockServer.Reading
    ) async throws {
        if case .headOnly = reading.mode, head.framing != .none { return core.log.cutShort(request) }
        if head.expectsContinue, head.framing != .none, core.configuration.sends100Continue {
            try await send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
        do {
            try await readBody(of: &request, reading)
        } catch {
            core.log.cutShort(request)
            throw error
        }
        request.isComplete = true
        request.byteCount = parser.messageSize
        core.log.completed(request)
    }

    private mutating func readBody(of request: inout RecordedRequest, _ reading: MockServer.Reading) async throws {
        var interruption: (bytes: Int, steps: [MockServer.Step])?
        var pieceDelay: TimeInterval = 0
        switch reading.mode {
        case .whole, .headOnly: break
        case .interrupted(let bytes, let steps): interruption = (bytes, steps)
        case .slowly(let bytes, let seconds):
            pieceDelay = seconds
            parser.maxPieceSize = bytes
            socket.limitReadAhead(to: bytes)
        }
        defer {
            parser.maxPieceSize = .max
            socket.limitReadAhead(to: nil)
        }

        while true {
            let event = parser.next()
            var isEnd = false
            switch event {
            case .body(let bytes):
                record(bytes, in: &request)
                try await pause(pieceDelay)
            case .end(let trailers):
                request.trailers = trailers
                isEnd = true
            case .failed(let failure): try await refuse(failure)
            case .head, nil: break
            }
            if let (bytes, steps) = interruption, isEnd || request.bodyByteCount >= bytes {
                interruption = nil
                core.log.cutShort(request)
                try await perform(steps)
            }
            if isEnd { return }
            guard event == nil else { continue }
            guard let bytes = try await socket.receive() else { throw Stop.now }
            parser.append(bytes)
        }
    }

    private func record(_ bytes: Data, in request: inout RecordedRequest) {
        request.bodyByteCount += bytes.count
        request.byteCount = parser.messageSize
        let room = core.configuration.maxRecordedBodySize - request.body.count
        if room > 0 { request.body.append(bytes.prefix(room)) }
        core.log.received(request.bodyByteCount, of: request)
    }

    /// Responds with the failure's status and ends the connection, since nothing after it can be parsed.
    private func refuse(_ failure: ParseFailure) async throws -> Never {
        recordMalformed(failure.reason, failure.status)
        let response = MockServer.Response.text(failure.reason + "\n", status: failure.status)
        let script = ResponseScript(response, to: .get, closing: true, isBodyUnread: true)
        try await perform(script.steps)
        throw Stop.gracefully
    }

    private func recordMalformed(_ reason: String, _ status: Int) {
        core.log.malformed(MalformedRequest(connection: index, reason: reason, status: status))
    }

    // MARK: Responding

    private func response(
        to request: RecordedRequest, by respond: @escaping Router.Responder
    ) async throws -> MockServer.Response {
        let handler = "The handler of \(request.method) \(request.path)"
        do {
            let response = try await socket.whilePeerStays { try await respond(request) }
            do {
                try response.validate()
                return response
            } catch PulseError.invalidRequest(let reason) {
                return .text("\(handler) returned a response that cannot be sent: \(reason)\n", status: 500)
            }
        } catch is CancellationError {
            throw Stop.now
        } catch PulseError.cancelled {
            throw Stop.now
        } catch {
            return .text("\(handler) threw: \(error)\n", status: 500)
        }
    }

    private func perform(_ steps: [MockServer.Step], pace: MockServer.Response.Pace? = nil) async throws {
        let drip = pace.map { Drip(pace: $0) }
        for step in steps {
            switch step.action {
            case .bytes(let bytes): try await send(bytes, drip)
            case .repeating(let bytes, let times):
                var count = 0
                while !bytes.isEmpty, times.map({ count < $0 }) ?? true {
                    try await send(bytes, drip)
                    count += 1
                }
            case .stream(let stream, let isChunked): try await send(stream, isChunked, drip)
            case .delay(let seconds): try await pause(seconds)
            case .stall:
                // The client's end can be read only after its bytes.
                socket.discardInput()
                await peerEnd()
                throw Stop.now
            case .halfClose: throw Stop.gracefully
            case .close:
                noteEnding()
                try? await socket.sendClosureAlert()
                // With unread input, closing sends a reset.
                await socket.delivery()
                throw Stop.now
            case .truncate: throw Stop.now
            case .unencrypted(let bytes):
                try await socket.sendUnencrypted(bytes)
                core.log.sent(bytes.count, on: index)
            case .reset:
                await socket.delivery()
                noteEnding()
                socket.close(resetting: true)
                throw Stop.now
            case .converse(let body):
                let conversation = MockServer.Conversation(loop: self, leftover: Locked(parser.unread))
                try await body(conversation)
                throw Stop.gracefully
            }
        }
    }

    /// Performs a step of a conversation, and closes the connection if the step ends it.
    func runToEnd(_ step: MockServer.Step) async throws {
        do {
            return try await perform([step])
        } catch Stop.gracefully {
            await endGracefully()
        } catch Stop.now {
            noteEnding()
        }
        socket.close()
    }

    func send(_ bytes: Data) async throws {
        try await send(bytes, nil)
    }

    private func send(_ bytes: Data, _ drip: Drip?) async throws {
        guard let drip else {
            try await socket.send(bytes)
            return core.log.sent(bytes.count, on: index)
        }
        var rest = bytes
        while !rest.isEmpty {
            let piece = rest.prefix(max(1, drip.pace.bytes))
            rest = rest.dropFirst(piece.count)
            try await pause(drip.nextWait())
            try await send(piece)
        }
    }

    private func send(_ stream: AsyncStream<Data>, _ isChunked: Bool, _ drip: Drip?) async throws {
        // A silent stream must not keep a connection open after its client has disconnected.
        let loop = self
        try await socket.whilePeerStays {
            for await bytes in stream where !bytes.isEmpty {
                let chunk = isChunked ? BodyLayout.chunkPrefix(bytes.count) + bytes + Data("\r\n".utf8) : bytes
                try await loop.send(chunk, drip)
            }
            try Task.checkCancellation()
        }
    }

    // MARK: Waiting

    private func pause(_ seconds: TimeInterval) async throws {
        guard seconds > 0 else { return }
        let clock = core.clock
        try await socket.whilePeerStays { try await clock.sleep(seconds, for: .delay) }
    }

    private func peerEnd() async {
        let socket = socket
        await withCheckedContinuation { continuation in
            _ = socket.onPeerEnd { _ in continuation.resume() }
        }
    }
}

/// The pace of one response. The wait is between pieces, because a wait after the last would delay the next request.
private struct Drip: Sendable {
    let pace: MockServer.Response.Pace
    private let hasBegun = Locked(false)

    init(pace: MockServer.Response.Pace) {
        self.pace = pace
    }

    /// The seconds before the next piece.
    func nextWait() -> TimeInterval {
        hasBegun.withLock { hasBegun in
            defer { hasBegun = true }
            return hasBegun ? pace.seconds : 0
        }
    }
}
