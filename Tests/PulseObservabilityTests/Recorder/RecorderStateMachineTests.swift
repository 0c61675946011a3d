// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseObservability

@Suite(.throttled)
struct RecorderStateMachineTests {
    typealias Machine = PulseRecorder.StateMachine

    private func machine(calls: Int = 10, bytes: Int = .max, events: Int = 10) -> Machine {
        Machine(maxCalls: calls, byteBudget: bytes, maxEvents: events)
    }

    private func begin(_ id: UUID, in machine: inout Machine) {
        machine.begin(
            PulseRecording.Call(
                id: id, endpointPath: "/a", route: "a", method: .get, host: "h",
                startedAt: Date(timeIntervalSince1970: 0)), id: id, at: 0)
    }

    private func send(_ id: UUID, body: String, in machine: inout Machine) -> UInt64 {
        begin(id, in: &machine)
        return machine.beginExchange(
            id, attempt: 1, hop: 0, offset: 0,
            request: .init(
                method: "POST", url: "u", body: PulseRecording.Body(.text(body), byteCount: Int64(body.utf8.count)))
        )
    }

    @Test func theOldestCallIsDroppedAboveTheMaximum() {
        var machine = machine(calls: 2)
        let ids = (0..<5).map { _ in UUID() }
        for id in ids { begin(id, in: &machine) }
        let recording = machine.recording
        #expect(recording.calls.map(\.id) == Array(ids.suffix(2)))
        #expect(recording.recordedCallCount == 5)
        #expect(recording.droppedCallCount == 3)
    }

    @Test func theOldestBodiesAreDroppedBeforeAnyCall() {
        let body = String(repeating: "x", count: 10_000)
        var machine = machine(bytes: 25_000)
        let ids = (0..<3).map { _ in UUID() }
        for id in ids { _ = send(id, body: body, in: &machine) }
        let recording = machine.recording
        #expect(recording.calls.map(\.id) == ids)
        let contents = recording.calls.compactMap { $0.exchanges.first?.request.body.content }
        #expect(contents == [.omitted(.overBudget), .text(body), .text(body)])
        #expect(recording.calls.first?.exchanges.first?.request.body.byteCount == 10_000)
        #expect(machine.byteCount <= 25_000)
    }

    @Test func aBodyLargerThanTheBudgetIsOmitted() {
        var machine = machine(bytes: 5000)
        let number = send(UUID(), body: String(repeating: "x", count: 10_000), in: &machine)
        #expect(machine.recording.calls.first?.exchanges.first?.request.body.content == .omitted(.overBudget))
        #expect(machine.recording.calls.first?.exchanges.first?.id == number)
    }

    @Test func aNegativeBudgetStoresNothing() {
        var machine = machine(bytes: -1)
        _ = send(UUID(), body: "x", in: &machine)
        #expect(machine.recording.calls.isEmpty)
        #expect(machine.recording.recordedCallCount == 1)
        #expect(machine.byteCount == 0)
    }

    @Test func aLateResponseToADroppedCallChangesNothing() {
        var machine = machine(calls: 1)
        let (dropped, kept) = (UUID(), UUID())
        let number = send(dropped, body: "x", in: &machine)
        _ = send(kept, body: "y", in: &machine)
        let bytes = machine.byteCount
        machine.update(dropped, exchange: number) { $0.duration = 1 }
        machine.end(dropped, latency: 1, outcome: nil, traceID: nil)
        machine.mark(dropped, .retrying, at: 1)
        #expect(machine.recording.calls.map(\.id) == [kept])
        #expect(machine.byteCount == bytes)
    }

    @Test func aLateRequestOfADroppedCallDoesNotRestoreIt() {
        var machine = machine(calls: 1)
        let (dropped, kept) = (UUID(), UUID())
        _ = send(dropped, body: "x", in: &machine)
        _ = send(kept, body: "y", in: &machine)
        let bytes = machine.byteCount
        // The second attempt of the dropped call begins.
        _ = send(dropped, body: "x", in: &machine)
        #expect(machine.recording.calls.map(\.id) == [kept])
        #expect(machine.recordedCallCount == 2)
        #expect(machine.byteCount == bytes)
    }

