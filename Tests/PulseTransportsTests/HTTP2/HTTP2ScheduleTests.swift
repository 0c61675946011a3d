// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// Many requests on few connections, with random responses, resets and cancellations; `PULSE_STEPS` sets their number.
@Suite(.tags(.schedule, .threads, .addresses), .throttled, .enabled(if: HTTP2Session.isSupported))
struct HTTP2ScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 400

    /// What the server does with a request, and the caller with the response.
    private enum Plan: Int, CaseIterable {
        case responds, respondsInPieces, resets, resetsLate, refuses, isCancelled, isStreamed, isDropped

        init(_ number: Int, seed: UInt64) {
            let chance = SeededRandomness(seed: seed << 32 + UInt64(number))
            self = Self.allCases[Int(chance.next() % UInt64(Self.allCases.count))]
        }
    }

    private enum End: Hashable {
        case succeeded, failed, cancelled, replaced
        case wrong(String)

        var isWrong: Bool {
            if case .wrong = self { true } else { false }
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyRequestEndsAsPlanned(seed: UInt64) async throws {
        let pool = Pool(seed: seed)
        let ends = Locked<[End: Int]>([:])
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<Self.steps {
                if number >= 24 { await group.next() }
                group.addTask {
                    let end = await Self.run(number, seed: seed, on: pool)
                    ends.withLock { $0[end, default: 0] += 1 }
                }
            }
        }
        let result = ends.withLock { $0 }
        let wrong = result.keys.filter(\.isWrong)
        #expect(wrong.isEmpty, "seed \(seed): \(wrong)")
        #expect(result.values.reduce(0, +) == Self.steps)
        for end in [End.succeeded, .failed, .cancelled] { #expect(result[end, default: 0] > Self.steps / 20) }
        // Nothing is left of the streams.
        for stage in pool.stages {
            #expect(stage.connection.idleSince != nil || !stage.connection.isOpen)
            stage.connection.close()
        }
        await pool.end()
    }

    private static func run(_ number: Int, seed: UInt64, on pool: Pool) async -> End {
        let plan = Plan(number, seed: seed)
        let isStreamed = plan == .isStreamed || plan == .isDropped
        let call = Task { () -> Data? in
            let response = try await pool.send(Data("\(number)".utf8), isStreamed: isStreamed)
            guard let bytes = response?.bytes, isStreamed else { return response?.data }
            var data = Data()
            for try await piece in bytes {
                data.append(piece)
                if plan == .isDropped { throw CancellationError() }
            }
            return data
        }
        if plan == .isCancelled {
            for _ in 0..<(number % 50) { await Task.yield() }
            call.cancel()
        }
        switch await call.result {
        case .success(.none): return .replaced
        case .success(let data?):
            let isRight = data == Data("\(number)".utf8) && plan != .resets && plan != .resetsLate
            return isRight ? .succeeded : .wrong("\(number), \(plan): \(data.count) bytes")
        case .failure(let error):
            switch (PulseError(wrapping: error), plan) {
            case (.cancelled, .isCancelled), (.cancelled, .isDropped): return .cancelled
            case (.transport(.networkConnectionLost, _), .resets), (.transport(.networkConnectionLost, _), .resetsLate),
                (.transport(.networkConnectionLost, _), .refuses):
                return .failed
            case (let error, _): return .wrong("\(number), \(plan): \(error)")
            }
        }
    }

    /// Opens a connection when the others have no place, and plays the server of each.
    private final class Pool: Sendable {
        private struct State {
            var stages: [HTTP2Stage] = []
            var servers: [Task<Void, Never>] = []
        }

        private let seed: UInt64
        private let state = Locked(State())

        init(seed: UInt64) {
            self.seed = seed
        }

        var stages: [HTTP2Stage] { state.withLock { $0.stages } }

        func end() async {
            for server in state.withLock({ $0.servers }) { await server.value }
        }

        func send(_ body: Data, isStreamed: Bool) async throws -> PulseResponse? {
            let stage = try await reserved()
            return try await stage.run(
                "POST", body: .bytes(body), delivery: isStreamed ? .streamed : .buffered(limit: 1 << 20),
                idleTimeout: 600)
        }

        private func reserved() async throws -> HTTP2Stage {
            if let stage = stages.last(where: { $0.connection.reserve() }) { return stage }
            let stage = try await HTTP2Stage([(3, 8)])
            // Nobody else knows it.
            let isReserved = stage.connection.reserve()
            #expect(isReserved)
            let server = Task { [seed] in await Self.serve(stage.peer, seed: seed) }
            state.withLock { state in
                state.stages.append(stage)
                state.servers.append(server)
            }
            return stage
        }

        /// Responds to each request, whose body is its number, until the client closes the connection.
        private static func serve(_ peer: HTTP2ConnectionPeer, seed: UInt64) async {
            var bodies: [Int32: [UInt8]] = [:]
            while let frame = await peer.next() {
                guard frame.kind == .data else { continue }
                // Otherwise the window of the connection would be used up after 64 KiB of all bodies together.
                if !frame.payload.isEmpty { peer.send(.windowUpdate(0, UInt32(frame.payload.count))) }
                bodies[frame.stream, default: []] += frame.payload
                guard frame.isEnd, let body = bodies.removeValue(forKey: frame.stream),
                    let number = Int(String(decoding: body, as: UTF8.self))
                else { continue }
                respond(to: frame.stream, body, Plan(number, seed: seed), over: peer)
            }
        }

        private static func respond(
            to stream: Int32, _ body: [UInt8], _ plan: Plan, over peer: HTTP2ConnectionPeer
        ) {
            switch plan {
            case .responds, .isStreamed, .isDropped:
                peer.send(.head(stream, 200), .data(stream, body, isEnd: true))
            case .respondsInPieces:
                peer.send(.head(stream, 200))
                for byte in body { peer.send(.data(stream, [byte])) }
                peer.send(.data(stream, [], isEnd: true))
            case .resets: peer.send(.reset(stream, 2))
            case .resetsLate: peer.send(.head(stream, 200), .data(stream, body), .reset(stream, 8))
            case .refuses: peer.send(.reset(stream, 7))
            // A sign of life, but no response.
            case .isCancelled: peer.send(.head(stream, 200))
            }
        }
    }
}
#endif
