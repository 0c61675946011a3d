// SPDX-License-Identifier: MIT

import PulseCore

/// The framing of a response: what the head says about the body and the connection (RFC 9112, sections 5, 6 and 9).
///
/// Both versions of HTTP check every field of a head with it, so that they accept and reject the same responses.
struct ResponseFraming {
    enum BodyLength: Equatable {
        case none
        case bytes(Int64)
        case chunks
        /// The body ends with the connection.
        case rest
    }

    /// The field that a folded line continues.
    private enum LastField {
        case none, other, connection, contentEncoding
        /// Content-Length or Transfer-Encoding. Many parsers read them line by line. Folding them serves only to make
        /// two parsers disagree.
        case framing
    }

    private(set) var status = 0
    private(set) var isVersion10 = false
    /// How long the server keeps an idle connection, in seconds; nil if unspecified.
    private(set) var idleLimit: TimeInterval?
    private var lengths = ContentLengths()
    private var transferCodings: TransferCodings?
    private var contentEncoding = ""
    private var closes = false
    private var keepsAlive = false
    private var lastField = LastField.none

    /// - Parameter status: from the status line, or 0 until it is known.
    init(status: Int = 0, isVersion10: Bool = false) {
        (self.status, self.isVersion10) = (status, isVersion10)
    }

    var isInterim: Bool { status < 200 && status != 101 }

    var keepsConnection: Bool {
        !closes && (!isVersion10 || keepsAlive) && status != 101 && !isAmbiguous && !isMisdirected
    }

    /// Whether the connection is the wrong one for its origin (RFC 9110, section 15.5.20). The next request would get
    /// the same response.
    var isMisdirected: Bool { status == 421 }

    /// Whether another parser may find a different end of the body, so that the connection must not be reused (RFC
    /// 9112, section 6.1): two lengths, chunks in a version without them, or chunked named twice.
    var isAmbiguous: Bool {
        transferCodings.map { !$0.isChunkedOnce || isVersion10 || lengths.hasLength } ?? false
    }

    mutating func readStatus(_ line: UnsafeRawBufferPointer) throws -> ResponseHead {
        guard line.count >= 12, line.hasPrefix("HTTP/1.0") || line.hasPrefix("HTTP/1.1"), line[8].isBlank,
            let head = ResponseHead(statusLine: line), head.statusCode >= 100
        else { throw HTTP1ResponseParser.Malformed() }
        self = ResponseFraming(status: head.statusCode, isVersion10: line[7] == UInt8(ascii: "0"))
        return head
    }

    /// Sets the status when it becomes known after the fields.
    mutating func note(status: Int) {
        self.status = status
    }

    /// Reads a line, without its line end. Throws ``HTTP1ResponseParser/Malformed`` for an invalid field: the name must
    /// be a token, directly followed by the colon.
    mutating func readField(_ line: UnsafeRawBufferPointer) throws {
        if line[0].isBlank { return try readFold(line) }
        guard let colon = line.offset(of: UInt8(ascii: ":")), colon > 0, line.isToken(upTo: colon) else {
            throw HTTP1ResponseParser.Malformed()
        }
        lastField = .other
        // The first letter rules out most lines.
        switch line[0] {
        case UInt8(ascii: "C"), UInt8(ascii: "c"):
            if line.isField("content-length", colon) {
                lastField = .framing
                lengths.read(line.value(after: colon))
            } else if line.isField("content-encoding", colon) {
                lastField = .contentEncoding
                let coding = line.value(after: colon).lowercasedText
                contentEncoding += contentEncoding.isEmpty || coding.isEmpty ? coding : ", " + coding
            } else if line.isField("connection", colon) {
                lastField = .connection
                line.value(after: colon).forEachMember { option in
                    closes = closes || option.isText("close")
                    keepsAlive = keepsAlive || option.isText("keep-alive")
                }
            }
        case UInt8(ascii: "K"), UInt8(ascii: "k"):
            idleLimit = KeepAliveTimeout.seconds(in: line) ?? idleLimit
        case UInt8(ascii: "T"), UInt8(ascii: "t"):
            guard line.isField("transfer-encoding", colon) else { return }
            lastField = .framing
            var codings = transferCodings ?? TransferCodings()
            codings.read(line.value(after: colon))
            transferCodings = codings
        default:
            break
        }
    }

    /// Reads a line that continues the previous field, as if after a space (RFC 9112, section 5.2).
    private mutating func readFold(_ line: UnsafeRawBufferPointer) throws {
        switch lastField {
        case .none, .framing: throw HTTP1ResponseParser.Malformed()
        case .connection: closes = true  // not worth reading: a new connection is always right
        case .contentEncoding: contentEncoding += " " + line.trimmed.lowercasedText
        case .other: break
        }
    }

    /// The body length (RFC 9112, section 6.3). Throws ``HTTP1ResponseParser/Malformed`` for an indeterminate length,
    /// and for a transfer coding that was not requested.
    func bodyLength(isHead: Bool) throws -> BodyLength {
        if hasNoBody(isHead: isHead) { return .none }
        if let transferCodings {
            guard transferCodings.isKnown else { throw HTTP1ResponseParser.Malformed() }
            return transferCodings.isChunked ? .chunks : .rest
        }
        guard lengths.isValid else { throw HTTP1ResponseParser.Malformed() }
        return lengths.value.map { .bytes($0) } ?? .rest
    }

    /// The content codings to decode, the one applied last first. A partial body stays coded: it cannot be decoded by
    /// itself, and `Content-Range` counts its coded bytes.
    func contentCodings(isHead: Bool) -> [ContentCoding] {
        contentEncoding.isEmpty || status == 206 || hasNoBody(isHead: isHead)
            ? [] : ContentCoding.toDecode(contentEncoding)
    }

    private func hasNoBody(isHead: Bool) -> Bool {
        isHead || status == 101 || status == 204 || status == 304
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isToken(upTo end: Int) -> Bool {
        for index in 0..<end where !ASCIISet.token.contains(self[index]) { return false }
        return true
    }

    /// Whether the line is a field with this lowercase name.
    fileprivate func isField(_ name: StaticString, _ colon: Int) -> Bool {
        colon == name.utf8CodeUnitCount && UnsafeRawBufferPointer(rebasing: self[..<colon]).isText(name)
    }

    fileprivate func value(after colon: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[(colon + 1)...]).trimmed
    }

    fileprivate var lowercasedText: String {
        String(decoding: self, as: UTF8.self).asciiLowercased
    }
}
