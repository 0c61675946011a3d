// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseObservability

/// A seeded random schedule against a plain model; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct RecorderScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 3_000

    /// A call in the model, with the lengths of its bodies.
    private struct Model {
        let id: UUID
        var bodies: [(exchange: UInt64, length: Int)] = []
        var hasEnded = false
    }

    @Test @HeavyWork func behavesLikeAPlainModelOverARandomSchedule() {
        let random = SeededRandomness(seed: 8)
        var machine = PulseRecorder.StateMachine(maxCalls: 20, byteBudget: 40_000, maxEvents: 5)
        var known: [Model] = []
        var dropped: [UUID] = []
        var begun = 0
        for step in 0..<Self.steps {
            let index = known.isEmpty ? 0 : Int(random.next() % UInt64(known.count))
            switch random.next() % 10 {
            case 0...2:
                let id = UUID()
                begun += 1
                machine.begin(Self.call(id), id: id, at: 0)
                known.append(Model(id: id))
            case 3...5 where !known.isEmpty:
                let length = Int(random.next() % 6000)
                let number = machine.beginExchange(
                    known[index].id, attempt: 1, hop: 0, offset: 0, request: Self.request(length))
                known[index].bodies.append((number, length))
            case 6 where !known.isEmpty:
                guard let body = known[index].bodies.last else { continue }
                machine.update(known[index].id, exchange: body.exchange) { exchange in
                    exchange.duration = 1
                    exchange.response = .init(statusCode: 200)
                }
            case 7 where !known.isEmpty:
                machine.end(known[index].id, latency: 1, outcome: nil, traceID: nil)
                known[index].hasEnded = true
            case 8 where !dropped.isEmpty:
                // A late attempt of a dropped call.
                let late = dropped[Int(random.next() % UInt64(dropped.count))]
                machine.begin(Self.call(late), id: late, at: 0)
                _ = machine.beginExchange(late, attempt: 2, hop: 0, offset: 0, request: Self.request(10))
            case 9:
                let subject = String(repeating: "x", count: Int(random.next() % 6000))
                machine.add(
                    RecordedEvent(date: Date(timeIntervalSince1970: 0), kind: .warning, subject: subject))
            default: continue
            }
            let recording = machine.recording
            let calls = recording.calls
            // The remaining calls are always the newest.
            let left = max(0, known.count - calls.count)
            dropped = Array((dropped + known.prefix(left).map(\.id)).suffix(100))
            known.removeFirst(left)
            let cost = calls.reduce(0) { $0 + $1.cost } + recording.events.reduce(0) { $0 + $1.cost }
            #expect(machine.byteCount == cost, "seed \(random.seed), step \(step)")
            #expect(recording.events.count <= 5, "seed \(random.seed), step \(step)")
            #expect(calls.map(\.id) == known.map(\.id), "seed \(random.seed), step \(step)")
            #expect(calls.count <= 20 && machine.byteCount <= 40_000, "seed \(random.seed), step \(step)")
            #expect(machine.recordedCallCount == begun, "seed \(random.seed), step \(step)")
            guard calls.map(\.id) == known.map(\.id) else { return }
            check(calls, known, "seed \(random.seed), step \(step)")
        }
    }

    private func check(_ calls: [PulseRecording.Call], _ known: [Model], _ comment: String) {
        var wereDropped = true
        for (call, model) in zip(calls, known) {
            #expect(
                call.exchanges.map(\.id) == model.bodies.suffix(100).map(\.exchange) || model.bodies.count > 100,
                "\(comment)")
            let bodies = call.exchanges.map(\.request.body).filter { $0.byteCount ?? 0 > 0 }
            let isDropped = bodies.contains { $0.text == nil }
            // Bodies are dropped from the oldest call on, so a call with all its bodies is never before one without.
            if isDropped { #expect(wereDropped, "\(comment)") }
            if !bodies.isEmpty, !isDropped { wereDropped = false }
            #expect(bodies.allSatisfy { ($0.text == nil) == isDropped }, "\(comment)")
        }
    }

    private static func call(_ id: UUID) -> PulseRecording.Call {
        PulseRecording.Call(
            id: id, endpointPath: "/", route: "r", method: .get, host: "h", startedAt: Date(timeIntervalSince1970: 0))
    }

    private static func request(_ length: Int) -> PulseRecording.Exchange.Request {
        let body: PulseRecording.Body =
            length == 0
            ? .none : PulseRecording.Body(.text(String(repeating: "x", count: length)), byteCount: Int64(length))
        return .init(method: "PUT", url: "u", body: body)
    }
}
