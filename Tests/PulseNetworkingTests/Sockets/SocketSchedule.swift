// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseStorage
import PulseTesting
import PulseTransports
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseSockets

/// One socket over connections that break, from the first attempt to its end. Chance comes from the seed; the order in
/// which tasks run does not.
final class SocketSchedule: Sendable {
    /// What became of the messages of one sender.
    private struct Outcomes: Sendable {
        var sent: Set<String> = []
        /// Of these no byte may arrive.
        var unsent: Set<String> = []
    }

    private struct Feed: SocketEndpoint {
        let path = "/feed"
        let socketOptions: SocketOptions
    }

    /// After that many handshakes no connection breaks by plan.
    private static let limit = 16
    /// So many that several messages leave together.
    private static let senders = ["a", "b", "c", "d", "e", "f"]

    private let random: SeededRandomness
    private let compresses: Bool
    private let clock = TestClock(autoAdvances: true)
    private let connectivity = ManualConnectivityMonitor()
    private let states = StateLog()
    /// What the server has received, but for the greetings, with the number of the connection. It may read the rest of
    /// one that is cut while the next one is open.
    private let arrived = Locked<[(connection: Int, id: String)]>([])
    /// Whether the connections last.
    private let lasts = Locked(false)
    private let isCalm = Locked(false)

    init(seed: UInt64, compresses: Bool) {
        random = SeededRandomness(seed: seed)
        self.compresses = compresses
    }

    private func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

    // MARK: The carriers

    /// Returns the number of connections.
    func overMemory() async throws -> Int {
        let mock = MockTransport(stubs: [], compresses: compresses, clock: clock) { try await self.serve($0) }
        let configuration = PulseConfiguration().with(\.baseURL, value: URL(string: "https://api.example.com"))
        return try await run(configuration, over: mock) { mock.sockets }
    }

    /// Returns the number of connections.
    func overWire() async throws -> Int {
        try await MockServer.run { server in
            server.onSocket("/feed", compresses: compresses) { try await self.serve($0) }
            let count = try await run(.patient(with: server), over: StandardTransport()) { server.activity.sockets }
            try await server.wait { $0.openConnectionCount == 0 }
            return count
        }
    }

    // MARK: The server

    private func serve(_ socket: ServerSocket) async throws {
        let number = socket.request.connection
        var count = 0
        func send() async throws {
            let size = below(6) == 0 ? 100_000 : 5
            try await socket.send(.text("\(number) \(count) " + String(repeating: "y", count: size)))
            count += 1
        }
        // A message that comes with the handshake, or with the close as well.
        let isFirst = below(3) == 0
        if isFirst {
            try await send()
            if !lasts.withLock({ $0 }), below(4) == 0 { return try await socket.close(code: 1012) }
        }
        // Unless the client leaves before.
        guard let first = try await socket.receive() else { return }
        #expect(first == .text("hello"), "\(self): the greeting is not first")
        if !isFirst { try await send() }
        var left = lasts.withLock { $0 } ? Int.max : below(12)
        while left > 0, let message = try await socket.receive() {
            guard case .text(let text) = message else { continue }
            arrived.withLock { $0.append((number, String(text.prefix { $0 != " " }))) }
            left -= 1
            for _ in 0..<below(3) { try await send() }
        }
        switch below(8) {
        case 0: try await socket.run(.reset)
        case 1: try await socket.run(.truncate)
        case 2: try await socket.close(code: 1012)
        case 3: try await socket.close(code: 1005)
        case 4: try await socket.run(.stall)
        case 5: try await socket.sendRaw(Data([0xFF, 0xFF]))
        case 6: throw CancellationError()
        default: try await socket.run(.close)
        }
    }

    // MARK: The run

