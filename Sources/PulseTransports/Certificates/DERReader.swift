// SPDX-License-Identifier: MIT

import PulseCore

/// Reads the elements of DER (ITU-T X.690) one after the other, without copying their bytes.
///
/// Lengths must be definite and in the shortest form (section 10.1), and end within the bytes. It verifies the content
/// of an element only as far as the caller reads it.
struct DERReader {
    /// The identifier octet of an element: its class, whether it has elements inside, and its number.
    enum Tag: UInt8 {
        case integer = 0x02
        case bitString = 0x03
        case sequence = 0x30
        /// `[1] IMPLICIT` and `[2] IMPLICIT` of a primitive type.
        case implicit1 = 0x81
        case implicit2 = 0x82
        /// `[0] EXPLICIT` and `[3] EXPLICIT`.
        case explicit0 = 0xA0
        case explicit3 = 0xA3
    }

    struct Element {
        /// The element with its tag and length.
        let encoding: Data
        let content: Data
        fileprivate let origin: Data.Index

        /// A reader of the elements in this one.
        var elements: DERReader { DERReader(content, origin: origin) }
    }

    /// The start index of the whole input. Slices keep its indices.
    private let origin: Data.Index
    private var rest: Data

    init(_ bytes: Data) {
        self.init(bytes, origin: bytes.startIndex)
    }

    private init(_ bytes: Data, origin: Data.Index) {
        (self.origin, rest) = (origin, bytes)
    }

    /// Reads the next element, which must have this tag.
    @discardableResult
    mutating func element(_ tag: Tag) throws(CertificateError) -> Element {
        let start = rest
        guard try byte() == tag.rawValue else { throw error(.unexpectedTag, at: start.startIndex) }
        let length = try length()
        guard length <= rest.count else { throw error(.truncated, at: rest.endIndex) }
        let content = rest.prefix(length)
        rest = rest.dropFirst(length)
        return Element(encoding: start.prefix(upTo: content.endIndex), content: content, origin: origin)
    }

    /// Skips the next element if it has this tag.
    mutating func skip(ifPresent tag: Tag) throws(CertificateError) {
        if rest.first == tag.rawValue { try element(tag) }
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Throws if bytes remain.
    func finish() throws(CertificateError) {
        guard rest.isEmpty else { throw error(.surplusBytes, at: rest.startIndex) }
    }

    func error(_ reason: CertificateError.Reason, at index: Data.Index) -> CertificateError {
        CertificateError(reason: reason, offset: index - origin)
    }

    private mutating func length() throws(CertificateError) -> Int {
        let start = rest.startIndex
        let first = try byte()
        guard first > 0x7F else { return Int(first) }
        // 0 is the indefinite form; 4 bytes are enough for any certificate.
        let count = Int(first & 0x7F)
        guard 1...4 ~= count else { throw error(.invalidLength, at: start) }
        var length: UInt64 = 0
        for _ in 0..<count { length = length << 8 | UInt64(try byte()) }
        guard length > 0x7F, length >> (8 * (count - 1)) > 0 else { throw error(.invalidLength, at: start) }
        return Int(clamping: length)
    }

    private mutating func byte() throws(CertificateError) -> UInt8 {
        guard let byte = rest.popFirst() else { throw error(.truncated, at: rest.startIndex) }
        return byte
    }
}
