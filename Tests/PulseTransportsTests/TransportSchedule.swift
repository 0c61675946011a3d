// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// A random schedule of calls.
struct TransportSchedule: Sendable {
    let seed: UInt64
    let calls: Int

    func play() async throws {
        try await MockServer.run { server in
            let switchboard = Switchboard()
            server.fallback { request in
                switchboard.cancel(request.path)
                return Self.response(to: request)
            }
            let transport = SocketTransport(16)
            let ends = Locked<[Plan.End: Int]>([:])
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<calls {
                    if index >= 200 { await group.next() }
                    group.addTask {
                        let plan = Plan(index, SeededRandomness(seed: seed << 32 + UInt64(index)))
                        let end = await plan.run(over: transport, url: server.baseURL, switchboard)
                        ends.withLock { $0[end, default: 0] += 1 }
                    }
                }
            }
            let result = ends.withLock { $0 }
            let wrong = result.keys.filter(\.isWrong)
            #expect(wrong.isEmpty, "seed \(seed): \(wrong)")
            #expect(result.values.reduce(0, +) == calls)
            // All kinds must have occurred; otherwise the test would prove little.
            for end in [Plan.End.succeeded, .cancelled, .failed] {
                #expect(result[end, default: 0] > calls / 20, "\(end)")
            }
            try await Self.finish(transport, server)
        }
    }

    /// No call hangs: all slots are free again, and one more call succeeds. Then nothing is left.
    private static func finish(_ transport: any Transport, _ server: MockServer) async throws {
        for _ in 0..<20 {
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL.appendingPathComponent("plain/1")), idleTimeout: 600)
            #expect(try await transport.send(request).statusCode == 200)
        }
        await transport.shutdown()
        try await server.wait { $0.openConnectionCount == 0 }
    }

    /// The first part of the path selects the server's behavior.
    static func response(to request: RecordedRequest) -> MockServer.Response {
        let body = Data(request.path.utf8)
        return switch request.path.split(separator: "/").first {
        case "plain": .data(body)
        case "dripping": .data(body).dripping(3)
        case "long": .data(Data(repeating: 7, count: 300_000))
        case "chunked": .data(body).framed(.chunked(sizes: [1, 5]))
        case "stalling": .data(Data(repeating: 7, count: 300_000)).fault(.stall, at: .body(1000))
        case "mute": .raw([.stall])
        case "reset": .data(body).fault(.reset, at: .start)
        case "cut": .data(Data(repeating: 7, count: 10_000)).truncated(after: 5000)
        default: .status(404)
        }
    }

    /// Lets the server cancel the call whose request it has just read.
    final class Switchboard: Sendable {
        private let calls = Locked<[String: Task<Data, any Error>]>([:])

        func connect(_ path: String, to call: Task<Data, any Error>) {
            calls.withLock { $0[path] = call }
        }

        func cancel(_ path: String) {
            calls.withLock { $0[path] }?.cancel()
        }
    }

    /// One call of the schedule.
    struct Plan: Sendable {
        enum End: Sendable, Hashable {
            case succeeded, cancelled, failed
            case wrong(String)

            var isWrong: Bool {
                if case .wrong = self { true } else { false }
            }
        }

        enum Cancel {
            case never
            case after(yields: UInt64)
            case onceTheServerHasIt
            case onceTheFirstBytesAreThere
        }

        private static let behaviors = ["plain", "dripping", "long", "chunked", "stalling", "mute", "reset", "cut"]

        private let path: String
        private let behavior: String
        private let body: TransportRequest.Body
        private let isStreamed: Bool
        private let cancel: Cancel

        init(_ index: Int, _ randomness: SeededRandomness) {
            behavior = Self.behaviors[Int(randomness.next() % UInt64(Self.behaviors.count))]
            path = "/\(behavior)/\(index)"
            let bytes = Data(repeating: 1, count: Int(randomness.next() % 150_000))
            body =
                switch randomness.next() % 4 {
                case 0: .bytes(bytes)
                case 1:
                    .stream(
                        RequestBody.Stream(length: randomness.next() % 2 == 0 ? Int64(bytes.count * 2) : nil) {
                            ByteStream([bytes, bytes])
                        })
                default: .none
                }
            isStreamed = randomness.next() % 3 == 0
            cancel =
                switch randomness.next() % 4 {
                case 0: .after(yields: randomness.next() % 40)
                case 1: .onceTheServerHasIt
                case 2: isStreamed && behavior != "mute" ? .onceTheFirstBytesAreThere : .onceTheServerHasIt
                default: behavior == "mute" || behavior == "stalling" ? .onceTheServerHasIt : .never
                }
        }

        func run(over transport: any Transport, url: URL, _ switchboard: Switchboard) async -> End {
            var urlRequest = URLRequest(url: url.appendingPathComponent(path))
            if case .none = body {} else { urlRequest.httpMethod = "PUT" }
            let request = TransportRequest(
                urlRequest: urlRequest, body: body, delivery: isStreamed ? .streamed : .buffered(limit: 1 << 20),
                idleTimeout: 600)
            // Must be known before the server can see the request.
            let gate = AsyncStream<Void>.makeStream()
            let task = Task { [isStreamed, cancel] in
                for await _ in gate.stream {}
                let response = try await transport.send(request)
                guard isStreamed, let bytes = response.bytes else { return response.data }
                var data = Data()
                for try await chunk in bytes {
                    data.append(chunk)
                    if case .onceTheFirstBytesAreThere = cancel { withUnsafeCurrentTask { $0?.cancel() } }
                }
                return data
            }
            if case .onceTheServerHasIt = cancel { switchboard.connect(path, to: task) }
            gate.continuation.finish()
            if case .after(let yields) = cancel {
                for _ in 0..<yields { await Task.yield() }
                task.cancel()
            }
            return await end(of: task.result)
        }

        private func end(of result: Result<Data, any Error>) -> End {
            switch result {
            case .success(let data):
                let isRight =
                    switch behavior {
                    case "long": data == Data(repeating: 7, count: 300_000)
                    case "plain", "dripping", "chunked": data == Data(path.utf8)
                    default: false
                    }
                return isRight ? .succeeded : .wrong("\(path) got \(data.count) bytes")
            case .failure(let error):
                switch PulseError(wrapping: error) {
                case .cancelled:
                    if case .never = cancel { return .wrong("\(path) ended as cancelled without a cancellation") }
                    return .cancelled
                case .transport(.networkConnectionLost, _) where behavior == "reset" || behavior == "cut":
                    return .failed
                case let error:
                    return .wrong("\(path) failed: \(error)")
                }
            }
        }
    }
}
#endif
