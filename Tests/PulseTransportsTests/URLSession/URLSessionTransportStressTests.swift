// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// No call is cancelled while it connects: libcurl then closes the socket under Foundation's dispatch source. Whichever
/// socket of the process gets the number next may get no events, a server's of another test among them.
@Suite(.tags(.threads, .addresses), .serialized, .throttled)
struct URLSessionTransportStressTests {
    /// 200 calls in flight while calls remain. The seed selects one of three for cancellation, and its moment.
    @Test(arguments: [1, 2] as [UInt64])
    func everyCallEndsOnceUnderRandomCancellations(seed: UInt64) async throws {
        try await MockServer.run { server in
            let switchboard = Switchboard()
            server.fallback { request in
                switchboard.cancel(request.path)
                return .text(request.path)
            }
            let transport = URLSessionTransport()
            let tally = Locked(Tally())
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<500 {
                    if index >= 200 { await group.next() }
                    group.addTask {
                        let call = Call(index, url: server.baseURL, SeededRandomness(seed: seed << 32 + UInt64(index)))
                        let end = await call.run(over: transport, switchboard)
                        tally.withLock { $0.add(end) }
                    }
                }
            }
            let result = tally.withLock { $0 }
            #expect(result.wrong == [])
            #expect(result.succeeded + result.cancelled == 500)
            // Both kinds must have occurred; otherwise the test would prove little.
            #expect(result.succeeded >= 333)
            #expect(result.cancelled > 60)

            await transport.shutdown()
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }

    @Test(arguments: [4, 5] as [UInt64])
    func shutdownAtARandomMomentEndsEveryCall(seed: UInt64) async throws {
        for round in 0..<4 as Range<UInt64> {
            try await MockServer.run { server in
                server.fallback { request in
                    // All connections exist before the first response; later calls reuse them.
                    try await server.requests(atLeast: 6)
                    return request.path.hasSuffix("3") ? .raw([.stall]) : .text(request.path)
                }
                let transport = URLSessionTransport(maxConnectionsPerHost: 6)
                let randomness = SeededRandomness(seed: seed << 32 + round)
                let calls = (0..<40).map { index in
                    let request = TransportRequest(
                        urlRequest: URLRequest(url: server.baseURL.appendingPathComponent("/\(index)")),
                        idleTimeout: 600, mayBeResent: true)
                    return Task { try await transport.send(request) }
                }
                try await server.requests(atLeast: 6)
                for _ in 0..<randomness.next() % 50 { await Task.yield() }
                await transport.shutdown()
                // Each has a result; a leaked continuation would block this loop.
                for call in calls {
                    guard case .failure(let error) = await call.result else { continue }
                    #expect(PulseError(wrapping: error).kind == .cancelled)
                }
                try await server.wait { $0.openConnectionCount == 0 }
            }
        }
    }
}

extension URLSessionTransportStressTests {
    enum End: Sendable {
        case succeeded, cancelled
        case wrong(String)
    }

    struct Tally: Sendable {
        var succeeded = 0
        var cancelled = 0
        var wrong: [String] = []

        mutating func add(_ end: End) {
            switch end {
            case .succeeded: succeeded += 1
            case .cancelled: cancelled += 1
            case .wrong(let what): wrong.append(what)
            }
        }
    }

    /// Lets the server cancel the call whose request it has just read.
    final class Switchboard: Sendable {
        private typealias Line = (call: Task<PulseResponse, any Error>, yields: UInt64)

        private let lines = Locked<[String: Line]>([:])

        /// - Parameter yields: how long a cancellation takes, while the response is on its way.
        func connect(_ path: String, to call: Task<PulseResponse, any Error>, yields: UInt64) {
            lines.withLock { $0[path] = (call, yields) }
        }

        func cancel(_ path: String) {
            guard let line = lines.withLock({ $0[path] }) else { return }
            guard line.yields > 0 else { return line.call.cancel() }
            Task {
                for _ in 0..<line.yields { await Task.yield() }
                line.call.cancel()
            }
        }
    }

    struct Call: Sendable {
        enum Cancel {
            case never
            case beforeItStarts
            case onceTheServerHasIt(yields: UInt64)
        }

        let request: TransportRequest
        private let path: String
        private let cancel: Cancel

        init(_ index: Int, url: URL, _ randomness: SeededRandomness) {
            path = "/\(index)"
            var urlRequest = URLRequest(url: url.appendingPathComponent(path))
            // A request that may not be resent has its own session.
            let isPost = randomness.next() % 4 == 0
            urlRequest.httpMethod = isPost ? "POST" : "GET"
            let body = Data(repeating: 1, count: Int(randomness.next() % 5000))
            urlRequest.httpBody = isPost ? body : nil
            request = TransportRequest(
                urlRequest: urlRequest, body: isPost ? .bytes(body) : .none, idleTimeout: 600,
                mayBeResent: !isPost)
            switch (index % 3, randomness.next() % 4) {
            case (0, 0): cancel = .beforeItStarts
            case (0, 1): cancel = .onceTheServerHasIt(yields: 0)
            case (0, _): cancel = .onceTheServerHasIt(yields: randomness.next() % 20)
            default: cancel = .never
            }
        }

        func run(over transport: URLSessionTransport, _ switchboard: Switchboard) async -> End {
            let task = Task {
                if case .beforeItStarts = cancel { withUnsafeCurrentTask { $0?.cancel() } }
                return try await transport.send(request)
            }
            var mayFail = true
            switch cancel {
            case .never: mayFail = false
            case .beforeItStarts: break
            case .onceTheServerHasIt(let yields): switchboard.connect(path, to: task, yields: yields)
            }
            switch await task.result {
            case .success(let response) where String(decoding: response.data, as: UTF8.self) == path: return .succeeded
            case .success(let response): return .wrong("\(path) got \(response)")
            case .failure(is CancellationError) where mayFail: return .cancelled
            case .failure(let error): return .wrong("\(path) failed: \(error)")
            }
        }
    }
}
