// SPDX-License-Identifier: MIT

/// Writes frames of HTTP/2 by hand (RFC 9113, section 6), right or wrong. Their fields are literals that no table keeps
/// (RFC 7541, section 6.2.2).
enum HTTP2Frames {
    /// What a client sends first.
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    static let settingsAck = frame(4, 1)

    static func frame(_ type: UInt8, _ flags: UInt8 = 0, _ stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        joined([Array(number(UInt32(payload.count)).dropFirst()), [type, flags], number(stream), payload])
    }

    static func joined(_ parts: [[UInt8]]) -> [UInt8] { parts.flatMap { $0 } }

    static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    /// In four bytes, the highest first.
    static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    // MARK: Streams

    static func headers(
        _ stream: UInt32, _ fields: [(String, String)] = [], isEnd: Bool = false, isWhole: Bool = true
    ) -> [UInt8] {
        frame(1, (isEnd ? 1 : 0) | (isWhole ? 4 : 0), stream, block(fields))
    }

    /// The head of a response with the status 200.
    static func ok(_ stream: UInt32, _ fields: [(String, String)] = [], isEnd: Bool = false) -> [UInt8] {
        headers(stream, [(":status", "200")] + fields, isEnd: isEnd)
    }

    static func continuation(
        _ stream: UInt32, _ fields: [(String, String)] = [], isWhole: Bool = true
    ) -> [UInt8] {
        frame(9, isWhole ? 4 : 0, stream, block(fields))
    }

    static func data(_ stream: UInt32, _ text: String = "", isEnd: Bool = false) -> [UInt8] {
        data(stream, bytes: Array(text.utf8), isEnd: isEnd)
    }

    static func data(_ stream: UInt32, bytes: [UInt8], isEnd: Bool = false) -> [UInt8] {
        frame(0, isEnd ? 1 : 0, stream, bytes)
    }

    static func padded(_ stream: UInt32, _ text: String, _ padding: UInt8, isEnd: Bool = false) -> [UInt8] {
        frame(0, isEnd ? 9 : 8, stream, joined([[padding], Array(text.utf8), zeros(Int(padding))]))
    }

    static func reset(_ stream: UInt32, _ code: UInt32) -> [UInt8] {
        frame(3, 0, stream, number(code))
    }

    static func windowUpdate(_ stream: UInt32, _ count: UInt32) -> [UInt8] {
        frame(8, 0, stream, number(count))
    }

    static func pushPromise(_ stream: UInt32, _ promised: UInt32) -> [UInt8] {
        let request = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/")]
        return frame(5, 4, stream, number(promised) + block(request))
    }

    // MARK: The connection

    static func settings(_ values: [(UInt16, UInt32)] = []) -> [UInt8] {
        frame(4, 0, 0, joined(values.map { Array(number(UInt32($0.0)).dropFirst(2)) + number($0.1) }))
    }

    static func ping(isAck: Bool = false) -> [UInt8] {
        frame(6, isAck ? 1 : 0, 0, zeros(8))
    }

    static func goAway(_ lastStream: UInt32, _ code: UInt32 = 0) -> [UInt8] {
        frame(7, 0, 0, number(lastStream) + number(code))
    }

    // MARK: Fields

    static func block(_ fields: [(String, String)]) -> [UInt8] {
        joined(fields.map { joined([[0], literal($0.0), literal($0.1)]) })
    }

    /// A text behind its length, an integer with a prefix of 7 bits (RFC 7541, section 5.1).
    private static func literal(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var length: [UInt8] = [127]
        var rest = bytes.count - 127
        while rest >= 128 {
            length.append(UInt8(rest % 128 + 128))
            rest /= 128
        }
        return length + [UInt8(rest)] + bytes
    }
}

/// A frame of a client. Fields stay compressed.
struct HTTP2Frame: Equatable, CustomStringConvertible {
    let type: UInt8
    let flags: UInt8
    let stream: UInt32
    let payload: [UInt8]

    private static let names = [
        "DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE",
        "CONTINUATION",
    ]

    var name: String { Int(type) < Self.names.count ? Self.names[Int(type)] : "frame \(type)" }

    /// END_STREAM of DATA and HEADERS, ACK of SETTINGS and PING.
    var hasFirstFlag: Bool { flags & 1 != 0 }

    /// The last four bytes: the code of a RST_STREAM, the increment of a WINDOW_UPDATE.
    var number: UInt32 { Self.number(payload.suffix(4)) }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The complete frames in the bytes, behind the preface if they begin with it, and how many bytes these are.
    static func read(_ bytes: [UInt8]) -> (frames: [HTTP2Frame], count: Int) {
        var (frames, index) = ([HTTP2Frame](), bytes.starts(with: HTTP2Frames.preface) ? HTTP2Frames.preface.count : 0)
        while bytes.count - index >= 9 {
            let header = bytes[index..<index + 9]
            let length = Int(number(header.prefix(3)))
            guard bytes.count - index >= 9 + length else { break }
            let stream = number(header.suffix(4))
            let payload = Array(bytes[index + 9..<index + 9 + length])
            frames.append(HTTP2Frame(type: bytes[index + 3], flags: bytes[index + 4], stream: stream, payload: payload))
            index += 9 + length
        }
        return (frames, index)
    }

    /// Such as `HEADERS 1 end`, `DATA 1 (5)`, `RST_STREAM 1 8`, `SETTINGS 0 ack`, `GOAWAY 0 11`.
    var description: String {
        switch name {
        case "DATA": "DATA \(stream) (\(payload.count))" + (hasFirstFlag ? " end" : "")
        case "HEADERS": "HEADERS \(stream)" + (hasFirstFlag ? " end" : "")
        case "SETTINGS", "PING": "\(name) \(stream)" + (hasFirstFlag ? " ack" : "")
        case "GOAWAY": "GOAWAY \(stream) \(Self.number(payload.dropFirst(4).prefix(4)))"
        case "RST_STREAM", "WINDOW_UPDATE": "\(name) \(stream) \(number)"
        default: "\(name) \(stream)"
        }
    }
}
