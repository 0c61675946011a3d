// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseSockets

/// Sockets over memory, with the real codec: what an application sees.
@Suite(.tags(.threads), .throttled)
struct SocketTests {
    struct Chat: SocketEndpoint {
        var path = "/ws/chat"
        var subprotocols: [String] = []
        var plugins: [any PulsePlugin] = []
        var socketOptions = SocketOptions()
        var options = RequestOptions()
        var pingInterval: TimeInterval = 30
    }

    typealias Serve = @Sendable (ServerSocket) async throws -> Void

    private static let echo: Serve = { socket in
        while let message = try await socket.receive() { try await socket.send(message) }
    }

    private static func client(
        clock: any PulseClock = TestClock(autoAdvances: true), stubs: [Stub] = [], subprotocols: [String] = [],
        plugins: [any PulsePlugin] = [], connectivity: any ConnectivityMonitor = ManualConnectivityMonitor(),
        events: PulseEventBus = PulseEventBus(), _ serve: @escaping Serve
    ) -> (PulseClient, MockTransport) {
        let transport = MockTransport(stubs: stubs, subprotocols: subprotocols, clock: clock, onSocket: serve)
        let client = ClientStage.client(
            .root.with(\.connectivity, value: connectivity), plugins: plugins, retry: .default, clock: clock,
            over: transport, events: events)
        return (client, transport)
    }

    private static func text(_ state: SocketState) -> String {
        switch state {
        case .connecting(let attempt): "connecting \(attempt)"
        case .reconnecting(_, let attempt, _, let unconfirmed): "reconnecting \(attempt) \(unconfirmed)"
        default: "\(state)"
        }
    }

    private static func expectEnd(_ transport: MockTransport) {
        for record in transport.sockets { #expect(record.violation == nil && record.frameCount > 0) }
    }

    private static func error(_ body: () async throws -> Void) async -> PulseError? {
        do {
            try await body()
            return nil
        } catch {
            return PulseError(wrapping: error)
        }
    }

    // MARK: Paths

    private struct Room: SocketEndpoint {
        let name: String
        var path: PathText { "/rooms/\(name)" }
    }

    private struct Linked: SocketEndpoint {
        let path: URL
    }

    @Test func aPathMayBeAPathTextOrAURL() async throws {
        let (client, transport) = Self.client(Self.echo)
        let room = PulseSocket(endpoint: Room(name: "a/b"), client: client)
        try await room.connect()
        let url = try #require(URL(string: "wss://api.example.com/c"))
        let linked = PulseSocket(endpoint: Linked(path: url), client: client)
        try await linked.connect()
        let refused = PulseSocket(endpoint: Room(name: ".."), client: client)
        let error = await Self.error { try await refused.connect() }
        #expect(error?.kind == .invalidRequest)
        #expect(
            transport.requests.map { $0.url?.absoluteString } == [
                "https://api.example.com/rooms/a%2Fb", "https://api.example.com/c",
            ])
        await client.shutdown()
    }

    // MARK: Messages

