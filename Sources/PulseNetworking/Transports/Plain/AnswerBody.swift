// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The body of an answer as far as it has come, without its content coding and no longer than allowed.
struct AnswerBody {
    /// The codings that are undone, as the value of `Accept-Encoding`: browsers ask for no others in the clear, where
    /// something between may not know them.
    static let acceptEncoding = "gzip, deflate"
    /// All names of codings that are undone.
    static let codings: Set<String> = ["identity", "none", "gzip", "x-gzip", "deflate"]

    private enum Coding {
        case none
        case coded(Inflater)
        /// Nobody has asked for it, or for several at a time.
        case unknown
    }

    private let limit: Int
    private var coding = Coding.none
    /// How long the body will be, as far as the head says so and is believed.
    private var expectedCount = 0
    private(set) var data = Data()
    /// The bytes on the wire.
    private(set) var receivedCount: Int64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// - Parameter coding: the value of `Content-Encoding`, in lower case.
    mutating func begin(coding: String, length: Int64?) throws {
        if coding.isEmpty { return try begin(length) }
        let codings = coding.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        switch codings.filter({ $0 != "identity" && $0 != "none" && !$0.isEmpty }) {
        case []: try begin(length)
        case ["gzip"], ["x-gzip"]: self.coding = .coded(Inflater(.gzip))
        case ["deflate"]: self.coding = .coded(Inflater(.deflate))
        default: self.coding = .unknown
        }
    }

    private mutating func begin(_ length: Int64?) throws {
        guard let length else { return }
        guard length <= limit else { throw PulseError.responseTooLarge(limit: limit) }
        // What a server claims is not believed beyond that.
        expectedCount = min(Int(length), 1 << 20)
    }

    /// Takes bytes as they come. Throws ``PulseError/responseTooLarge(limit:)``, and ``TransportFailure`` for bytes
    /// that are not coded as the head says.
    mutating func take(_ bytes: UnsafeRawBufferPointer) throws {
        guard !bytes.isEmpty else { return }
        receivedCount += Int64(bytes.count)
        switch coding {
        case .none:
            try append(bytes)
        case .coded(let inflater):
            try inflater.take(bytes) { try append($0) }
        case .unknown:
            throw Inflater.failure
        }
    }

    /// Throws ``TransportFailure`` if the coding is not at its end.
    mutating func finish() throws {
        if case .coded(let inflater) = coding, !inflater.isAtEnd { throw Inflater.failure }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) throws {
        guard bytes.count <= limit - data.count else { throw PulseError.responseTooLarge(limit: limit) }
        if data.isEmpty {
            // As most come: in one piece, which needs no room of its own before.
            if bytes.count == expectedCount {
                data = Data(bytes)
                return
            }
            data.reserveCapacity(expectedCount)
        }
        data.append(contentsOf: bytes)
    }
}

/// Undoes gzip (RFC 1952), or `deflate`: zlib's frame (RFC 1950), without which some servers send it. Used by one task
/// at a time.
private final class Inflater: @unchecked Sendable {
    // Unchecked: it belongs to the one reader of one answer, which one task has from its first byte to its last.

    enum Coding {
        case gzip, deflate
    }

    static let failure = TransportFailure(code: .cannotDecodeContentData, phase: .responseStarted)

    private let coding: Coding
    private var stream: OpaquePointer?
    /// The first byte of what may be zlib's frame: the second one tells.
    private var first: UInt8?
    /// Whether all bytes so far were whole frames.
    private var isBetweenFrames = true
    private var hasEnded = false
    private var isPadding = false
    private let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 32 << 10)

    init(_ coding: Coding) {
        self.coding = coding
    }

    deinit {
        if let stream { pulse_inflate_free(stream) }
        room.deallocate()
    }

    func take(_ bytes: UnsafeRawBufferPointer, _ put: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard stream == nil else { return try run(bytes, put) }
        guard coding == .deflate else {
            try begin(PULSE_INFLATE_GZIP)
            return try run(bytes, put)
        }
        guard let first else {
            first = bytes[0]
            let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
            return rest.isEmpty ? () : try take(rest, put)
        }
        // The method DEFLATE, and a check of both bytes.
        let isFramed = first & 0x0F == 8 && (UInt16(first) << 8 | UInt16(bytes[0])) % 31 == 0
        try begin(isFramed ? PULSE_INFLATE_ZLIB : PULSE_INFLATE_RAW)
        try withUnsafeBytes(of: first) { try run($0, put) }
        try run(bytes, put)
    }

    /// Whether nothing is missing: an empty body is not coded at all.
    var isAtEnd: Bool { isBetweenFrames && (first == nil || stream != nil) }

    private func begin(_ frame: pulse_inflate_frame) throws {
        guard let stream = pulse_inflate_new(frame) else {
            throw TransportFailure(code: .resourceUnavailable, phase: .responseStarted)
        }
        self.stream = stream
    }

    private func run(_ bytes: UnsafeRawBufferPointer, _ put: (UnsafeRawBufferPointer) throws -> Void) throws {
        var rest = bytes.bindMemory(to: UInt8.self)[...]
        var isFull = false
        while !rest.isEmpty || isFull {
            // Only gzip has more than one, and padding after the last, which everybody passes over.
            guard !hasEnded || coding == .gzip else { throw Self.failure }
            if hasEnded, isBetweenFrames, rest.first != 0x1F { isPadding = true }
            if isPadding { return }
            var (taken, made) = (rest.count, room.count)
            let input = UnsafeBufferPointer(rebasing: rest)
            let result = pulse_inflate_run(stream, input.baseAddress, &taken, room.baseAddress, &made)
            guard result != PULSE_DEFLATE_FAILED, isFull || taken > 0 else { throw Self.failure }
            rest = rest.dropFirst(taken)
            isBetweenFrames = result == PULSE_DEFLATE_ENDED
            hasEnded = hasEnded || isBetweenFrames
            isFull = result == PULSE_DEFLATE_FULL
            if made > 0 { try put(UnsafeRawBufferPointer(start: room.baseAddress, count: made)) }
        }
    }
}
#endif
