// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import Testing

/// A frame as the client of a test sends or receives it: the first byte and the payload.
struct RawFrame: Hashable, Sendable {
    var first: UInt8
    var payload: Data

    init(_ first: UInt8, _ payload: Data = Data()) {
        self.first = first
        self.payload = payload
    }

    init(_ first: UInt8, _ text: String) {
        self.init(first, Data(text.utf8))
    }

    static func close(_ code: Int, _ reason: String = "") -> RawFrame {
        RawFrame(0x88, Data([UInt8(code >> 8), UInt8(code & 0xFF)]) + Data(reason.utf8))
    }

    /// The bytes of a frame with the length in that many bytes; nil for the least.
    func bytes(mask: [UInt8]? = [1, 2, 3, 4], lengthSize: Int? = nil) -> Data {
        let size = lengthSize ?? (payload.count < 126 ? 0 : payload.count < 65536 ? 2 : 8)
        var bytes = Data([first])
        let short: UInt8 = size == 0 ? UInt8(payload.count) : size == 2 ? 126 : 127
        bytes.append((mask == nil ? 0 : 0x80) | short)
        for index in 0..<size { bytes.append(UInt8(payload.count >> (8 * (size - 1 - index)) & 0xFF)) }
        guard let mask else { return bytes + payload }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }
}

/// A client of WebSockets that shares no code with the server: over a socket of the system or over a connection.
struct FrameClient: Sendable {
    let send: @Sendable (Data) async throws -> Void
    /// Some bytes; none at the end.
    let receiveSome: @Sendable (_ atMost: Int) async throws -> Data
    let endSending: @Sendable () -> Void
    let close: @Sendable () -> Void

    init(_ wire: WireClient) {
        send = { try await wire.send($0) }
        receiveSome = { try await wire.receive($0) }
        endSending = { wire.endSending() }
        close = { wire.close() }
    }

    init(_ connection: any DuplexConnection) {
        let leftover = Locked(Data())
        send = { try await connection.write($0) }
        receiveSome = { count in
            if leftover.withLock({ $0.isEmpty }) {
                let bytes = try await connection.read() ?? Data()
                leftover.withLock { $0 = bytes }
            }
            return leftover.withLock { leftover in
                defer { leftover = Data(leftover.dropFirst(count)) }
                return Data(leftover.prefix(count))
            }
        }
        endSending = { connection.finishWriting() }
        close = { connection.close() }
    }

    /// In one write: after a close frame the server may be gone.
    func send(_ frames: RawFrame...) async throws {
        try await send(frames.reduce(Data()) { $0 + $1.bytes() })
    }

    /// That many bytes, fewer at the end.
    func receive(_ count: Int) async throws -> Data {
        var bytes = Data()
        while bytes.count < count {
            let more = try await receiveSome(count - bytes.count)
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }

    /// Nil at the end of the connection.
    func receiveFrame() async throws -> RawFrame? {
        let header = try await receive(2)
        guard header.count == 2 else { return nil }
        guard header[1] & 0x80 == 0 else { throw WireClient.Failure(text: "a masked frame of the server") }
        let size = header[1] == 127 ? 8 : header[1] == 126 ? 2 : 0
        let length = try await receive(size).reduce(0) { $0 << 8 | Int($1) }
        return RawFrame(header[0], try await receive(size == 0 ? Int(header[1]) : length))
    }

    /// Receives these frames; nil is the end of the connection.
    func expect(_ frames: RawFrame?..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for frame in frames {
            let received = try await receiveFrame()
            #expect(received == frame, sourceLocation: sourceLocation)
        }
    }
}
