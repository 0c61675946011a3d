// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// A frame (RFC 9113, section 4.1), written by hand: it may break every rule.
struct HTTP2WireFrame: Sendable, Equatable {
    /// RFC 9113, section 6.
    enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let priority: UInt8 = 2
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let pushPromise: UInt8 = 5
        static let ping: UInt8 = 6
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
    }

    /// END_STREAM, and ACK of SETTINGS and PING.
    static let endFlag: UInt8 = 1
    static let endHeadersFlag: UInt8 = 4
    static let paddedFlag: UInt8 = 8

    let kind: UInt8
    var flags: UInt8 = 0
    var stream: Int32 = 0
    var payload = Data()

    var hasEndFlag: Bool { flags & Self.endFlag != 0 }

    var bytes: Data {
        var bytes = Data(Self.bigEndian(payload.count, 3))
        bytes.append(contentsOf: [kind, flags])
        bytes.append(contentsOf: Self.bigEndian(Int(stream), 4))
        bytes.append(payload)
        return bytes
    }

    /// The big-endian number in the first four bytes of the payload.
    var number: Int { payload.prefix(4).reduce(0) { $0 << 8 | Int($1) } }

    static func bigEndian(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
    }
}

extension HTTP2WireFrame {
    /// Removes a frame from the front; nil if it is incomplete.
    init?(takenFrom bytes: inout Data) {
        let head = [UInt8](bytes.prefix(9))
        guard head.count == 9 else { return nil }
        let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        guard bytes.count >= 9 + count else { return nil }
        let stream = head[5...].reduce(0) { $0 << 8 | Int32($1) }
        self.init(kind: head[3], flags: head[4], stream: stream, payload: Data(bytes.dropFirst(9).prefix(count)))
        bytes = Data(bytes.dropFirst(9 + count))
    }

    static func settings(_ values: [UInt16: UInt32]) -> HTTP2WireFrame {
        var payload = Data()
        for (name, value) in values {
            payload.append(contentsOf: bigEndian(Int(name), 2))
            payload.append(contentsOf: bigEndian(Int(value), 4))
        }
        return HTTP2WireFrame(kind: Kind.settings, payload: payload)
    }

    static func reset(_ stream: Int32, _ code: UInt32) -> HTTP2WireFrame {
        HTTP2WireFrame(kind: Kind.reset, stream: stream, payload: Data(bigEndian(Int(code), 4)))
    }

    static func goAway(lastStream: Int32, _ code: UInt32 = 0) -> HTTP2WireFrame {
        let payload = bigEndian(Int(lastStream), 4) + bigEndian(Int(code), 4)
        return HTTP2WireFrame(kind: Kind.goAway, payload: Data(payload))
    }

    static func data(_ stream: Int32, _ text: String, isEnd: Bool = false, padding: UInt8? = nil) -> HTTP2WireFrame {
        HTTP2WireFrame(
            kind: Kind.data, flags: (isEnd ? endFlag : 0) | (padding == nil ? 0 : paddedFlag), stream: stream,
            payload: padded(Data(text.utf8), padding))
    }

    static func headers(
        _ stream: Int32, _ fields: [(name: String, value: String)], isEnd: Bool = false, padding: UInt8? = nil
    ) -> HTTP2WireFrame {
        HTTP2WireFrame(
            kind: Kind.headers, flags: endHeadersFlag | (isEnd ? endFlag : 0) | (padding == nil ? 0 : paddedFlag),
            stream: stream, payload: padded(block(fields), padding))
    }

    /// HEADERS with so many bytes of the block, and CONTINUATION frames with the rest.
    static func headers(
        _ stream: Int32, _ fields: [(name: String, value: String)], pieces size: Int, isEnd: Bool = false
    ) -> [HTTP2WireFrame] {
        var rest = block(fields)
        var frames: [HTTP2WireFrame] = []
        while !rest.isEmpty {
            let isFirst = frames.isEmpty
            let isLast = rest.count <= size
            frames.append(
                HTTP2WireFrame(
                    kind: isFirst ? Kind.headers : Kind.continuation,
                    flags: (isLast ? endHeadersFlag : 0) | (isFirst && isEnd ? endFlag : 0), stream: stream,
                    payload: Data(rest.prefix(size))))
            rest = Data(rest.dropFirst(size))
        }
        return frames
    }

    private static func padded(_ bytes: Data, _ padding: UInt8?) -> Data {
        guard let padding else { return bytes }
        return Data([padding]) + bytes + Data(count: Int(padding))
    }

    /// Literal fields without indexing, without Huffman's code (RFC 7541, section 6.2.2).
    private static func block(_ fields: [(name: String, value: String)]) -> Data {
        var block = Data()
        for (name, value) in fields {
            block.append(0)
            for text in [name, value] {
                block.append(contentsOf: length(text.utf8.count))
                block.append(contentsOf: text.utf8)
            }
        }
        return block
    }

    /// RFC 7541, section 5.1.
    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 127 else { return [UInt8(count)] }
        var bytes: [UInt8] = [127]
        var rest = count - 127
        while rest >= 128 {
            bytes.append(UInt8(rest % 128) | 128)
            rest /= 128
        }
        return bytes + [UInt8(rest)]
    }
}
#endif