    @Test func theBudgetIncludesHostAndOutcome() {
        var machine = machine()
        let id = UUID()
        let host = String(repeating: "h", count: 3000)
        machine.begin(
            PulseRecording.Call(
                id: id, endpointPath: "/a", route: "a", method: .get, host: host,
                startedAt: Date(timeIntervalSince1970: 0)), id: id, at: 0)
        #expect(machine.byteCount > 3000)
        let message = String(repeating: "m", count: 5000)
        machine.end(
            id, latency: 1, outcome: .failure(PulseError.Summary(kind: .custom, message: message)), traceID: nil)
        #expect(machine.byteCount > 8000)
        machine.end(id, latency: 1, outcome: .failure(PulseError.Summary(kind: .custom, message: "m")), traceID: nil)
        #expect(machine.byteCount < 5000)
    }

    @Test func aLateResponseToACallWithDroppedBodiesHasNoBody() {
        let body = String(repeating: "x", count: 4000)
        var machine = machine(bytes: 8000)
        let (old, new) = (UUID(), UUID())
        let number = send(old, body: body, in: &machine)
        _ = send(new, body: body, in: &machine)
        machine.update(old, exchange: number) { exchange in
            exchange.response = .init(statusCode: 200, body: PulseRecording.Body(.text(body), byteCount: 4000))
        }
        let exchange = machine.recording.calls.first?.exchanges.first
        #expect(exchange?.response?.statusCode == 200)
        #expect(exchange?.response?.body.content == .omitted(.overBudget))
        #expect(machine.recording.calls.count == 2)
    }

    @Test func theFirstAndTheLastOfTooManyRequestsAreKept() {
        var machine = machine()
        let id = UUID()
        for _ in 0..<150 { _ = send(id, body: "", in: &machine) }
        let call = machine.recording.calls.first
        #expect(call?.exchanges.count == 100)
        #expect(call?.exchanges.first?.id == 1)
        #expect(call?.exchanges.last?.id == 150)
        #expect(call?.omittedExchangeCount == 50)
        #expect(machine.byteCount == call?.cost)
    }

    @Test func theEventsOutcomeOverridesThatOfTheLastRequest() {
        var machine = machine()
        let id = UUID()
        let number = send(id, body: "", in: &machine)
        machine.update(id, exchange: number) { $0.response = .init(statusCode: 200) }
        let error = PulseError.Summary(kind: .decodingFailed, message: "no User")
        machine.end(id, latency: 2, outcome: .failure(error), traceID: "t")
        machine.end(id, latency: 9, outcome: nil, traceID: nil)
        let call = machine.recording.calls.first
        #expect(call?.latency == 2)
        #expect(call?.traceID == "t")
        guard case .failure(error) = call?.outcome else {
            Issue.record("\(String(describing: call?.outcome))")
            return
        }
    }

    @Test func theOldestEventIsDroppedAboveTheMaximum() {
        var machine = machine(events: 3)
        for number in 0..<500 {
            machine.add(RecordedEvent(date: Date(timeIntervalSince1970: 0), kind: .warning, subject: "\(number)"))
        }
        #expect(machine.recording.events.map(\.subject) == ["497", "498", "499"])
        #expect(machine.recording.recordedEventCount == 500)
    }

    @Test func eventsTakeAtMostAQuarterOfTheBudget() {
        var machine = machine(calls: 100, bytes: 40_000, events: 1000)
        let body = String(repeating: "x", count: 10_000)
        let id = UUID()
        _ = send(id, body: body, in: &machine)
        for number in 0..<100 {
            let subject = "\(number)" + String(repeating: "x", count: 4000)
            machine.add(RecordedEvent(date: Date(timeIntervalSince1970: 0), kind: .warning, subject: subject))
        }
        var recording = machine.recording
        #expect(recording.events.map { $0.subject.prefix(2) } == ["98", "99"])
        #expect(recording.recordedEventCount == 100)
        #expect(recording.calls.first?.exchanges.first?.request.body.text == body)
        #expect(machine.byteCount <= 40_000)
        for _ in 0..<10 { _ = send(UUID(), body: body, in: &machine) }
        recording = machine.recording
        #expect(recording.events.count == 2)
        #expect(recording.calls.count == 11)
        #expect(machine.byteCount <= 40_000)
    }

    @Test func anEventLargerThanTheEventShareIsNotStored() {
        var machine = machine(bytes: 4000)
        let subject = String(repeating: "x", count: 1000)
        machine.add(RecordedEvent(date: Date(timeIntervalSince1970: 0), kind: .warning, subject: subject))
        #expect(machine.recording.events.isEmpty)
        #expect(machine.recordedEventCount == 1)
        #expect(machine.byteCount == 0)
    }
}
