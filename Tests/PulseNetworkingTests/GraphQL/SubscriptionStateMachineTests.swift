// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseGraphQL

/// What the subscriptions of a socket do; without a wire.
@Suite(.tags(.schedule), .throttled)
struct SubscriptionStateMachineTests {
    private static let lost = PulseError.socketClosed(code: 1006, reason: "")

    private static func text(_ action: SubscriptionStateMachine.Action) -> String {
        switch action {
        case .nothing: "nothing"
        case .connect: "connect"
        case .subscribe(let ids, let connection): "subscribe \(ids) on \(connection)"
        case .interrupt(let ids, _): "interrupt \(ids)"
        case .deliver(let id, let payload): "deliver \(id) \(String(decoding: payload, as: UTF8.self))"
        case .pong(let connection): "pong on \(connection)"
        case .complete(let id, let connection): "complete \(id) on \(connection)"
        case .end(let id, let error): "end \(id)" + (error.map { " \($0.kind)" } ?? "")
        case .fail(let ids, let error, let close): "fail \(ids) \(error.kind) \(close.code)"
        }
    }

    private static func next(_ id: String) -> Result<SubscriptionMessage, SubscriptionMessage.Fault> {
        .success(.next(id: id, payload: Data("{}".utf8)))
    }

    @Test func aSubscriptionLives() {
        var machine = SubscriptionStateMachine()
        #expect(!machine.isUnused)
        let actions = [
            machine.add(1), machine.add(2), machine.received(.success(.ping), connection: 1),
            {
                machine.connected()
                machine.initialized()
                return machine.add(3)
            }(),
            machine.received(.success(.acknowledgement), connection: 1), machine.add(4),
            machine.received(Self.next("3"), connection: 1), machine.received(Self.next("5"), connection: 1),
            machine.received(Self.next("+3"), connection: 1), machine.received(.success(.pong), connection: 1),
            machine.remove(1), machine.remove(1), machine.received(Self.next("1"), connection: 1),
            machine.received(.success(.error(id: "2", [GraphQLError(message: "no")])), connection: 1),
            machine.interrupted(by: Self.lost), machine.interrupted(by: Self.lost), machine.remove(3),
            {
                machine.connected()
                machine.initialized()
                return machine.received(.success(.acknowledgement), connection: 3)
            }(),
            machine.received(.success(.complete(id: "4")), connection: 3),
        ]
        #expect(
            actions.map(Self.text) == [
                "connect", "nothing", "pong on 1", "nothing", "subscribe [1, 2, 3] on 1", "subscribe [4] on 1",
                "deliver 3 {}", "nothing", "nothing", "nothing", "complete 1 on 1", "nothing", "nothing",
                "end 2 graphQL", "interrupt [3, 4]", "nothing", "nothing", "subscribe [4] on 3", "end 4",
            ])
        #expect(machine.isUnused)
        let ended = machine.endAll()
        #expect(ended.isEmpty && !machine.isUnused)
    }

    @Test func violationsEndAll() {
        let faults: [Result<SubscriptionMessage, SubscriptionMessage.Fault>] = [
            .failure(.init(reason: "no type")), Self.next("1"), .success(.complete(id: "1")),
            .success(.error(id: "1", [])),
        ]
        for fault in faults {
            var machine = SubscriptionStateMachine()
            _ = machine.add(1)
            machine.connected()
            _ = machine.add(2)
            #expect(Self.text(machine.received(fault, connection: 1)) == "fail [1, 2] socketClosed 4400")
            // Another subscription begins again.
            #expect(Self.text(machine.add(3)) == "connect")
        }
        var machine = SubscriptionStateMachine()
        _ = machine.add(1)
        #expect(Self.text(machine.received(.success(.acknowledgement), connection: 1)).hasPrefix("fail [1]"))
        _ = machine.add(1)
        machine.connected()
        // Before `connection_init`.
        #expect(Self.text(machine.received(.success(.acknowledgement), connection: 1)).hasPrefix("fail [1]"))
        _ = machine.add(1)
        machine.connected()
        machine.initialized()
        _ = machine.received(.success(.acknowledgement), connection: 1)
        #expect(Self.text(machine.received(.success(.acknowledgement), connection: 1)).hasPrefix("fail [1]"))
    }

    @Test func aLateAcknowledgementCountsForNothing() {
        var machine = SubscriptionStateMachine()
        _ = machine.add(1)
        for number in 1...3 {
            machine.connected()
            machine.initialized()
            let isRefused = machine.refused()
            #expect(isRefused)
            #expect(Self.text(machine.received(.success(.acknowledgement), connection: number)) == "nothing")
            #expect(Self.text(machine.received(.failure(.init(reason: "")), connection: number)) == "nothing")
            let text = Self.text(machine.interrupted(by: Self.lost))
            #expect(text == (number == 3 ? "fail [1] socketClosed 1000" : "nothing"))
        }
        _ = machine.add(1)
        machine.connected()
        machine.initialized()
        _ = machine.received(.success(.acknowledgement), connection: 4)
        let isRefused = machine.refused()
        #expect(!isRefused)
    }

    @Test func anUnusedSocketDoesNotReconnect() {
        var machine = SubscriptionStateMachine()
        _ = machine.add(1)
        _ = machine.remove(1)
        #expect(machine.isUnused)
        #expect(Self.text(machine.interrupted(by: Self.lost)) == "fail [] socketClosed 1000")
        #expect(!machine.isUnused)
    }

    @Test func threeRefusalsInARowEndAll() {
        var machine = SubscriptionStateMachine()
        _ = machine.add(1)
        for isAcknowledged in [false, false, true, false, false] {
            machine.connected()
            if isAcknowledged { machine.initialized() }
            if isAcknowledged { _ = machine.received(.success(.acknowledgement), connection: 1) }
            #expect(Self.text(machine.interrupted(by: Self.lost)) == (isAcknowledged ? "interrupt [1]" : "nothing"))
            // A handshake that fails counts for nothing.
            #expect(Self.text(machine.interrupted(by: Self.lost)) == "nothing")
        }
        machine.connected()
        #expect(Self.text(machine.interrupted(by: Self.lost)) == "fail [1] socketClosed 1000")
    }

    /// Random inputs, against a plain account of what the server of each connection was told.
    @Test func anyScheduleKeepsTheRules() {
        let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000
        for seed in 0..<UInt64(4) {
            var run = Run(seed: seed)
            for _ in 0..<(steps / 4) { run.step() }
        }
    }

    private struct Run {
        let random: SeededRandomness
        var machine = SubscriptionStateMachine()
        var hasSocket = false
        enum Step {
            case connected, initialized, refused, acknowledged
        }

        var connection: (number: Int, step: Step)?
        var connections = 0
        var lastID = 0
        /// The subscriptions of the application.
        var wanted: Set<Int> = []
        /// Those that the server of the connection serves.
        var served: Set<Int> = []
        var refusals = 0

        init(seed: UInt64) { random = SeededRandomness(seed: seed) }

        func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

        mutating func step() {
            switch below(12) {
            case 0...2:
                lastID += 1
                wanted.insert(lastID)
                check(machine.add(lastID))
            case 3, 4:
                let id = wanted.element(random) ?? lastID
                wanted.remove(id)
                check(machine.remove(id))
            case 5, 6:
                guard hasSocket, connection == nil else { return }
                connections += 1
                connection = (connections, .connected)
                machine.connected()
            case 7:
                guard connection?.step == .connected else {
                    let isRefused = machine.refused()
                    #expect(isRefused == (connection?.step == .initialized))
                    if isRefused { connection?.step = .refused }
                    return
                }
                connection?.step = .initialized
                machine.initialized()
            case 8:
                guard let connection, connection.step == .initialized || below(20) == 0 else { return }
                check(machine.received(.success(.acknowledgement), connection: connection.number))
            case 9, 10:
                guard let connection, connection.step == .acknowledged else { return }
                let id = below(3) == 0 ? below(lastID + 2) : served.element(random) ?? 0
                let message = [
                    SubscriptionMessage.next(id: "\(id)", payload: Data("\(id)".utf8)), .complete(id: "\(id)"),
                    .error(id: "\(id)", [GraphQLError(message: "no")]), .ping,
                ][below(4)]
                check(machine.received(.success(message), connection: connection.number), of: message)
            default:
                guard hasSocket else { return }
                if below(10) == 0 {
                    #expect(machine.endAll() == wanted.sorted())
                    end()
                } else {
                    interrupt()
                }
            }
            #expect(machine.isUnused == (hasSocket && wanted.isEmpty))
        }

        mutating func end() {
            (hasSocket, connection, wanted, served, refusals) = (false, nil, [], [], 0)
        }

        mutating func check(_ action: SubscriptionStateMachine.Action, of message: SubscriptionMessage? = nil) {
            switch action {
            case .nothing:
                break
            case .connect:
                #expect(!hasSocket && wanted == [lastID])
                hasSocket = true
            case .subscribe(let ids, let number):
                #expect(connection?.number == number)
                // No subscription twice on a connection.
                #expect(served.isDisjoint(with: ids) && ids == ids.sorted())
                served.formUnion(ids)
                #expect(served == wanted)
                #expect(connection?.step == .initialized || connection?.step == .acknowledged)
                connection?.step = .acknowledged
                refusals = 0
            case .interrupt(let ids, _):
                #expect(connection?.step == .acknowledged && ids == wanted.sorted())
                (connection, served) = (nil, [])
            case .deliver(let id, let payload):
                #expect(wanted.contains(id) && served.contains(id) && payload == Data("\(id)".utf8))
            case .pong(let number):
                #expect(connection?.number == number)
            case .complete(let id, let number):
                let wasServed = served.remove(id) != nil
                #expect(wasServed && number == connection?.number)
            case .end(let id, let error):
                if case .error? = message { #expect(error != nil) } else { #expect(error == nil) }
                #expect(wanted.remove(id) != nil && served.remove(id) != nil)
            case .fail(let ids, _, let close):
                #expect(ids == wanted.sorted())
                // The server acknowledges out of turn, or does not three times, or nothing needs the socket.
                switch close.code {
                case 4400: #expect(connection?.step == .connected || connection?.step == .acknowledged)
                default: #expect(refusals == 2 || wanted.isEmpty)
                }
                return end()
            }
        }

        mutating func interrupt() {
            let action = machine.interrupted(by: SubscriptionStateMachineTests.lost)
            switch (connection?.step, action) {
            case (nil, .nothing):
                #expect(!wanted.isEmpty)
            case (.connected?, .nothing), (.initialized?, .nothing), (.refused?, .nothing):
                refusals += 1
                connection = nil
                #expect(refusals < 3 && !wanted.isEmpty)
            case (_, .fail), (.acknowledged?, .interrupt):
                check(action)
            default:
                Issue.record("\(action)")
            }
        }
    }
}

extension Set<Int> {
    fileprivate func element(_ random: SeededRandomness) -> Int? {
        isEmpty ? nil : sorted()[Int(random.next() % UInt64(count))]
    }
}
