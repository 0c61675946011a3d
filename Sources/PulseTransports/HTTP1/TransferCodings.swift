// SPDX-License-Identifier: MIT

/// The transfer codings of a head, parsed as strictly as framing needs (RFC 9112, sections 6 and 7).
///
/// | `Transfer-Encoding` | The body |
/// |---|---|
/// | `chunked`, in any case, after empty members or `identity` | chunks |
/// | `chunked` twice, as some servers send for one chunked body | chunks, once, as browsers and libcurl read it |
/// | empty, or `identity` alone | ends with the connection, whatever `Content-Length` says |
/// | any other, such as `gzip, chunked`, a member after `chunked`, or a parameter | rejected: never requested |
struct TransferCodings {
    private(set) var isKnown = true
    private var chunkedCount = 0

    var isChunked: Bool { chunkedCount > 0 }
    var isChunkedOnce: Bool { chunkedCount == 1 }

    /// Reads a value; several lines form one list.
    mutating func read(_ value: UnsafeRawBufferPointer) {
        value.forEachMember { coding in
            if coding.isText("chunked") {
                chunkedCount += 1
            } else if !coding.isText("identity") || isChunked {
                isKnown = false
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Calls `body` with each member of a list; empty ones do not count (RFC 9110, section 5.6.1).
    func forEachMember(_ body: (UnsafeRawBufferPointer) -> Void) {
        var rest = self
        while !rest.isEmpty {
            let end = rest.offset(of: UInt8(ascii: ",")) ?? rest.count
            let member = UnsafeRawBufferPointer(rebasing: rest[..<end]).trimmed
            if !member.isEmpty { body(member) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(end + 1))
        }
    }

    /// Whether the text equals this lower-case text, ignoring case.
    func isText(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index].asciiLowercased != text.utf8Start[index] { return false }
        return true
    }
}
