// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseSockets

/// Sockets whose application does not receive, so that they do not read.
@Suite(.tags(.threads), .throttled)
struct SocketHeldTests {
    private struct Feed: SocketEndpoint {
        let path = "/feed"
        let socketOptions = SocketOptions(receiveBuffer: 100, whileDown: .fails, compression: .off)
    }

    private let clock = TestClock()
    private let warnings = Warnings()

    private final class Warnings: EventSink {
        private let texts = Locked<[String]>([])
        var isActive: Bool { true }
        var count: Int { texts.withLock { $0.count } }

        func emit(_ event: NetworkEvent) {
            if case .warning(let text) = event { texts.withLock { $0.append(text) } }
        }
    }

    private func client(_ serve: @escaping @Sendable (ServerSocket) async throws -> Void) -> PulseClient {
        return ClientStage.client(
            .root.with(\.connectivity, value: ManualConnectivityMonitor()), retry: .default, clock: clock,
            over: MockTransport(stubs: [], clock: clock, onSocket: serve), events: PulseEventBus(sink: warnings))
    }

    /// Opens a socket that holds the server back.
    private func open(_ client: PulseClient) async throws -> PulseSocket {
        let socket = PulseSocket(endpoint: Feed(), client: client)
        try await socket.connect()
        while socket.handle.core.state.withLock({ $0.link?.heartbeat.isHeld != true }) { await Task.yield() }
        return socket
    }

    private static func phase(_ body: () async throws -> Void) async -> (code: URLError.Code, phase: PulseError.Phase?)?
    {
        do {
            try await body()
            return nil
        } catch {
            guard case PulseError.transport(let code, _) = error else { return (.unknown, nil) }
            return (code, (error as? PulseError)?.phase)
        }
    }

    @Test func aPingTimesOutAndTheConnectionStays() async throws {
        let client = client { socket in
            for index in 0..<10 { try await socket.send(.text("\(index)")) }
            while try await socket.receive() != nil {}
        }
        let socket = try await open(client)
        let pinging = Task { await Self.phase { _ = try await socket.ping() } }
        while socket.statistics.bytesSent == 0 { await Task.yield() }
        await clock.advance(by: 29.9)
        await clock.advance(by: 0.1)
        #expect(await pinging.value?.code == .timedOut)
        for index in 0..<10 { #expect(try await socket.receive() == .text("\(index)")) }
        #expect(try await socket.ping() == 0)
        #expect(socket.statistics.connections == 1)
        await socket.close()
        await client.shutdown()
    }

    /// A dead connection is left in the end, however much of it is unread; nothing is lost that the application
    /// receives before.
    @Test(arguments: [false, true]) func aDeadConnectionIsLeft(receives: Bool) async throws {
        let (resets, reset) = AsyncStream<Void>.makeStream()
        let (ends, end) = AsyncStream<Void>.makeStream()
        let client = client { socket in
            for index in 0..<10 { try await socket.send(.text("\(index)")) }
            for await _ in resets {}
            defer { end.finish() }
            try await socket.run(.reset)
        }
        let socket = try await open(client)
        reset.finish()
        // A message that is written before the reset does not fail.
        for await _ in ends {}
        let sending = Task { await Self.phase { try await socket.send(.text("a")) } }
        while socket.handle.core.state.withLock({ $0.link?.failure == nil }) { await Task.yield() }
        await clock.advance(by: 29)
        if receives {
            for index in 0..<10 { #expect(try await socket.receive() == .text("\(index)")) }
        } else {
            guard case .open = socket.state else {
                Issue.record("\(socket.state)")
                return
            }
            await clock.advance(by: 1)
        }
        for await state in socket.states {
            guard case .reconnecting(let error, _, _, _) = state else { continue }
            #expect(error.kind == .transport)
            break
        }
        #expect(await sending.value?.phase == .beforeSend)
        await socket.close()
        await client.shutdown()
    }

    /// What the buffer has no room for is dropped with a warning: a compressed chunk may have a thousand times its size.
    @Test func aCloseDropsWhatIsNotReceived() async throws {
        let client = client { socket in
            let frames = (0..<5000).reduce(into: Data()) { bytes, _ in bytes += [0x81, 1, 0x61] }
            try await socket.sendRaw(frames)
            while try await socket.receiveFrame() != nil {}
            try await socket.run(.stall)
        }
        let socket = try await open(client)
        let closing = Task { await socket.close() }
        for await state in socket.states { if case .closing = state { break } }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 5)
        await closing.value
        #expect(socket.statistics.messagesReceived < 10)
        #expect(warnings.count == 1)
        #expect(try await socket.receive() == .text("a"))
        await client.shutdown()
    }

    // MARK: The lock

    /// An executor that uses the socket, as one of an application may, when a task that reads the states is resumed.
    private actor Watcher {
        private let executor: Probe
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        init(_ socket: PulseSocket) {
            executor = Probe(socket)
        }

        func count(_ states: AsyncStream<SocketState>) async -> Int {
            await states.reduce(0) { count, _ in count + 1 }
        }

        private final class Probe: SerialExecutor {
            private let queue = DispatchQueue(label: "SocketHeldTests")
            private let socket: PulseSocket

            init(_ socket: PulseSocket) {
                self.socket = socket
            }

            #if canImport(Darwin)
            func enqueue(_ job: UnownedJob) {
                _ = socket.statistics
                queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
            }

            func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
            #else
            func enqueue(_ job: consuming ExecutorJob) {
                _ = socket.statistics
                let job = UnownedJob(job)
                queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
            }
            #endif
        }
    }

    @Test func statesAreToldOutsideOfTheLock() async throws {
        let client = client { socket in while try await socket.receive() != nil {} }
        let socket = PulseSocket(endpoint: Feed(), client: client)
        let watcher = Watcher(socket)
        let states = socket.states
        let counting = Task { await watcher.count(states) }
        try await socket.connect()
        await socket.close()
        #expect(await counting.value == 5)
        await client.shutdown()
    }
}
