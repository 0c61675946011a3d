// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension Defect {
    /// Defects of a transport on a socket, as a wrapper around one with sockets.
    static let ofTheWire: [Defect] = [
        Defect(
            "resends after a lost connection",
            noticedBy: "a server that closes the connection after reading a POST gets it once",
            "a server that resets the connection after reading a POST gets it once",
            "GET on a kept-alive connection that is closed is sent once and fails as stale",
            "a POST with an idempotency key on a kept-alive connection that is reset is sent once and fails as stale",
            fault: { base, request in
                do {
                    return try await base.send(request)
                } catch let failure as TransportFailure where failure.code == .networkConnectionLost {
                    return try await base.send(request)
                }
            }),
        Defect(
            "does not report stale connections",
            noticedBy: "GET on a kept-alive connection that is closed is sent once and fails as stale",
            fault: telling(.maybeSent)),
        Defect(
            "reuses any idle connection", noticedBy: "a request that needs a new connection gets one",
            "an idle connection near its timeout carries no request that must not be resent",
            fault: { base, request in
                var request = request
                (request.mayBeResent, request.needsNewConnection) = (true, false)
                return try await base.send(request)
            }),
        Defect(
            "treats a broken response as an empty one",
            noticedBy: "a body truncated by the end of the connection is an error",
            "a chunked body truncated between chunks is an error", "garbage in place of a status line is an error",
            "two different Content-Lengths are an error",
            fault: { base, request in
                do {
                    return try await base.send(request)
                } catch is TransportFailure {
                    return PulseResponse(statusCode: 200, request: request.urlRequest)
                }
            }),
        Defect(
            "reports every failure as unsent", noticedBy: "a connection closed before the response to POST is an error",
            "a connection reset within the body is an error", "a body stream with a wrong length fails",
            fault: telling(.beforeSend)),
        Defect(
            "reports every failure as sent",
            noticedBy: "a refused connection is an error before anything is sent", "a name that does not resolve",
            fault: telling(.maybeSent)),
        Defect(
            "reports all failures alike", noticedBy: "another protocol in place of HTTP is an error",
            "a body that does not match its coding is an error",
            fault: { base, request in
                do {
                    return try await base.send(request)
                } catch let failure as TransportFailure {
                    throw TransportFailure(code: .unknown, phase: failure.phase)
                }
            }),
        Defect(
            "makes a connection for every request", noticedBy: "consecutive requests share a connection",
            fault: { base, request in
                var request = request
                request.urlRequest.setValue("close", forHTTPHeaderField: "Connection")
                return try await base.send(request)
            }),
        Defect(
            "keeps the header fields of the coding",
            noticedBy: "gzip is decoded, and its header fields are removed",
            fault: { base, request in
                var response = try await base.send(request)
                response.headers["Content-Encoding"] = "gzip"
                return response
            }),
        Defect(
            "applies the idle timeout to the whole response",
            noticedBy: "a response that takes longer than the idle timeout arrives",
            "a wait for a connection is not idle time",
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
            "loses a response that arrives during the upload",
            noticedBy: "a 413 before the body is read is the response",
            "a 401 before the body is read is the response, also on a reused connection",
            "a refusal that ends the connection is the response",
            fault: { base, request in
                let response = try await base.send(request)
                guard response.statusCode < 400 else {
                    throw TransportFailure(code: .networkConnectionLost, phase: .maybeSent)
                }
                return response
            }),
        Defect(
            "waits for the end of its body", noticedBy: "a refusal arrives while the body waits for more bytes",
            "a refusal that ends the connection arrives while the body waits for more bytes",
            fault: { base, request in
                // The source never ends.
                guard case .stream(let stream) = request.body, stream.length != nil else {
                    return try await base.send(request)
                }
                throw TransportFailure(code: .timedOut, phase: .maybeSent)
            }),
        Defect(
            "never times out", noticedBy: "a server that never responds causes a timeout",
            fault: { base, request in
                var request = request
                request.idleTimeout = 1000
                return try await base.send(request)
            }),
        Defect(
            "waits for a connection without a limit",
            noticedBy: "a wait for a connection ends at its limit, and nothing is sent",
            fault: { base, request in
                var request = request
                request.poolTimeout = .infinity
                return try await base.send(request)
            }),
        Defect(
            "counts streams as other requests",
            noticedBy: "open streams leave the connections of a host to other requests",
            fault: { base, request in
                var request = request
                let context = PluginContext.mock()
                context.store[StoredBodyKey.self] = true
                request.context = context
                return try await base.send(request)
            }),
        Defect(
            "waits twice as long for a response to a body",
            noticedBy: "a server that reads a body and never responds causes a timeout in time",
            fault: { base, request in
                var request = request
                if case .bytes = request.body { request.idleTimeout *= 2 }
                return try await base.send(request)
            }),
        Defect(
            "keeps the connection of a cancelled request",
            noticedBy: "a cancellation within the body ends the wait and the connection",
            fault: { base, request in
                let responses = AsyncThrowingStream<PulseResponse, any Error> { continuation in
                    Task { continuation.yield(try await base.send(request)) }
                }
                // It ends for a cancelled task; started work continues.
                for try await reply in responses { return reply }
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