    private func run(
        _ configuration: PulseConfiguration, over base: any Transport, _ records: () -> [ServerSocket.Record]
    ) async throws -> Int {
        let transport = CuttingTransport(base) { try self.cut($0) }
        let client = ClientStage.client(
            configuration.with(\.connectivity, value: connectivity), clock: clock, over: transport,
            events: PulseEventBus(sink: states))
        let whileDown = below(2) == 0 ? SocketOptions.WhileDown.waits : .fails
        let receives = below(2) == 0
        let socket = PulseSocket(
            endpoint: Feed(
                socketOptions: SocketOptions(
                    fatalCodes: [4999],
                    receiveBuffer: below(2) == 0 ? 1 << 20 : 100,
                    whileDown: whileDown)),
            client: client
        ) { greeting in
            try await greeting.send(.text("hello"))
            if receives { _ = try await greeting.receive() }
        }
        let ending = Task { await socket.states.reduce(nil as SocketState?) { $1 } }
        let outcomes = await live(socket, client, transport)
        guard case .closed = await ending.value else {
            Issue.record("\(self) has no end")
            return 0
        }
        while records().contains(where: \.isOpen) { await Task.yield() }
        for record in records() { #expect(record.violation == nil, "\(self)") }
        check(outcomes, socket.statistics.unconfirmed, transport.count)
        #expect(client.calls.ownerCount == 0, "\(self)")
        return transport.count.opened
    }

    /// Uses the socket by several tasks until it has ended. Returns what became of the messages.
    private func live(_ socket: PulseSocket, _ client: PulseClient, _ transport: CuttingTransport) async -> Outcomes {
        let closesEarly = below(4) == 0
        let receiving = Task {
            await socket.messages.reduce(into: [String]()) { texts, message in
                if case .text(let text) = message { texts.append(text) }
            }
        }
        await connect(socket)
        let senders = Self.senders.map { name in Task { await self.send(name, over: socket) } }
        let pinging = Task {
            while !self.isCalm.withLock({ $0 }) {
                _ = try? await socket.ping()
                await self.pause()
            }
        }
        let disturbing = Task {
            while !self.isCalm.withLock({ $0 }) {
                await self.disturb(socket)
            }
        }
        // Whatever waits for a timeout gets it: the others may all wait for that.
        let ticking = Task {
            while !Task.isCancelled {
                for _ in 0..<2_000 { await Task.yield() }
                try? await self.clock.sleep(1)
            }
        }
        defer { ticking.cancel() }
        let lifetime = closesEarly ? below(Self.limit) : Self.limit
        while transport.count.handshakes <= lifetime { await Task.yield() }
        if !closesEarly {
            // On a connection that lasts.
            while (try? await socket.ping()) == nil { await Task.yield() }
        }
        let ways = closesEarly ? below(3) : 0
        if ways == 1 { client.cancelAll() }
        if ways == 2 { await client.shutdown() }
        // Its own disturbances end before, unless they may cut it.
        if closesEarly { await socket.close() }
        isCalm.withLock { $0 = true }
        for task in [pinging, disturbing] { await task.value }
        var outcomes = Outcomes()
        for sender in senders {
            let own = await sender.value
            outcomes.sent.formUnion(own.sent)
            outcomes.unsent.formUnion(own.unsent)
        }
        while !closesEarly, !socket.isOver, (try? await socket.ping()) == nil { await Task.yield() }
        await socket.close()
        checkReceived(await receiving.value)
        return outcomes
    }

    /// The first attempts may fail. Other tasks connect too, and leave.
    private func connect(_ socket: PulseSocket) async {
        while case .idle = socket.state {
            let others = (0..<below(3)).map { _ in Task { try await socket.connect() } }
            let connecting = Task { try await socket.connect() }
            for other in others { other.cancel() }
            if below(6) == 0 { connecting.cancel() }
            for task in others + [connecting] { _ = await task.result }
        }
    }

    private func send(_ name: String, over socket: PulseSocket) async -> Outcomes {
        var outcomes = Outcomes()
        for index in 0... {
            // What is sent last arrives.
            guard !isCalm.withLock({ $0 }) else { break }
            let id = "\(name)\(index)"
            let size = below(8) == 0 ? 70_000 + below(100_000) : 20
            let sending = Task { try await socket.send(.text(id + " " + String(repeating: "x", count: size))) }
            if below(8) == 0 {
                for _ in 0..<below(20) { await Task.yield() }
                sending.cancel()
            }
            do {
                try await sending.value
                outcomes.sent.insert(id)
            } catch PulseError.cancelled {
                outcomes.unsent.insert(id)
            } catch PulseError.socketClosed {
                return outcomes
            } catch {
                guard case PulseError.transport(.networkConnectionLost, _) = error else {
                    Issue.record("\(self): \(error)")
                    return outcomes
                }
                if (error as? PulseError)?.phase == .beforeSend { outcomes.unsent.insert(id) }
                await Task.yield()
            }
        }
        return outcomes
    }

    private func disturb(_ socket: PulseSocket) async {
        switch below(4) {
        case 0:
            connectivity.set(.unsatisfied)
            connectivity.set(.satisfied)
        case 1: try? await clock.sleep(TimeInterval(below(40)))
        case 2:
            let connecting = Task { try await socket.connect() }
            if below(2) == 0 { connecting.cancel() }
            await pause()
            // Not for as long as the greeting waits: this task is the one that makes its timeout come.
            connecting.cancel()
            _ = await connecting.result
        default: break
        }
        await pause()
    }

    private func pause() async {
        for _ in 0..<below(200) { await Task.yield() }
    }

    /// What becomes of a handshake.
    private func cut(_ index: Int) throws -> CuttingTransport.Cut {
        guard index < Self.limit else {
            lasts.withLock { $0 = true }
            return CuttingTransport.Cut()
        }
        switch below(10) {
        case 0: throw TransportFailure(code: .cannotConnectToHost, phase: .beforeSend)
        case 1: return CuttingTransport.Cut(refusal: [503, 429][below(2)])
        case 2...3: return CuttingTransport.Cut(read: below(400))
        case 4: return CuttingTransport.Cut(read: below(300_000))
        case 5...6: return CuttingTransport.Cut(written: below(400))
        case 7: return CuttingTransport.Cut(written: below(300_000))
        default: return CuttingTransport.Cut()
        }
    }

    // MARK: The checks

    private func check(_ outcomes: Outcomes, _ lastUnconfirmed: Int, _ count: CuttingTransport.Count) {
        let numbers = Set(arrived.withLock { $0 }.map(\.connection)).sorted()
        let all = numbers.flatMap { number in
            arrived.withLock { $0 }.filter { $0.connection == number }.map(\.id)
        }
        let ids = Set(all)
        #expect(ids.count == all.count, "\(self): a message has arrived twice")
        for name in Self.senders {
            let own = all.filter { $0.hasPrefix(name) }.compactMap { Int($0.dropFirst()) }
            #expect(own == own.sorted(), "\(self): the order is lost")
        }
        #expect(ids.isDisjoint(with: outcomes.unsent), "\(self): an unsent message has arrived")
        let missing = outcomes.sent.subtracting(ids)
        let unconfirmed = states.unconfirmed + lastUnconfirmed
        #expect(missing.count <= unconfirmed, "\(self): \(missing.count) of \(unconfirmed) are missing")
        #expect(states.fault == nil, "\(self): \(states.fault ?? "")")
        #expect(count.maxOpen <= 1 && count.open == 0 && !count.isShared, "\(self): \(count)")
    }

    /// Of each connection the first messages, without a gap; the greeting may have taken one.
    private func checkReceived(_ texts: [String]) {
        var next: [Int: Int] = [:]
        var last = 0
        for text in texts {
            let numbers = text.split(separator: " ").prefix(2).compactMap { Int($0) }
            guard numbers.count == 2 else {
                Issue.record("\(self): \(text.prefix(20))")
                return
            }
            let expected = next[numbers[0]] ?? min(numbers[1], 1)
            #expect(numbers[1] == expected && numbers[0] >= last, "\(self): \(numbers) after \(last) \(expected)")
            (next[numbers[0]], last) = (numbers[1] + 1, numbers[0])
        }
    }
}

extension SocketSchedule: CustomStringConvertible {
    var description: String { "seed \(random.seed)" }
}

extension PulseSocket {
    fileprivate var isOver: Bool {
        if case .closed = state { true } else { false }
    }
}

/// The states of a socket, as its events tell them.
private final class StateLog: EventSink {
    private struct State: Sendable {
        var last = "idle"
        var unconfirmed = 0
        var fault: String?
    }

    private let state = Locked(State())

    var isActive: Bool { true }
    /// The sum of what was told as unconfirmed.
    var unconfirmed: Int { state.withLock { $0.unconfirmed } }
    /// A state that may not follow the one before.
    var fault: String? { state.withLock { $0.fault } }

    private static let following = [
        "idle": ["connecting", "closed"], "connecting": ["open", "idle", "reconnecting", "closed"],
        "open": ["reconnecting", "closing", "closed"], "reconnecting": ["connecting", "closed"],
        "closing": ["closed"], "closed": [],
    ]

    func emit(_ event: NetworkEvent) {
        guard case .socketStateChanged(_, let next) = event else { return }
        state.withLock { state in
            let name =
                switch next {
                case .idle: "idle"
                case .connecting: "connecting"
                case .open: "open"
                case .reconnecting(_, _, _, let unconfirmed):
                    {
                        state.unconfirmed += unconfirmed; return "reconnecting"
                    }()
                case .closing: "closing"
                case .closed: "closed"
                }
            if Self.following[state.last]?.contains(name) != true { state.fault = "\(state.last), \(name)" }
            state.last = name
        }
    }
}
