// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// What a head says about the body after it and about the connection (RFC 9112, sections 6 and 9).
struct AnswerFraming {
    enum BodyLength {
        case none
        case bytes(Int64)
        case chunks
        /// Until the connection ends.
        case rest
    }

    private(set) var status = 0
    private(set) var isVersion10 = false
    private(set) var contentCoding = ""
    /// For how many seconds the server keeps the connection while it is idle; nil if it does not say.
    private(set) var idleLimit: TimeInterval?
    private var lengths = ContentLengths()
    private var transferCoding: String?
    private var closes = false
    private var keepsAlive = false
    /// Whether a folded line would go on with a field that counts here.
    private var mayNotFold = false

    var isInterim: Bool { status < 200 && status != 101 }

    var keepsConnection: Bool {
        !closes && (!isVersion10 || keepsAlive) && status != 101
            // Two lengths, or chunks that the version does not know, are signs of somebody who reads them otherwise
            // (RFC 9112, section 6.1).
            && (transferCoding == nil || !isVersion10 && !lengths.hasLength)
    }

    mutating func readStatus(_ line: UnsafeRawBufferPointer) throws -> ResponseHead {
        guard line.count >= 12, line.hasPrefix("HTTP/1.0") || line.hasPrefix("HTTP/1.1"), line[8].isBlank,
            let head = ResponseHead(statusLine: line), head.statusCode >= 100
        else { throw AnswerReader.Malformed() }
        status = head.statusCode
        isVersion10 = line[7] == UInt8(ascii: "0")
        return head
    }

    mutating func readField(_ line: UnsafeRawBufferPointer) throws {
        if line[0].isBlank {
            guard !mayNotFold else { throw AnswerReader.Malformed() }
            return
        }
        guard let colon = line.place(of: UInt8(ascii: ":")), colon > 0 else { throw AnswerReader.Malformed() }
        mayNotFold = false
        // Most lines are told apart by their first letter.
        switch line[0] {
        case UInt8(ascii: "C"), UInt8(ascii: "c"):
            if line.isField("content-length", colon) {
                mayNotFold = true
                lengths.read(line)
            } else if line.isField("content-encoding", colon) {
                mayNotFold = true
                let coding = line.value(after: colon)
                contentCoding += contentCoding.isEmpty || coding.isEmpty ? coding : ", " + coding
            } else if line.isField("connection", colon) {
                mayNotFold = true
                var rest = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...])
                while !rest.isEmpty {
                    let end = rest.place(of: UInt8(ascii: ",")) ?? rest.count
                    let option = UnsafeRawBufferPointer(rebasing: rest[..<end]).trimmed
                    closes = closes || option.isText("close")
                    keepsAlive = keepsAlive || option.isText("keep-alive")
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(end + 1))
                }
            }
        case UInt8(ascii: "K"), UInt8(ascii: "k"):
            idleLimit = KeepAliveTimeout.seconds(in: line) ?? idleLimit
        case UInt8(ascii: "T"), UInt8(ascii: "t"):
            guard line.isField("transfer-encoding", colon) else { return }
            mayNotFold = true
            let coding = line.value(after: colon)
            transferCoding = transferCoding.map { $0 + "," + coding } ?? coding
        default:
            break
        }
    }

    /// How long the body is (RFC 9112, section 6.3).
    func bodyLength(isHead: Bool) throws -> BodyLength {
        if isHead || status == 101 || status == 204 || status == 304 { return .none }
        if let transferCoding {
            // None but chunks was asked for.
            guard transferCoding == "chunked" else {
                guard transferCoding == "identity" else { throw AnswerReader.Malformed() }
                return .rest
            }
            return .chunks
        }
        guard lengths.isValid else { throw AnswerReader.Malformed() }
        return lengths.value.map { .bytes($0) } ?? .rest
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the line is a field of that name, which is in lower case; there may be blanks before the colon.
    fileprivate func isField(_ name: StaticString, _ colon: Int) -> Bool {
        colon >= name.utf8CodeUnitCount && UnsafeRawBufferPointer(rebasing: self[..<colon]).trimmed.isText(name)
    }

    /// Whether the text is this, which is in lower case, in any case.
    fileprivate func isText(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index].asciiLowercased != text.utf8Start[index] { return false }
        return true
    }

    /// The value in lower case, without blanks around it.
    fileprivate func value(after colon: Int) -> String {
        String(decoding: UnsafeRawBufferPointer(rebasing: self[(colon + 1)...]).trimmed, as: UTF8.self).asciiLowercased
    }
}
#endif
