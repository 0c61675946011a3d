// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulseSockets

/// The events of sockets: their states, and the ends of their connections in between.
@Suite(.tags(.threads), .throttled)
struct SocketEventTests {
    private struct Chat: SocketEndpoint {
        let path = "/ws/chat"
        var socketOptions = SocketOptions()
    }

    private typealias Serve = @Sendable (ServerSocket) async throws -> Void

    /// A client whose events are read up to that of a state.
    private struct Stage: Sendable {
        let clock = TestClock()
        let client: PulseClient
        let events: AsyncStream<NetworkEvent>

        init(
            stubs: [Stub] = [], secretHeaders: Set<String> = [], _ serve: @escaping Serve
        ) {
            let bus = PulseEventBus()
            events = bus.events
            client = ClientStage.client(
                .root.with(\.secretHeaders, value: secretHeaders), retry: .default, clock: clock,
                over: MockTransport(stubs: stubs, clock: clock, onSocket: serve), events: bus)
        }

        func read(through isLast: (SocketState) -> Bool) async -> [NetworkEvent] {
            var read: [NetworkEvent] = []
            for await event in events {
                read.append(event)
                if case .socketStateChanged(_, let state) = event, isLast(state) { break }
            }
            return read
        }

        func readToTheEnd() async -> [NetworkEvent] {
            await read { if case .closed = $0 { true } else { false } }
        }

        func readToTheLoss() async -> [NetworkEvent] {
            await read { if case .reconnecting = $0 { true } else { false } }
        }
    }

    private static func ends(_ events: [NetworkEvent]) -> [NetworkEvent.SocketDisconnection] {
        events.compactMap { event in
            guard case .socketDisconnected(_, let end) = event else { return nil }
            return end
        }
    }

    /// The states, and `end` for the end of a connection.
    private static func order(_ events: [NetworkEvent]) -> [String] {
        events.compactMap { event in
            switch event {
            case .socketStateChanged(_, .reconnecting): "reconnecting"
            case .socketStateChanged(_, .closed): "closed"
            case .socketStateChanged(_, let state): "\(state)"
            case .socketDisconnected: "end"
            default: nil
            }
        }
    }

    private static let echo: Serve = { socket in
        while let message = try await socket.receive() { try await socket.send(message) }
    }