    @Test func messagesGoBothWaysInOrder() async throws {
        let (client, transport) = Self.client(subprotocols: ["chat.v2"], Self.echo)
        let socket = PulseSocket(endpoint: Chat(subprotocols: ["chat.v1", "chat.v2"]), client: client)
        let updates = socket.states
        let states = Task { await updates.reduce(into: [String]()) { $0.append(Self.text($1)) } }
        try await socket.connect()
        let sizes = [0, 1, 125, 126, 32_768, 65_536, 65_537]
        let messages = sizes.flatMap { size -> [SocketMessage] in
            [.text(String(repeating: "é", count: size)), .binary(Data(repeating: 7, count: size))]
        }
        let sending = Task { for message in messages { try await socket.send(message) } }
        for message in messages { #expect(try await socket.receive() == message) }
        try await sending.value
        #expect(try await socket.ping() >= 0)
        #expect(socket.statistics.unconfirmed == 0)
        let statistics = socket.statistics
        #expect(statistics.messagesSent == messages.count && statistics.messagesReceived == messages.count)
        await socket.close(code: 4000, reason: "bye")
        #expect(await states.value == ["idle", "connecting 1", "open, subprotocol chat.v2", "closing", "closed"])
        let record = try #require(transport.sockets.first)
        #expect(record.violation == nil && record.closeReceived == ServerSocket.Close(code: 4000, reason: "bye"))
        #expect(record.fragmentedMessageCount == 3 && Set(record.masks).count == record.masks.count)
        let request = try #require(transport.requests.first)
        #expect(request.value(forHTTPHeaderField: "Sec-WebSocket-Version") == "13")
        #expect(request.value(forHTTPHeaderField: "Sec-WebSocket-Protocol") == "chat.v1, chat.v2")
        await client.shutdown()
    }

    /// Sending tasks write themselves while the writing task has nothing to do, and hand over to it in the middle of a
    /// message: no message is left behind, and none overtakes another of its task.
    @Test func tasksThatSendAtOnceLoseNothing() async throws {
        let (tasks, count) = (6, 150)
        let (client, transport) = Self.client(Self.echo)
        let socket = PulseSocket(endpoint: Chat(), client: client)
        try await socket.connect()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    let random = SeededRandomness(seed: UInt64(task))
                    for number in 0..<count {
                        // Some are longer than the wire, and some than a fragment.
                        let size = random.next() % 16 == 0 ? Int(random.next() % 150_000) : Int(random.next() % 200)
                        let name = [UInt8(task), UInt8(number)]
                        try await socket.send(.binary(Data(name) + Data(count: size)))
                    }
                }
            }
            var next = [UInt8](repeating: 0, count: tasks)
            for _ in 0..<(tasks * count) {
                guard case .binary(let data) = try await socket.receive(), data.count >= 2 else { break }
                #expect(next[Int(data[0])] == data[1])
                next[Int(data[0])] += 1
            }
            #expect(next.allSatisfy { $0 == count })
            try await group.waitForAll()
        }
        #expect(socket.statistics.messagesSent == tasks * count)
        await socket.close()
        #expect(transport.sockets.allSatisfy { $0.violation == nil })
        await client.shutdown()
    }

    @Test func everyUseAfterTheEndThrowsIt() async throws {
        let (client, _) = Self.client(Self.echo)
        let socket = PulseSocket(endpoint: Chat(), client: client)
        try await socket.connect()
        await socket.close(code: 3000, reason: "done")
        let uses: [@Sendable () async throws -> Void] = [
            { try await socket.connect() }, { try await socket.send(.text("a")) }, { _ = try await socket.receive() },
            { _ = try await socket.ping() },
        ]
        for use in uses {
            guard case .socketClosed(3000, "done") = await Self.error(use) else {
                Issue.record("no end")
                continue
            }
        }
        await socket.close()
        for await _ in socket.messages { Issue.record("a message") }
        #expect(await socket.states.reduce(into: 0) { count, _ in count += 1 } == 1)
        await client.shutdown()
    }

    @Test func oneTaskReads() async throws {
        let (client, _) = Self.client(Self.echo)
        let socket = PulseSocket(endpoint: Chat(), client: client)
        try await socket.connect()
        let first = Task { try await socket.receive() }
        while socket.handle.core.state.withLock({ $0.inbox.reader == nil }) { await Task.yield() }
        guard case .invalidRequest = await Self.error({ _ = try await socket.receive() }) else {
            Issue.record("a second reader")
            return
        }
        for await _ in socket.messages { Issue.record("a message") }
        first.cancel()
        guard case .cancelled = await Self.error({ _ = try await first.value }) else {
            Issue.record("not cancelled")
            return
        }
        // The cancelled task has taken no message.
        try await socket.send(.text("a"))
        #expect(try await socket.receive() == .text("a"))
        await client.shutdown()
    }

    // MARK: Reconnecting

    @Test func aLostSocketComesBack() async throws {
        let (client, transport) = Self.client { socket in
            let isFirst = socket.request.connection == 0
            _ = try await socket.receive()
            _ = try await socket.receive()
            try await socket.send(.text("one"))
            if isFirst { try await socket.run(.reset) } else { _ = try await socket.receive() }
        }
        let greetings = Locked<[Bool]>([])
        let socket = PulseSocket(endpoint: Chat(), client: client) { greeting in
            greetings.withLock { $0.append(greeting.isReconnect) }
            #expect(greeting.response.statusCode == 101 && greeting.response.connection == nil)
            try await greeting.send(.text("subscribe"))
        }
        let updates = socket.states
        let states = Task { await updates.reduce(into: [String]()) { $0.append(Self.text($1)) } }
        try await socket.connect()
        for connections in 1...2 {
            while socket.statistics.connections < connections { await Task.yield() }
            try await socket.send(.text("go"))
            // What came before the cut is delivered.
            #expect(try await socket.receive() == .text("one"))
        }
        await socket.close()
        #expect(greetings.withLock { $0 } == [false, true])
        #expect(
            await states.value == [
                "idle", "connecting 1", "open", "reconnecting 1 2", "connecting 1", "open", "closing", "closed",
            ])
        #expect(transport.sockets.count == 2 && socket.statistics.connections == 2)
        await client.shutdown()
    }

    @Test func sendWithoutAConnectionWaitsOrFails() async throws {
        for whileDown in [SocketOptions.WhileDown.waits, .fails] {
            let clock = TestClock()
            let (client, _) = Self.client(clock: clock) { socket in
                if socket.request.connection == 0 {
                    _ = try await socket.receive()
                    try await socket.run(.reset)
                } else {
                    try await Self.echo(socket)
                }
            }
            let socket = PulseSocket(
                endpoint: Chat(socketOptions: SocketOptions(whileDown: whileDown)), client: client)
            try await socket.connect()
            try await socket.send(.text("reset"))
            for await state in socket.states { if case .reconnecting = state { break } }
            let sent = Task { await Self.error { try await socket.send(.text("a")) } }
            if whileDown == .fails {
                let error = await sent.value
                #expect(error?.phase == .beforeSend)
                guard case .transport(.networkConnectionLost, _) = error else {
                    Issue.record("\(error?.summary ?? "sent")")
                    continue
                }
            }
            await clock.sleepers(atLeast: 1, for: .backoff)
            await clock.advance(by: 2)
            if whileDown == .waits {
                #expect(try await socket.receive() == .text("a"))
                #expect(await sent.value == nil)
            }
            await client.shutdown()
        }
    }

    /// The second handshake is refused for two hours, and the third one succeeds after the hour that is the limit.
    @Test func aServerThatAsksForTooLongAWaitIsNotObeyed() async throws {
        let (clock, sink) = (TestClock(autoAdvances: true), RecordingSink())
        let handshakes = Locked(0)
        let plugin = ClosurePlugin { request, _, next in
            let number = handshakes.withLock { count in
                count += 1
                return count
            }
            guard number == 2 else { return try await next(request) }
            return PulseResponse(statusCode: 503, headers: ["Retry-After": "7200"], request: request)
        }
        let events = PulseEventBus(sink: sink)
        let (client, _) = Self.client(clock: clock, plugins: [plugin], events: events) { socket in
            if socket.request.connection == 0 { try await socket.run(.reset) }
            try await socket.send(.text("again"))
        }
        let socket = PulseSocket(endpoint: Chat(), client: client)
        try await socket.connect()
        #expect(try await socket.receive() == .text("again"))
        #expect(clock.sleeps.max() == 3600)
        await client.shutdown()
        #expect(sink.warnings == ["a socket waits for 3600.0 s, though its server asks for 7200.0 s"])
    }

    @Test func theNetworkEndsTheWait() async throws {
        let (clock, connectivity) = (TestClock(), ManualConnectivityMonitor())
        let (client, _) = Self.client(clock: clock, connectivity: connectivity) { socket in
            guard socket.request.connection == 0 else { return try await Self.echo(socket) }
            _ = try await socket.receive()
            try await socket.run(.reset)
        }
        let socket = PulseSocket(endpoint: Chat(), client: client)
        try await socket.connect()
        try await socket.send(.text("reset"))
        for await state in socket.states { if case .reconnecting = state { break } }
        await clock.sleepers(atLeast: 1, for: .backoff)
        connectivity.set(.unsatisfied)
        connectivity.set(.satisfied)
        for await state in socket.states { if case .open = state { break } }
        #expect(clock.uptime == 0)
        await client.shutdown()
    }

    @Test func aFirstAttemptThatFailsLeavesTheSocketIdle() async throws {
        let (client, transport) = Self.client(
            stubs: [Stub().reply(.status(403)).whenExhausted(.stopsMatching)], Self.echo)
        let socket = PulseSocket(endpoint: Chat(), client: client)
        guard case .http(let response) = await Self.error({ try await socket.connect() }) else {
            Issue.record("no error")
            return
        }
        #expect(response.statusCode == 403)
        guard case .idle = socket.state else {
            Issue.record("\(socket.state)")
            return
        }
        try await socket.connect()
        #expect(transport.sockets.count == 1)
        await client.shutdown()
    }

    @Test(arguments: [1000, 1001, 1008, 1012, 4000]) func theServersCodeDecides(code: Int) async throws {
        let (client, transport) = Self.client { socket in
            if socket.request.connection == 0 {
                _ = try await socket.receive()
                try await socket.close(code: code, reason: "because")
            } else {
                try await Self.echo(socket)
            }
        }
        let socket = PulseSocket(endpoint: Chat(), client: client)
        try await socket.connect()
        try await socket.send(.text("close"))
        if [1000, 1008].contains(code) {
            guard case .socketClosed(code, "because") = await Self.error({ _ = try await socket.receive() }) else {
                Issue.record("no end")
                return
            }
            #expect(transport.sockets.count == 1)
        } else {
            // What is sent before may be lost with the first connection.
            while socket.statistics.connections < 2 { await Task.yield() }
            try await socket.send(.text("a"))
            #expect(try await socket.receive() == .text("a"))
        }
        #expect(transport.sockets.first?.closeReceived?.code == code)
        await client.shutdown()
    }

    @Test func whatTheGreetingThrowsFailsTheAttempt() async throws {
        let (client, transport) = Self.client(Self.echo)
        let count = Locked(0)
        let socket = PulseSocket(endpoint: Chat(), client: client) { greeting in
            try await greeting.send(.text("login"))
            #expect(try await greeting.receive() == .text("login"))
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { throw PulseError.sessionExpired }
        }
        guard case .sessionExpired = await Self.error({ try await socket.connect() }) else {
            Issue.record("no error")
            return
        }
        try await socket.connect()
        try await socket.send(.text("a"))
        #expect(try await socket.receive() == .text("a"))
        #expect(transport.sockets.map { $0.closeReceived?.code } == [1000, nil])
        await client.shutdown()
    }

    @Test func aGreetingThatHangsIsLeft() async throws {
        let clock = TestClock()
        let (client, _) = Self.client(clock: clock, Self.echo)
        // Without pings, whose alarm is set before that of the greeting.
        let socket = PulseSocket(endpoint: Chat(pingInterval: 0), client: client) { greeting in
            _ = try await greeting.receive()
        }
        let connecting = Task { await Self.error { try await socket.connect() } }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 30)
        guard case .transport(.timedOut, _) = await connecting.value else {
            Issue.record("no timeout")
            return
        }
        await client.shutdown()
    }

    // MARK: Pings

    @Test func aSilentServerIsLost() async throws {
        let clock = TestClock()
        let (client, transport) = Self.client(clock: clock) { socket in
            if socket.request.connection == 0 {
                while try await socket.receiveFrame() != nil {}
            } else {
                try await Self.echo(socket)
            }
        }
        let socket = PulseSocket(endpoint: Chat(), client: client)
        try await socket.connect()
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 30)
        while transport.sockets.first?.pingCount != 1 { await Task.yield() }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 31)
        for await state in socket.states {
            guard case .reconnecting(let error, 1, _, 0) = state else { continue }
            guard case .transport(.timedOut, _) = error else {
                Issue.record("\(error.summary)")
                break
            }
            break
        }
        await client.shutdown()
    }

    // MARK: The end

    @Test func droppingCancellingAndShuttingDownCloseWith1001() async throws {
        for way in 0..<4 {
            let (client, transport) = Self.client(Self.echo)
            var socket: PulseSocket? = PulseSocket(
                endpoint: Chat(options: RequestOptions().with(\.tag, value: "chat")), client: client)
            try await socket?.connect()
            switch way {
            case 0: socket = nil
            case 1: client.cancelAll()
            case 2: client.cancelAll(tag: "chat")
            default: await client.shutdown()
            }
            while transport.sockets.first?.isOpen != false { await Task.yield() }
            #expect(transport.sockets.first?.closeReceived?.code == 1001)
            await client.shutdown()
            #expect(client.calls.ownerCount == 0)
        }
    }

    @Test func aServerThatDoesNotConfirmIsLeftAfterTheTimeout() async throws {
        let clock = TestClock()
        let (client, _) = Self.client(clock: clock) { socket in
            while try await socket.receiveFrame() != nil {}
            try await socket.run(.stall)
        }
        let socket = PulseSocket(endpoint: Chat(pingInterval: 0), client: client)
        try await socket.connect()
        let closing = Task { await socket.close() }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 5)
        await closing.value
        await client.shutdown()
    }

    @Test func aCodeThatMayNotBeSentBecomes1000() async throws {
        let long = String(repeating: "a", count: 124)
        for (code, reason) in [(1005, ""), (1006, ""), (999, ""), (5000, ""), (1000, long)] {
            let (client, transport) = Self.client(Self.echo)
            let socket = PulseSocket(endpoint: Chat(), client: client)
            try await socket.connect()
            await socket.close(code: code, reason: reason)
            #expect(transport.sockets.first?.closeReceived == ServerSocket.Close(code: 1000))
            await client.shutdown()
        }
    }

    @Test func badSettingsAreTyped() async throws {
        let (client, _) = Self.client(Self.echo)
        let bad = [
            Chat(subprotocols: ["a", "a"]), Chat(subprotocols: ["a b"]), Chat(pingInterval: -1),
            Chat(pingInterval: .nan), Chat(socketOptions: SocketOptions(maxMessageSize: 0)),
            Chat(socketOptions: SocketOptions(closeTimeout: 0)),
            Chat(socketOptions: SocketOptions(reconnect: ReconnectPolicy(maxAttempts: -1))),
        ]
        for endpoint in bad {
            let socket = PulseSocket(endpoint: endpoint, client: client)
            guard case .invalidRequest = await Self.error({ try await socket.connect() }) else {
                Issue.record("\(endpoint)")
                continue
            }
        }
        await client.shutdown()
    }

    // MARK: Values

    private struct Score: Codable, Sendable, Equatable {
        let home: Int
    }

    @Test func valuesAreCodedAndBadOnesSkipped() async throws {
        let (client, transport) = Self.client { socket in
            let first = try await socket.receive()
            try await socket.send(.text("no JSON"))
            try await socket.send(first ?? .text(""))
            try await Self.echo(socket)
        }
        let socket = TypedSocket<Score>(endpoint: Chat(), client: client)
        try await socket.connect()
        try await socket.send(Score(home: 1))
        for await score in socket.messages {
            #expect(score == Score(home: 1))
            break
        }
        await socket.close()
        #expect(transport.sockets.first?.closeReceived?.code == 1000)
        await client.shutdown()
    }

    @Test func aLostSocketNamesItsRequest() async throws {
        let (client, _) = Self.client { socket in
            _ = try await socket.receive()
            try await socket.run(.reset)
        }
        let endpoint = Chat(path: "/ws/chat?token=hunter2", socketOptions: SocketOptions(reconnect: .never))
        let socket = PulseSocket(endpoint: endpoint, client: client)
        try await socket.connect()
        _ = await Self.error { try await socket.send(.text("end")) }
        for await _ in socket.states {}
        let errors = [
            await Self.error { _ = try await socket.receive() },
            await Self.error { try await socket.send(.text("a")) },
            await Self.error { _ = try await socket.ping() },
        ]
        for error in errors {
            let text = try #require(error?.description)
            #expect(text.contains("GET https://api.example.com/ws/chat?token="), "\(text)")
            #expect(!text.contains("hunter2"), "\(text)")
        }
        await client.shutdown()
    }

    @Test func aSkippedValueIsInTheEventsAndTheFirstOneInTheLogByDefault() async throws {
        let (sink, lines) = (RecordingSink(), Locked<[String]>([]))
        let (client, _) = Self.client(events: PulseEventBus(sink: sink)) { socket in
            for _ in 0..<3 { try await socket.send(.text(#"{"token":"hunter2"}"#)) }
            try await socket.send(.text(#"{"home":1}"#))
            while try await socket.receive() != nil {}
        }
        let socket = TypedSocket<Score>(endpoint: Chat(), client: client, onOpen: nil) { line in
            lines.withLock { $0.append(line) }
        }
        try await socket.connect()
        let score = try await socket.receive()
        #expect(score == Score(home: 1))
        let skipped = sink.warnings.filter { $0.hasPrefix("a message of the socket /ws/chat was skipped: ") }
        #expect(skipped.count == 3)
        let logged = lines.withLock { $0 }
        #expect(logged == Array(skipped.prefix(1)))
        #expect(!"\(logged)".contains("hunter2"))
        await socket.close()
        await client.shutdown()
    }

    @Test func aBadValueMayEndTheSocket() async throws {
        let (client, transport) = Self.client { socket in
            try await socket.send(.text("no JSON"))
            try await Self.echo(socket)
        }
        let socket = TypedSocket<Score>(
            endpoint: Chat(socketOptions: SocketOptions(badMessage: .fails)), client: client)
        try await socket.connect()
        let error = await Self.error { _ = try await socket.receive() }
        guard case .decodingFailed = error, let text = error?.description else {
            Issue.record("no error")
            return
        }
        #expect(text.contains("a text message, 7 bytes, GET https://api.example.com/ws/chat"), "\(text)")
        for await _ in socket.states {}
        guard case .closed(.decodingFailed) = socket.state else {
            Issue.record("\(socket.state)")
            return
        }
        #expect(transport.sockets.first?.closeReceived?.code == 1007)
        await client.shutdown()
    }

    /// A greeting chooses the close code, and by it whether the socket comes back.
    @Test(arguments: [(4000, false), (1008, true)])
    func aGreetingClosesWithACode(code: Int, isFatal: Bool) async throws {
        let (client, transport) = Self.client { socket in
            let isFirst = try await socket.receive() != nil && socket.request.connection == 0
            if isFirst { return try await socket.close(code: 1001) }
            while try await socket.receive() != nil {}
        }
        let attempts = Locked(0)
        let socket = PulseSocket(endpoint: Chat(), client: client) { _ in
            let attempt = attempts.withLock { count in
                count += 1
                return count
            }
            if attempt == 2 { throw PulseError.socketClosed(code: code, reason: "not you") }
        }
        let ending = Task { await socket.states.reduce(nil as SocketState?) { $1 } }
        try await socket.connect()
        try await socket.send(.text("leave"))
        while attempts.withLock({ $0 }) < (isFatal ? 2 : 3) { await Task.yield() }
        if !isFatal { await socket.close() }
        guard case .closed(let error) = await ending.value else {
            Issue.record("no end")
            return
        }
        if isFatal {
            guard case .socketClosed(code, "not you")? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        } else {
            #expect(error == nil)
        }
        #expect(transport.sockets[1].closeReceived == ServerSocket.Close(code: code, reason: "not you"))
        await client.shutdown()
    }

    // MARK: The handshake

    @Test func aTokenIsRefreshedForEachHandshake() async throws {
        let (client, transport) = Self.client(
            stubs: [Stub().header("Authorization", "Bearer old").reply(.status(401))],
            plugins: [AuthPlugin(tokenProvider: ChatTokens())], Self.echo)
        let socket = PulseSocket(endpoint: Chat(), client: client)
        try await socket.connect()
        #expect(
            transport.requests.map { $0.value(forHTTPHeaderField: "Authorization") } == ["Bearer old", "Bearer new"])
        let keys = transport.requests.map { $0.value(forHTTPHeaderField: "Sec-WebSocket-Key") }
        #expect(keys.allSatisfy { $0?.count == 24 } && Set(keys).count == 2)
        await client.shutdown()
    }
}

private actor ChatTokens: TokenProvider {
    private var isFresh = false
    func accessToken() async -> String? { isFresh ? "new" : "old" }
    func refreshToken() async throws -> String {
        isFresh = true
        return "new"
    }
}
