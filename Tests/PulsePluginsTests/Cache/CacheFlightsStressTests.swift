// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import Testing

@testable import PulsePlugins

@Suite(.timeLimit(.minutes(5)))
struct CacheFlightsStressTests {
    private static func key(_ path: String) -> CacheFlightKey {
        CacheFlightKey(key: CacheKey(url: path), delivery: .streamed, tag: nil)
    }

    private static func answer(_ text: String) -> CacheOutcome {
        .answered(PulseResponse(statusCode: 200, data: Data(text.utf8), request: .mock()), stored: nil)
    }

    @Test func aRequestBehindTheCallsHasNoDeadlineOfThose() async throws {
        let flights = CacheFlights()
        let (held, end) = AsyncStream<Void>.makeStream()
        let seen = Locked<WaitingCalls?>(nil)
        flights.beginBehind(Self.key("/")) { waiting in
            seen.withLock { $0 = waiting }
            for await _ in held {}
            return Self.answer("new")
        }
        let waiting = try #require(seen.withLock { $0 })
        let call = Task<CacheOutcome, any Error>.startingNow {
            await flights.outcome(of: Self.key("/"), for: PluginContext.mock(deadline: 5).call) { _ in
                Self.answer("another")
            }.outcome
        }
        #expect(flights.counts.1 == 1)
        #expect(waiting.deadline == nil)
        end.finish()
        guard case .answered(let response, _) = try await call.value else {
            Issue.record("no answer")
            return
        }
        #expect(response.data == Data("new".utf8))
    }

    /// Hundreds come and go at once, some of them cancelled; every one gets an outcome, and nothing is left.
    @Test func everybodyGetsAnOutcomeAndNothingIsLeft() async throws {
        let flights = CacheFlights()
        let random = SeededRandomness(seed: 4)
        for _ in 0..<40 {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    let path = "/\(random.next() % 3)"
                    let yields = random.next() % 5
                    let isCancelled = random.next() % 4 == 0
                    group.addTask {
                        let call = Task {
                            await flights.outcome(of: Self.key(path), for: PluginContext.mock().call) { _ in
                                for _ in 0..<yields { await Task.yield() }
                                return Task.isCancelled ? .failed(.cancelled) : Self.answer(path)
                            }.outcome
                        }
                        if isCancelled { call.cancel() }
                        switch await call.value {
                        case .answered(let response, _): #expect(response.data == Data(path.utf8))
                        case .failed(let error): #expect(error.kind == .cancelled)
                        case .confirmed, .standIn: Issue.record("an outcome that nobody made")
                        }
                    }
                }
                if random.next() % 5 == 0 { group.addTask { flights.close { _ in true } } }
                if random.next() % 8 == 0 { group.addTask { await flights.shutdown() } }
            }
            await flights.shutdown()
            #expect(flights.counts == (0, 0))
        }
    }

    /// Against a plain model: who is first leads, who comes later waits, the last to leave ends it.
    @Test func theMachineAgreesWithAPlainModel() async {
        let random = SeededRandomness(seed: 5)
        var machine = CacheFlights.StateMachine()
        var model: [Int: (path: String, waiting: Set<CacheFlights.StateMachine.Ticket>, isOpen: Bool, isBehind: Bool)] =
            [:]
        for step in 0..<20_000 {
            if step % 200 == 0 { await Task.yield() }
            let path = "/\(random.next() % 3)"
            let open = model.first { $0.value.path == path && $0.value.isOpen }?.key
            switch random.next() % 8 {
            case 0, 1, 2:
                let ticket = machine.join(Self.key(path))
                #expect(open == nil || ticket.flight == open, "step \(step)")
                #expect(ticket.isLeader == (open == nil), "step \(step)")
                model[ticket.flight, default: (path, [], true, false)].waiting.insert(ticket)
            case 3:
                let number = machine.beginBehind(Self.key(path))
                #expect((number == nil) == (open != nil), "step \(step)")
                if let number { model[number] = (path, [], true, true) }
            case 4, 5:
                guard let flight = model.first(where: { !$0.value.waiting.isEmpty }),
                    let ticket = flight.value.waiting.first
                else { continue }
                let isLast = flight.value.waiting.count == 1 && !flight.value.isBehind
                #expect(machine.leave(ticket) == isLast, "step \(step)")
                model[flight.key]?.waiting.remove(ticket)
                if isLast { model[flight.key]?.isOpen = false }
            case 6:
                guard let flight = model.first else { continue }
                #expect(Set(machine.finish(flight.key)) == flight.value.waiting, "step \(step)")
                model[flight.key] = nil
            default:
                machine.close { $0.url == path }
                if let open { model[open]?.isOpen = false }
            }
            #expect(machine.count == model.count, "step \(step)")
        }
    }
}
