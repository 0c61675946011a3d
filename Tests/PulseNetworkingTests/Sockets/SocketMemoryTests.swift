// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlatform
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseSockets

#if canImport(Glibc) && compiler(>=6.2)
/// What sockets cost, each measured in a process of its own. `PULSE_STEPS` makes the tests move a gigabyte; without it,
/// as in a debug build, they move less.
@Suite(.tags(.alone), .serialized, .throttled)
struct SocketMemoryTests {
    private static var size: Int {
        ProcessInfo.processInfo.environment["PULSE_STEPS"] == nil ? 96 << 20 : 1 << 30
    }

    private struct Feed: SocketEndpoint {
        var path = "/feed"
        var pingInterval: TimeInterval = 0
        var socketOptions = SocketOptions(compression: .off)
    }

    private static func client(_ configuration: PulseConfiguration) -> PulseClient {
        PulseClient(
            configuration: configuration.with(\.connectivity, value: ManualConnectivityMonitor()),
            events: PulseEventBus())
    }

    // MARK: Flow

    /// The socket reads ahead by its buffer, and then waits with the server.
    @Test(arguments: [false, true]) func aReaderInStepsHoldsLittle(isText: Bool) async {
        await #expect(processExitsWith: .success) { [isText] in
            try await MockServer.run { server in
                let count = Self.size / (64 << 10)
                let sent = Locked(0)
                server.onSocket("/feed") { socket in
                    let bytes = Data(repeating: 0x61, count: 64 << 10)
                    let message = isText ? SocketMessage.text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
                    // The first messages allocate what the process keeps.
                    for _ in 0..<100 { try await socket.send(message) }
                    _ = try await socket.receive()
                    for _ in 0..<count {
                        try await socket.send(message)
                        sent.withLock { $0 += 1 }
                    }
                    _ = try await socket.receive()
                }
                let client = Self.client(.patient(with: server))
                let socket = PulseSocket(endpoint: Feed(), client: client)
                try await socket.connect()
                for _ in 0..<100 { _ = try await socket.receive() }
                let growth = try await Memory.rise {
                    try await socket.send(.text("go"))
                    for _ in 0..<8 {
                        // Until the server waits.
                        var before = -1
                        while case let now = sent.withLock({ $0 }), now != before {
                            before = now
                            for _ in 0..<1000 { await Task.yield() }
                        }
                        for _ in 0..<count / 8 { _ = try await socket.receive() }
                    }
                }
                #expect(growth < 4 << 20 + Feed().socketOptions.receiveBuffer, "\(growth) bytes more")
                await socket.close()
                await client.shutdown()
            }
        }
    }

    /// Many tasks offer messages to a server that reads nothing: their bytes are taken only when they are written.
    @Test(arguments: [false, true]) func aServerThatReadsNothingCostsLittle(isText: Bool) async {
        await #expect(processExitsWith: .success) { [isText] in
            try await MockServer.run { server in
                server.onSocket("/feed") { _ in try await Task.sleep(nanoseconds: .max) }
                let client = Self.client(.patient(with: server))
                let socket = PulseSocket(
                    endpoint: Feed(socketOptions: SocketOptions(closeTimeout: 0.1, compression: .off)), client: client)
                try await socket.connect()
                let bytes = Data(repeating: 0x61, count: 1 << 20)
                let message = isText ? SocketMessage.text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
                let (tasks, growth) = try await Memory.rise { () -> [Task<Void, any Error>] in
                    let tasks = (0..<1024).map { _ in Task.startingNow { try await socket.send(message) } }
                    var before: Int64 = -1
                    while case let now = socket.statistics.bytesSent, now != before {
                        before = now
                        for _ in 0..<1000 { await Task.yield() }
                    }
                    return tasks
                }
                // The message that is being sent is encoded, beyond the buffer.
                let limit = 4 << 20 + Feed().socketOptions.sendBuffer + message.size
                #expect(growth < limit, "\(growth) bytes more")
                await socket.close()
                var sent = 0
                for task in tasks {
                    switch await task.result {
                    case .success: sent += 1
                    case .failure(let error):
                        #expect([.socketClosed, .transport].contains((error as? PulseError)?.kind), "\(error)")
                    }
                }
                #expect(sent < 64)
                await client.shutdown()
            }
        }
    }

    /// A gigabyte of zeros in a megabyte.
    @Test func aBombStopsAtTheLimit() async {
        await #expect(processExitsWith: .success) {
            let deflater = MessageDeflater(DeflateParameters(), of: .server)
            let zeros = Data(count: 1 << 20)
            var payload = Data()
            for index in 0..<256 { payload += try deflater.compress(zeros, isLast: index == 255) }
            #expect(payload.count < 256 << 20 / 1000)
            let bomb = FrameWriter.frame(.binary, payload, isCompressed: true, mask: nil)
            try await MockServer.run { server in
                server.onSocket("/feed", compresses: true) { socket in
                    try await socket.send(.text(String(repeating: "a", count: 2000)))
                    _ = try await socket.receive()
                    try await socket.sendRaw(bomb)
                    _ = try await socket.receive()
                }
                let client = Self.client(.patient(with: server))
                let socket = PulseSocket(
                    endpoint: Feed(socketOptions: SocketOptions(maxMessageSize: 1 << 20)), client: client)
                try await socket.connect()
                _ = try await socket.receive()
                let growth = try await Memory.rise {
                    try await socket.send(.text("go"))
                    await #expect(throws: PulseError.self) { try await socket.receive() }
                }
                guard case .closed(.socketClosed(1009, _)?) = socket.state else {
                    Issue.record("\(socket.state)")
                    return
                }
                // The message so far is copied when it grows.
                #expect(growth < 4 << 20 + 2 << 20, "\(growth) bytes more")
                try await server.wait { $0.openConnectionCount == 0 }
                #expect(server.activity.sockets.first?.closeReceived?.code == 1009)
                await client.shutdown()
            }
        }
    }

    // MARK: Many

    /// An idle socket costs a descriptor and little memory, and no thread.
    @Test func aThousandIdleSocketsCostLittle() async {
        await #expect(processExitsWith: .success) {
            Process.allowManyDescriptors()
            let server = try QuietSocketServer()
            let client = Self.client(PulseConfiguration(baseURL: server.url))
            func open(_ count: Int) async throws -> [PulseSocket] {
                var sockets: [PulseSocket] = []
                for _ in 0..<count {
                    // Longer than the test: the server never pongs.
                    let socket = PulseSocket(endpoint: Feed(pingInterval: 3600), client: client)
                    try await socket.connect()
                    sockets.append(socket)
                }
                return sockets
            }
            // The first sockets allocate what the process keeps.
            let first = try await open(100)
            let threads = Process.threads
            var more: [PulseSocket] = []
            let growth = try await ResidentMemory.growth(ofRounds: 10) { more += try await open(100) }
            #expect(growth <= 1000 * 32 << 10, "\(growth / 1000) bytes each")
            #expect(Process.threads <= threads + 1)
            #expect((first + more).allSatisfy { if case .open = $0.state { true } else { false } })
            await client.shutdown()
            server.stop()
        }
    }

    @Test func tenThousandSocketsLeaveNothing() async {
        await #expect(processExitsWith: .success) {
            Process.allowManyDescriptors()
            let server = try QuietSocketServer()
            let client = Self.client(PulseConfiguration(baseURL: server.url))
            func open(_ count: Int) async throws -> [Weak] {
                var cores: [Weak] = []
                for index in 0..<count {
                    let socket = PulseSocket(endpoint: Feed(pingInterval: 30), client: client)
                    cores.append(Weak(core: socket.handle.core))
                    try await socket.connect()
                    let reading = Task { await socket.messages.reduce(0) { count, _ in count + 1 } }
                    if index % 3 == 0 { try await socket.send(.text("a")) }
                    await socket.close()
                    #expect(await reading.value == 0)
                }
                return cores
            }
            _ = try await open(500)
            let (threads, descriptors) = (Process.threads, Process.descriptors)
            let growth = try await ResidentMemory.growth(ofRounds: 10) {
                let cores = try await open(Self.size == 1 << 30 ? 1_000 : 200)
                while cores.contains(where: { $0.core != nil }) { await Task.yield() }
            }
            #expect(Process.threads <= threads + 1)
            #expect(Process.descriptors <= descriptors + 4)
            #expect(growth < 2 << 20, "\(growth) bytes more")
            #expect(client.calls.ownerCount == 0)
            await client.shutdown()
            server.stop()
        }
    }

    private struct Weak {
        weak let core: SocketCore?
    }

    // MARK: The process

    private enum Process {
        static var threads: Int { entries(of: "/proc/self/task") }
        static var descriptors: Int { entries(of: "/proc/self/fd") }

        static func allowManyDescriptors() {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }

        private static func entries(of folder: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? -1
        }
    }

    private enum Memory {
        /// The largest growth of the memory in bytes while `body` ran.
        static func rise<Value>(_ body: () async throws -> Value) async throws -> (Value, Int) {
            // Resets the peak.
            try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
            let before = try status("VmRSS:")
            let value = try await body()
            return (value, try status("VmHWM:") - before)
        }

        static func rise(_ body: () async throws -> Void) async throws -> Int {
            let (_, growth): (Void, Int) = try await rise(body)
            return growth
        }

        private static func status(_ field: String) throws -> Int {
            let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(field) })
            let size = try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
            return size << 10
        }
    }
}
#endif
