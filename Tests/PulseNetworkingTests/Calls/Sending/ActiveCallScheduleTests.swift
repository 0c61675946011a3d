// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls

/// A seeded random schedule against a plain model; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct ActiveCallScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 2_000

    @Test func callsAgreeWithAPlainModelOverARandomSchedule() async {
        let random = SeededRandomness(seed: 42)
        let stage = Stage()
        for step in 0..<Self.steps {
            await stage.step(random)
            await stage.check("seed \(random.seed), step \(step)")
        }
        await stage.end()
    }

    /// What the model knows of a call.
    private struct Model {
        enum Phase {
            case running, streaming, completing
        }

        var phase = Phase.running
        let tag: String
        let seconds: TimeInterval?
        let startedAt: TimeInterval
        var canceller: String?
        /// How the call ended; nil for a cancellation, whose text names the canceller.
        var end: String?

        /// When the deadline of a call that runs expires. A stream has none.
        var deadline: TimeInterval? {
            phase == .running ? seconds.map { startedAt + $0 } : nil
        }

        var text: String { end ?? "cancelled: \(canceller ?? "by the calling task, or by a plugin")" }
    }

    private final class Stage {
        private let gated = GatedCalls()
        private let clock = TestClock()
        private var client: PulseClient
        private var models: [Int: Model] = [:]
        private var tasks: [Int: Task<PulseResponse, any Error>] = [:]
        private var streams: [Int: ByteStream] = [:]
        private var shutdown: Task<Void, Never>?
        private let isDown = Locked(false)
        private var nextID = 0

        init() {
            client = Self.client(gated, clock)
        }

        private static func client(_ gated: GatedCalls, _ clock: TestClock) -> PulseClient {
            ClientStage.client(plugins: [gated], clock: clock, over: gated, events: PulseEventBus(sink: gated))
        }

        func step(_ random: SeededRandomness) async {
            let ids = models.keys.sorted()
            let id = ids.isEmpty ? 0 : ids[Int(random.next() % UInt64(ids.count))]
            switch (random.next() % 64, models[id]?.phase) {
            case (0, _): await shutDown()
            case (1...2, _):
                cancel("by cancelAll() of the client") { _ in
                    true
                } by: {
                    $0.cancelAll()
                }
            case (3...7, _):
                let tag = "\(random.next() % 3)"
                cancel(#"by cancelAll(tag: "\#(tag)")"#) {
                    $0.tag == tag
                } by: {
                    $0.cancelAll(tag: tag)
                }
            case (8...11, _): await advance()
            case (12...31, _), (_, nil): await start(tag: "\(random.next() % 3)", random)
            case (_, .running): await respond(to: id, random)
            case (_, .streaming): await endStream(of: id, random)
            case (_, .completing): await complete(id)
            }
        }

        private func start(tag: String, _ random: SeededRandomness) async {
            guard models.count < 6 || shutdown != nil else { return }
            nextID += 1
            let id = nextID
            var options = RequestOptions().with(\.tag, value: tag)
            let seconds = random.next() % 3 == 0 ? TimeInterval(1 + random.next() % 4) : nil
            options.deadline = seconds
            let task = Task.startingNow { [client, options] in
                try await client.perform(client.plan(GetUser(path: "\(id)"), options, CallShape(delivery: .streamed)))
            }
            guard shutdown == nil else {
                await #expect(throws: PulseError.self) { try await task.value }
                #expect(gated["\(id)"].ends == ["cancelled: the client was shut down"] && !gated["\(id)"].isSent)
                return gated.forget("\(id)")
            }
            await eventually("call \(id) is sent") { gated["\(id)"].isSent }
            tasks[id] = task
            models[id] = Model(tag: tag, seconds: seconds, startedAt: clock.uptime)
        }

        private func respond(to id: Int, _ random: SeededRandomness) async {
            switch random.next() % 8 {
            case 0:
                tasks[id]?.cancel()
                end(id, nil)
            case 1:
                gated.respond(to: "\(id)", .failure(.emptyBody))
                end(id, PulseError.Summary(.emptyBody).message)
            case 2:
                gated.respond(to: "\(id)", .success(.buffered(Data())))
                end(id, "success")
            case 3:
                gated.respond(to: "\(id)", .success(.connection(CountedConnection())))
                end(id, "success")
            default:
                let fails = random.next() % 4 == 0
                let rest = Locked(2)
                let stream = ByteStream {
                    let isOver = rest.withLock { rest in
                        rest -= 1
                        return rest < 0
                    }
                    if isOver, fails { throw PulseError.emptyBody }
                    return isOver ? nil : Data("x".utf8)
                }
                gated.respond(to: "\(id)", .success(.stream(stream)))
                _ = await tasks.removeValue(forKey: id)?.result
                streams[id] = stream
                models[id]?.phase = .streaming
            }
        }

        private func endStream(of id: Int, _ random: SeededRandomness) async {
            guard let stream = streams.removeValue(forKey: id) else { return }
            switch random.next() % 4 {
            case 0:
                stream.cancel()
                end(id, nil)
            case 1:
                end(id, nil)  // Dropped.
            default:
                let isWhole = (try? await stream.collect(upTo: 10)) != nil
                end(id, isWhole ? "success" : PulseError.Summary(.emptyBody).message)
            }
        }

        private func end(_ id: Int, _ text: String?) {
            models[id]?.phase = .completing
            models[id]?.end = text
        }

        private func complete(_ id: Int) async {
            guard let model = models.removeValue(forKey: id) else { return }
            gated.complete("\(id)")
            await eventually("call \(id) ends") { !gated["\(id)"].ends.isEmpty }
            #expect(gated["\(id)"].ends == [model.text], "call \(id)")
            _ = await tasks.removeValue(forKey: id)?.result
            gated.forget("\(id)")
        }

        private func cancel(
            _ reason: String, _ isChosen: (Model) -> Bool, by perform: (PulseClient) -> Void
        ) {
            perform(client)
            for (id, model) in models where isChosen(model) {
                models[id]?.canceller = model.canceller ?? reason
                models[id]?.phase = .completing
                streams[id] = nil
            }
        }

        private func advance() async {
            guard let first = models.values.compactMap(\.deadline).min() else { return }
            await clock.sleepers(atLeast: 1, for: .deadline)
            await clock.advance(by: first - clock.uptime)
            for (id, model) in models where model.deadline == first {
                end(id, "deadline exceeded, \(model.seconds ?? 0) s, with 1 sent")
            }
        }

        private func shutDown() async {
            guard shutdown == nil else { return }
            let task = Task.startingNow { [client, isDown] in
                await client.shutdown()
                isDown.withLock { $0 = true }
            }
            shutdown = Task { _ = await task.result }
            await eventually("the shutdown begins") { client.calls.isShutDown }
            cancel("the client was shut down") { _ in
                true
            } by: { _ in
            }
        }

        func check(_ comment: Comment) async {
            for (id, model) in models {
                let completions = model.phase == .completing ? 1 : 0
                await eventually(comment) { gated["\(id)"].completions >= completions }
                #expect(gated["\(id)"].completions == completions && gated["\(id)"].ends.isEmpty, comment)
            }
            await eventually(comment) { client.calls.count == models.count }
            guard let shutdown else { return }
            if models.isEmpty {
                await shutdown.value
                (self.shutdown, client) = (nil, Self.client(gated, clock))
                isDown.withLock { $0 = false }
            } else {
                #expect(!isDown.withLock { $0 }, comment)
            }
        }

        func end() async {
            cancel("by cancelAll() of the client") { _ in
                true
            } by: {
                $0.cancelAll()
            }
            for id in models.keys.sorted() { await complete(id) }
            await client.shutdown()
            #expect(client.calls.count == 0)
        }
    }
}
