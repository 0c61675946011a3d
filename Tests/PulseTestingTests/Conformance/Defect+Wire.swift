// SPDX-License-Identifier: MIT

import PulseCore

extension Defect {
    /// What a transport may do wrong on a socket, put before one that has sockets.
    static let ofTheWire: [Defect] = [
        Defect(
            "sends again when the connection is lost",
            noticedBy: "a POST reaches a server once that closes the connection after reading it",
            "a POST reaches a server once that resets the connection after reading it",
            "GET whose kept-alive connection is closed arrives once, and fails as stale",
            "a POST with an idempotency key whose kept-alive connection is reset arrives once, and fails as stale",
            fault: { base, request in
                do {
                    return try await base.send(request)
                } catch let failure as TransportFailure where failure.code == .networkConnectionLost {
                    return try await base.send(request)
                }
            }),
        Defect(
            "does not tell a stale connection from another failure",
            noticedBy: "GET whose kept-alive connection is closed arrives once, and fails as stale",
            fault: telling(.maybeSent)),
        Defect(
            "takes any idle connection", noticedBy: "a request that needs a new connection gets one",
            "an idle connection near the end of its time carries no request that must not be repeated",
            fault: { base, request in
                var request = request
                (request.mayBeResent, request.needsNewConnection) = (true, false)
                return try await base.send(request)
            }),
        Defect(
            "takes what is broken for an empty answer",
            noticedBy: "a body that is cut by the end of the connection is an error",
            "a chunked body that is cut between chunks is an error", "garbage instead of a head is an error",
            "two Content-Lengths that differ are an error",
            fault: { base, request in
                do {
                    return try await base.send(request)
                } catch is TransportFailure {
                    return PulseResponse(statusCode: 200, request: request.urlRequest)
                }
            }),
        Defect(
            "tells every failure as unsent", noticedBy: "a connection closed before an answer to POST is an error",
            "a connection reset within the body is an error", "a body stream of another length than it tells fails",
            fault: telling(.beforeSend)),
        Defect(
            "tells every failure as sent",
            noticedBy: "a refused connection cannot be made, and nothing was sent", "a name that does not resolve",
            fault: telling(.maybeSent)),
        Defect(
            "tells no failure from another", noticedBy: "another protocol instead of HTTP is an error",
            "a body that is not coded as it says is an error",
            fault: { base, request in
                do {
                    return try await base.send(request)
                } catch let failure as TransportFailure {
                    throw TransportFailure(code: .unknown, phase: failure.phase)
                }
            }),
        Defect(
            "makes a connection for every request", noticedBy: "requests one after another share a connection",
            fault: { base, request in
                var request = request
                request.urlRequest.setValue("close", forHTTPHeaderField: "Connection")
                return try await base.send(request)
            }),
        Defect(
            "leaves the headers that tell about the coding",
            noticedBy: "gzip is decoded, and the headers that told about it are gone",
            fault: { base, request in
                var response = try await base.send(request)
                response.headers["Content-Encoding"] = "gzip"
                return response
            }),
        Defect(
            "bounds the whole answer by the idle timeout",
            noticedBy: "an answer that takes longer than the idle timeout comes",
            "a wait for a connection is no idle time",
            fault: { base, request in
                try await withThrowingTaskGroup(of: PulseResponse.self) { group in
                    group.addTask { try await base.send(request) }
                    group.addTask {
                        try await SystemClock().sleep(request.idleTimeout)
                        throw TransportFailure(code: .timedOut, phase: .maybeSent)
                    }
                    defer { group.cancelAll() }
                    guard let first = try await group.next() else { throw CancellationError() }
                    return first
                }
            }),
        Defect(
            "loses what comes before it has sent all",
            noticedBy: "a 413 before the body is read is the response",
            "a 401 before the body is read is the response, also of a used connection",
            "a refusal that ends the connection is the response",
            fault: { base, request in
                let response = try await base.send(request)
                guard response.statusCode < 400 else {
                    throw TransportFailure(code: .networkConnectionLost, phase: .maybeSent)
                }
                return response
            }),
        Defect(
            "ends with its body", noticedBy: "a refusal comes while the body waits for more",
            "a refusal that ends the connection comes while the body waits for more",
            fault: { base, request in
                // The source never ends.
                guard case .stream(let stream) = request.body, stream.length != nil else {
                    return try await base.send(request)
                }
                throw TransportFailure(code: .timedOut, phase: .maybeSent)
            }),
        Defect(
            "waits for ever", noticedBy: "a server that never answers is a timeout",
            fault: { base, request in
                var request = request
                request.idleTimeout = 1000
                return try await base.send(request)
            }),
        Defect(
            "waits twice as long for an answer to a body",
            noticedBy: "a server that takes a body and never answers is a timeout in time",
            fault: { base, request in
                var request = request
                if case .bytes = request.body { request.idleTimeout *= 2 }
                return try await base.send(request)
            }),
        Defect(
            "hangs on to the wire of a cancelled request",
            noticedBy: "a cancel within the body ends the wait and the wire",
            fault: { base, request in
                let answers = AsyncThrowingStream<PulseResponse, any Error> { continuation in
                    Task { continuation.yield(try await base.send(request)) }
                }
                // Ends for a cancelled task; what was begun goes on.
                for try await answer in answers { return answer }
                throw CancellationError()
            }),
    ]

    private static func telling(
        _ phase: PulseError.Phase
    ) -> @Sendable (any Transport, TransportRequest) async throws -> PulseResponse {
        { base, request in
            do {
                return try await base.send(request)
            } catch let failure as TransportFailure {
                throw TransportFailure(code: failure.code, phase: phase)
            }
        }
    }
}
