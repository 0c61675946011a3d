// SPDX-License-Identifier: MIT

extension TransportRequest {
    /// The maximum size of a request line and header section in bytes, 64,000. Every engine can send that much in every
    /// version of HTTP; many servers accept less.
    ///
    /// The method, the URL and the header fields count, each field with 32 bytes in addition to its name and value (RFC
    /// 9113, section 6.5.2).
    public static let maxHeadSize = 64_000

    /// Throws ``PulseError/invalidRequest(reason:)`` for a request of more than ``maxHeadSize`` bytes without its body.
    /// A transport calls this before it sends anything.
    public func checkHeadSize() throws {
        let size = headSize
        guard size > Self.maxHeadSize else { return }
        throw PulseError.invalidRequest(
            reason: "the head of the request has \(size) bytes, and at most \(Self.maxHeadSize) can be sent")
    }

    private var headSize: Int {
        let fields = urlRequest.allHTTPHeaderFields ?? [:]
        let line = (urlRequest.httpMethod?.utf8.count ?? 0) + (urlRequest.url?.absoluteString.utf8.count ?? 0)
        return fields.reduce(line) { $0 + $1.key.utf8.count + $1.value.utf8.count + 32 }
    }
}