    @Test func aCloseIsToldWithTheFiguresOfItsConnection() async throws {
        let stage = Stage(Self.echo)
        let socket = PulseSocket(endpoint: Chat(), client: stage.client)
        try await socket.connect()
        for _ in 0..<3 {
            try await socket.send(.text("tea"))
            _ = try await socket.receive()
        }
        await stage.clock.advance(by: 7)
        await socket.close(code: 4000, reason: "bye")
        let events = await stage.readToTheEnd()
        #expect(Self.order(events) == ["connecting, attempt 1", "open", "closing", "end", "closed"])
        let statistics = socket.statistics
        // A frame with a mask has 6 bytes more, one without it 2; the close frame has the code.
        #expect(statistics.bytesSent >= 3 * 9 + 8 && statistics.bytesReceived >= 3 * 5 + 4)
        #expect(
            Self.ends(events) == [
                NetworkEvent.SocketDisconnection(
                    code: 4000, endedBy: .client, duration: 7, messagesSent: 3, messagesReceived: 3,
                    bytesSent: statistics.bytesSent, bytesReceived: statistics.bytesReceived, unconfirmed: 3)
            ])
        await stage.client.shutdown()
    }

    @Test func eachConnectionHasItsOwnFigures() async throws {
        let stage = Stage { socket in
            let isFirst = socket.request.connection == 0
            for _ in 0..<(isFirst ? 3 : 1) { _ = try await socket.receive() }
            try await socket.close(code: 1012, reason: "password=hunter2")
            while try await socket.receiveFrame() != nil {}
        }
        let socket = PulseSocket(endpoint: Chat(), client: stage.client)
        try await socket.connect()
        for _ in 0..<3 { try await socket.send(.text("tea")) }
        let first = await stage.readToTheLoss()
        #expect(Self.order(first) == ["connecting, attempt 1", "open", "end", "reconnecting"])
        await stage.clock.sleepers(atLeast: 1, for: .backoff)
        await stage.clock.advance(by: 2)
        try await socket.send(.text("tea"))
        let second = await stage.readToTheLoss()
        let ends = Self.ends(first + second)
        #expect(ends.map(\.messagesSent) == [3, 1] && ends.map(\.unconfirmed) == [3, 1])
        #expect(ends.map(\.bytesSent).reduce(0, +) == socket.statistics.bytesSent)
        #expect(ends.map(\.bytesReceived).reduce(0, +) == socket.statistics.bytesReceived)
        #expect(ends.allSatisfy { $0.code == 1012 && $0.endedBy == .server && $0.error == nil })
        #expect(ends.map(\.reason) == ["password=***REDACTED***", "password=***REDACTED***"])
        await stage.client.shutdown()
    }

    /// So that a recorder shows them with the handshake, and a filter by its id finds them.
    @Test func theEventsOfAConnectionNameTheirHandshake() async throws {
        let stage = Stage { socket in
            _ = try await socket.receive()
            if socket.request.connection == 0 { try await socket.run(.reset) }
        }
        let socket = PulseSocket(endpoint: Chat(), client: stage.client)
        try await socket.connect()
        try await socket.send(.text("tea"))
        var events = await stage.readToTheLoss()
        await stage.clock.sleepers(atLeast: 1, for: .backoff)
        await stage.clock.advance(by: 2)
        events += await stage.read { if case .open = $0 { true } else { false } }
        await stage.client.shutdown()
        events += await stage.readToTheEnd()
        let calls = events.compactMap { event in
            if case .requestStarted(let call) = event { call.id } else { nil }
        }
        let sockets = events.filter { Self.order([$0]) != [] }.compactMap(\.call)
        #expect(Set(sockets.map(\.id)).count == 1)
        try #require(calls.count == 2)
        let (one, two) = (calls[0], calls[1])
        // The first state is that before the first handshake.
        #expect(sockets.dropFirst().map(\.rootID) == [one, one, one, one, two, two, two, two])
        #expect(
            events.filter { PulseEventBus.Filter.call(two).matches($0) && $0.kind == .socketDisconnected }.count == 1)
    }

    // MARK: How it ends

    private static func end(
        of socket: PulseSocket, _ stage: Stage, act: (PulseSocket) async throws -> Void = { _ in }
    ) async throws -> NetworkEvent.SocketDisconnection? {
        try await socket.connect()
        try await socket.send(.text("tea"))
        try await act(socket)
        let events = await stage.read { state in
            switch state {
            case .reconnecting, .closed: true
            default: false
            }
        }
        let ends = Self.ends(events)
        #expect(ends.count == 1 && Self.order(events).suffix(2).first == "end")
        await stage.client.shutdown()
        return ends.first
    }

    @Test func aLostConnectionHasCode1006AndItsError() async throws {
        let stage = Stage { socket in
            _ = try await socket.receive()
            try await socket.run(.reset)
        }
        let end = try await Self.end(of: PulseSocket(endpoint: Chat(), client: stage.client), stage)
        #expect(end?.code == 1006 && end?.endedBy == nil && end?.error?.kind == .transport && end?.reason == "")
        #expect(end?.unconfirmed == 1)
    }

    @Test func aCloseFrameWithoutACodeHasCode1005() async throws {
        let stage = Stage { socket in
            _ = try await socket.receive()
            try await socket.close(code: 1005)
            while try await socket.receiveFrame() != nil {}
        }
        let end = try await Self.end(of: PulseSocket(endpoint: Chat(), client: stage.client), stage)
        #expect(end?.code == 1005 && end?.endedBy == .server && end?.error == nil)
    }

    @Test func aViolationHasTheCodeThatThisSideSent() async throws {
        let stage = Stage { socket in
            _ = try await socket.receive()
            try await socket.sendRaw(Data([0xF0, 0]))
            while try await socket.receiveFrame() != nil {}
        }
        let end = try await Self.end(of: PulseSocket(endpoint: Chat(), client: stage.client), stage)
        #expect(end?.code == 1002 && end?.endedBy == .client && end?.error?.kind == .socketClosed)
        #expect(end?.reason.isEmpty == false)
    }

    @Test func aServerThatConfirmsNothingLeavesTheCodeOfThisSide() async throws {
        let stage = Stage { socket in
            while try await socket.receiveFrame() != nil {}
            try await socket.run(.stall)
        }
        let end = try await Self.end(of: PulseSocket(endpoint: Chat(), client: stage.client), stage) { socket in
            let sent = socket.statistics.bytesSent
            let closing = Task { await socket.close(code: 4001, reason: "bye") }
            await stage.clock.sleepers(atLeast: 1, for: .deadline)
            while socket.handle.core.state.withLock({ $0.link?.closeDeadline != 5 }) { await Task.yield() }
            // A close frame that is not sent would not be in force.
            while socket.statistics.bytesSent == sent { await Task.yield() }
            await stage.clock.advance(by: 5)
            await closing.value
        }
        #expect(end?.code == 4001 && end?.reason == "bye" && end?.endedBy == .client && end?.duration == 5)
    }

    /// The code of the server is in force, also if this side closed first.
    @Test func theServersCodeIsInForce() async throws {
        let stage = Stage { socket in
            while try await socket.receiveFrame() != nil {}
            try await socket.close(code: 4002, reason: "theirs")
        }
        let end = try await Self.end(of: PulseSocket(endpoint: Chat(), client: stage.client), stage) {
            await $0.close(code: 4001, reason: "ours")
        }
        #expect(end?.code == 4002 && end?.reason == "theirs" && end?.endedBy == .client)
    }

    /// The server does not read, so the close frame waits behind a message. The cut may come before its first byte:
    /// then it is certain that the message was not sent.
    @Test func aCloseFrameThatWasNotSentIsNotInForce() async throws {
        var unconfirmed: Set<Int> = []
        for _ in 0..<100 where !unconfirmed.contains(1) {
            let (cut, cuts) = AsyncStream.makeStream(of: Void.self)
            let stage = Stage { socket in
                for await _ in cut {}
                try await socket.run(.reset)
            }
            let socket = PulseSocket(endpoint: Chat(), client: stage.client)
            try await socket.connect()
            let sending = Task { try? await socket.send(.binary(Data(count: 8 << 20))) }
            while socket.handle.core.state.withLock({ $0.link?.batch == nil }) { await Task.yield() }
            let closing = Task { await socket.close(code: 4001) }
            for await state in socket.states { if case .closing = state { break } }
            cuts.finish()
            await closing.value
            await sending.value
            let end = Self.ends(await stage.readToTheEnd()).first
            #expect(end?.code == 1006 && end?.endedBy == .client && end?.messagesSent == 0)
            unconfirmed.insert(end?.unconfirmed ?? -1)
            await stage.client.shutdown()
        }
        #expect(unconfirmed.contains(1) && unconfirmed.isSubset(of: [0, 1]))
    }

    @Test func aBadMessageIsTheError() async throws {
        let stage = Stage { socket in
            try await socket.send(.text("no JSON"))
            while try await socket.receive() != nil {}
        }
        let socket = TypedSocket<Int>(
            endpoint: Chat(socketOptions: SocketOptions(badMessage: .fails)), client: stage.client)
        try await socket.connect()
        await #expect(throws: PulseError.self) { try await socket.receive() }
        let end = Self.ends(await stage.readToTheEnd()).first
        #expect(end?.code == 1007 && end?.endedBy == .client && end?.error?.kind == .decodingFailed)
        await stage.client.shutdown()
    }

    @Test func aGreetingThatThrowsEndsItsConnection() async throws {
        let stage = Stage(Self.echo)
        let socket = PulseSocket(endpoint: Chat(), client: stage.client) { greeting in
            try await greeting.send(.text("login"))
            throw PulseError.sessionExpired
        }
        await #expect(throws: PulseError.self) { try await socket.connect() }
        let events = await stage.read { if case .idle = $0 { true } else { false } }
        #expect(Self.order(events) == ["connecting, attempt 1", "end", "idle"])
        let end = Self.ends(events).first
        #expect(end?.code == 1000 && end?.endedBy == .client && end?.error?.kind == .sessionExpired)
        #expect(end?.messagesSent == 1)
        await stage.client.shutdown()
    }

    @Test func aSocketThatIsClosedWhileItGreetsHasNoError() async throws {
        let stage = Stage(Self.echo)
        let (begun, isBegun) = AsyncStream.makeStream(of: Void.self)
        let socket = PulseSocket(endpoint: Chat(), client: stage.client) { greeting in
            isBegun.finish()
            _ = try await greeting.receive()
        }
        let connecting = Task { try? await socket.connect() }
        for await _ in begun {}
        await socket.close(code: 4003)
        await connecting.value
        let end = Self.ends(await stage.readToTheEnd()).first
        #expect(end?.code == 4003 && end?.endedBy == .client && end?.error == nil)
        await stage.client.shutdown()
    }

    @Test func aRefusedHandshakeIsNoConnection() async throws {
        let stage = Stage(stubs: [Stub().reply(.status(403))], Self.echo)
        let socket = PulseSocket(endpoint: Chat(), client: stage.client)
        await #expect(throws: PulseError.self) { try await socket.connect() }
        let events = await stage.read { if case .idle = $0 { true } else { false } }
        #expect(Self.order(events) == ["connecting, attempt 1", "idle"])
        await stage.client.shutdown()
    }

    @Test func aReasonIsMaskedByTheClientsOwnNames() async throws {
        let stage = Stage(secretHeaders: ["X-Tenant"]) { socket in
            _ = try await socket.receive()
            try await socket.close(code: 4000, reason: "X-Tenant: hunter2")
            while try await socket.receiveFrame() != nil {}
        }
        let end = try await Self.end(of: PulseSocket(endpoint: Chat(), client: stage.client), stage)
        #expect(end?.reason.hasPrefix("X-Tenant: ") == true && end?.reason.contains("hunter2") == false)
    }
}
