// SPDX-License-Identifier: MIT

import PulseCore
import PulseSockets
import PulseStorage
import PulseTesting
import TestSupport
import Testing

/// Legal and illegal frames of a server, against a model of RFC 6455: what the application receives, what is sent back,
/// and how the socket ends. `PULSE_STEPS` sets the number of random sequences.
@Suite(.tags(.schedule), .throttled)
struct SocketFrameSequenceTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init)
    private static let limit = 70_000

    /// Each kind of frame by itself, and within a message. In a debug build each fifth.
    @Test func eachFrameHasItsOutcome() async {
        var frames: [HostileFrame] = []
        for opcode in UInt8(0)..<16 {
            for size in HostileFrame.Size.allCases {
                for bits in [0, 1, 2, 4, 7] as [UInt8] {
                    for flags in UInt8(0)..<4 {
                        frames.append(
                            HostileFrame(
                                opcode: opcode, isFinal: flags & 1 == 0, bits: bits, isMasked: flags & 2 != 0,
                                size: size))
                    }
                }
            }
        }
        let opening = HostileFrame(opcode: 1, isFinal: false)
        for (index, frame) in frames.enumerated() {
            guard Self.steps != nil || index % 5 == 0 || frame.isLegal else { continue }
            await Self.check([frame])
            await Self.check([opening, frame])
        }
    }

    @Test func sequencesAgreeWithTheModel() async {
        let random = SeededRandomness(seed: 27)
        for _ in 0..<(Self.steps ?? 10_000) / 20 {
            await Self.check((0...Int(random.next() % 8)).map { _ in HostileFrame.random(random) }, random)
        }
    }

    private static func check(_ frames: [HostileFrame], _ random: SeededRandomness? = nil) async {
        let model = frames.reduce(into: SocketModel(limit: limit)) { $0.take($1) }
        let bytes = frames.reduce(Data()) { $0 + $1.bytes }
        let pongs = Locked<[Data]>([])
        let transport = MockTransport(stubs: []) { socket in
            // The socket is open.
            _ = try await socket.receive()
            var rest = bytes
            while !rest.isEmpty {
                let count = random.map { 1 + Int($0.next() % UInt64(rest.count)) } ?? rest.count
                // A client that fails the connection reads on.
                try await socket.sendRaw(Data(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            if model.end == nil { try await socket.close(code: 1001) }
            while let frame = try await socket.receiveFrame() {
                if frame.opcode == .pong { pongs.withLock { $0.append(frame.payload) } }
            }
        }
        let client = ClientStage.client(
            .root.with(\.connectivity, value: ManualConnectivityMonitor()), retry: .default, clock: TestClock(),
            over: transport)
        let socket = PulseSocket(endpoint: Raw(), client: client)
        var received: [SocketMessage] = []
        let end = model.end ?? 1001
        do {
            try await socket.connect()
            try await socket.send(.text("go"))
            while true { received.append(try await socket.receive()) }
        } catch {
            guard case PulseError.socketClosed(end, _) = error else {
                Issue.record("\(frames): \(error) for \(end)")
                await client.shutdown()
                return
            }
        }
        while transport.sockets.contains(where: \.isOpen) { await Task.yield() }
        #expect(received == model.messages, "\(frames)")
        #expect(pongs.withLock { $0 } == model.pongs, "\(frames)")
        let record = transport.sockets.first
        #expect(record?.closeReceived?.code == end && record?.violation == nil, "\(frames)")
        guard case .closed(.socketClosed(end, _)?) = socket.state else {
            Issue.record("\(frames): \(socket.state) for \(end)")
            return
        }
        await client.shutdown()
    }

    private struct Raw: SocketEndpoint {
        let path = "/raw"
        let socketOptions = SocketOptions(
            reconnect: .never, maxMessageSize: SocketFrameSequenceTests.limit, compression: .off)
    }
}

/// A frame of a server, right or wrong.
struct HostileFrame: Sendable {
    /// The length of the payload, and how the header has it.
    enum Size: CaseIterable, Sendable {
        case empty, one, most, two, eight
        /// More bytes than the length needs.
        case longTwo, longEight
        /// A length whose payload never comes.
        case huge, negative
    }

    enum Content: CaseIterable, Sendable {
        case plain
        /// The first and the second byte of a character, at the end and at the beginning.
        case firstHalf, secondHalf
        case invalid
    }

    var opcode: UInt8
    var isFinal = true
    var bits: UInt8 = 0
    var isMasked = false
    var size = Size.one
    var content = Content.plain
    /// Of a close frame.
    var code = 1000

    /// One in some is wrong.
    static func random(_ random: SeededRandomness) -> HostileFrame {
        func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
        let isWrong = below(12) == 0
        let opcodes: [UInt8] = [0, 0, 0, 1, 1, 2, 9, 9, 10, 8]
        var frame = HostileFrame(opcode: opcodes[below(below(3) == 0 ? 10 : 9)])
        frame.isFinal = frame.opcode >= 8 || below(2) == 0
        frame.size = [.empty, .one, .one, .most, .two, .eight][below(frame.opcode >= 8 ? 4 : 6)]
        frame.content = below(4) == 0 ? Content.allCases[below(4)] : .plain
        frame.code = [1000, 1001, 1003, 1005, 1006, 1015, 3000, 4999, 5000, 999][below(10)]
        guard isWrong else { return frame }
        switch below(5) {
        case 0: frame.opcode = UInt8(below(16))
        case 1: frame.isFinal.toggle()
        case 2: frame.bits = UInt8(1 + below(7))
        case 3: frame.isMasked = true
        default: frame.size = Size.allCases[below(Size.allCases.count)]
        }
        return frame
    }

    var isLegal: Bool { bits == 0 && !isMasked && [0, 1, 2, 8, 9, 10].contains(opcode) && (isFinal || opcode < 8) }

    var count: Int {
        switch size {
        case .empty: 0
        case .one: 1
        case .most, .longTwo: 125
        case .two, .longEight: 126
        case .eight: 65_536
        case .huge, .negative: 0
        }
    }

    var payload: Data {
        var payload = Data(repeating: 0x61, count: count)
        if opcode == 8, count >= 2 {
            payload[0] = UInt8(code >> 8)
            payload[1] = UInt8(code & 0xFF)
        }
        guard count > (opcode == 8 ? 2 : 0) else { return payload }
        switch content {
        case .plain: break
        case .firstHalf: payload[count - 1] = 0xC3
        case .secondHalf: payload[opcode == 8 ? 2 : 0] = 0xA9
        case .invalid: payload[count - 1] = 0xFF
        }
        return payload
    }

    var bytes: Data {
        let mask: UInt8 = isMasked ? 0x80 : 0
        var bytes = Data([(isFinal ? 0x80 : 0) | bits << 4 | opcode])
        switch size {
        case .empty, .one, .most: bytes.append(mask | UInt8(count))
        case .two, .longTwo: bytes += [mask | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        case .eight, .longEight: bytes += [mask | 127, 0, 0, 0, 0, 0] + [16, 8, 0].map { UInt8(count >> $0 & 0xFF) }
        case .huge: bytes += [mask | 127, 0, 0, 1, 0, 0, 0, 0, 0]
        case .negative: bytes += [mask | 127, 0x80, 0, 0, 0, 0, 0, 0, 0]
        }
        if isMasked { bytes += [0, 0, 0, 0] }
        return bytes + payload
    }
}

/// What RFC 6455 makes of a server's frames, independent of the codec.
struct SocketModel: Sendable {
    let limit: Int
    private(set) var messages: [SocketMessage] = []
    private(set) var pongs: [Data] = []
    /// The code with which the connection ends: that of the peer's close frame, or of its fault.
    private(set) var end: Int?
    private var open: (isText: Bool, bytes: Data)?

    init(limit: Int) {
        self.limit = limit
    }

    mutating func take(_ frame: HostileFrame) {
        guard end == nil else { return }
        guard frame.isLegal, ![.longTwo, .longEight, .negative].contains(frame.size) else { return end = 1002 }
        if frame.opcode >= 8 {
            guard [.empty, .one, .most].contains(frame.size) else { return end = 1002 }
            return control(frame)
        }
        guard (frame.opcode == 0) == (open != nil) else { return end = 1002 }
        var message = open ?? (frame.opcode == 1, Data())
        guard frame.size != .huge, message.bytes.count + frame.count <= limit else { return end = 1009 }
        message.bytes += frame.payload
        open = message
        if message.isText, !isText(message.bytes, isWhole: frame.isFinal) { return end = 1007 }
        guard frame.isFinal else { return }
        open = nil
        messages.append(message.isText ? .text(String(decoding: message.bytes, as: UTF8.self)) : .binary(message.bytes))
    }

    private mutating func control(_ frame: HostileFrame) {
        switch frame.opcode {
        case 9: pongs.append(frame.payload)
        case 10: break
        default:
            switch frame.count {
            case 0: end = 1005
            case 1: end = 1002
            default:
                let sendable = [1000, 1001, 1003, 3000, 4999]
                end =
                    !sendable.contains(frame.code)
                    ? 1002
                    : isText(frame.payload.dropFirst(2), isWhole: true) ? frame.code : 1007
            }
        }
    }

    /// The only characters are "a", and "é" in two halves.
    private func isText(_ bytes: Data, isWhole: Bool) -> Bool {
        var isHalf = false
        for byte in bytes {
            switch byte {
            case 0x61 where !isHalf: break
            case 0xC3 where !isHalf: isHalf = true
            case 0xA9 where isHalf: isHalf = false
            default: return false
            }
        }
        return !isHalf || !isWhole
    }
}
