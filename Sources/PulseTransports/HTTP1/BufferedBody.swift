// SPDX-License-Identifier: MIT

import PulseCore

/// A partial buffered body, without its content codings and within the limit.
struct BufferedBody {
    /// The maximum number of bytes on the wire beyond the limit: a coded body may be larger than its decoded form, and
    /// endless padding or empty blocks decode to nothing.
    private static let codingOverhead: Int64 = 64 << 10
    /// The byte interval between two checks of the limit, counted from the body's start. A decoding failure loses the
    /// bytes decoded before it. The interval makes the resulting error independent of how the bytes are split.
    private static let stride: Int64 = 64

    /// The minimum number of missing bytes to receive in place.
    private static let largeCount = 64 << 10

    private let limit: Int
    private let wireLimit: Int64
    /// Whether a body beyond the limit is truncated there and counts as a success.
    private let cuts: Bool
    private var decoder: ContentDecoder?
    private var losesOutput = false
    /// The expected body length, as far as the head's declaration is trusted.
    private var expectedCount = 0
    private var isCompletedInPlace = false
    private var isBeyondLimit = false
    private(set) var data = Data()
    /// The number of bytes on the wire.
    private(set) var receivedCount: Int64 = 0
    private var takenCount = 0

    init(limit: Int, cuts: Bool = false) {
        self.limit = limit
        wireLimit = Int64(limit) > .max - Self.codingOverhead ? .max : Int64(limit) + Self.codingOverhead
        self.cuts = cuts
    }

    var decodedCount: Int64 { Int64(data.count + takenCount) }

    /// Counts bytes that are passed to a reader unchanged.
    mutating func note(passed count: Int) {
        receivedCount += Int64(count)
        takenCount += count
    }

    /// Takes the bytes received so far.
    mutating func takeData() -> Data {
        defer { (data, takenCount) = (Data(), takenCount + data.count) }
        return data
    }

    /// Whether the body was truncated at the limit, for which ``take(_:)`` has thrown an error.
    var isTruncated: Bool { cuts && isBeyondLimit }

    /// - Parameters:
    ///   - codings: in the order of decoding.
    ///   - length: of the body on the wire, if known.
    ///   - isCompletedInPlace: whether a body with a ``length(with:)`` is completed by ``take(whole:)``.
    mutating func begin(codings: [ContentCoding], length: Int64?, isCompletedInPlace: Bool = false) throws {
        self.isCompletedInPlace = isCompletedInPlace
        if !codings.isEmpty {
            let decoder = ContentDecoder(codings)
            losesOutput = decoder.losesOutputWithFailures
            self.decoder = decoder
        } else if let length {
            guard cuts || length <= limit else { throw PulseError.responseTooLarge(limit: limit) }
            // A declared length beyond this is not trusted for allocation.
            expectedCount = min(Int(clamping: length), limit, 1 << 20)
        }
    }

    /// Consumes received bytes. Throws ``PulseError/responseTooLarge(limit:)``, and ``TransportFailure`` for bytes that
    /// are not coded as the header fields say.
    mutating func take(_ bytes: UnsafeRawBufferPointer) throws {
        guard !bytes.isEmpty else { return }
        guard let decoder else {
            receivedCount += Int64(bytes.count)
            append(bytes)
            return try checkLimit()
        }
        var rest = bytes
        while !rest.isEmpty {
            var count = min(Int64(rest.count), wireLimit - receivedCount)
            if losesOutput { count = min(count, Self.stride - receivedCount % Self.stride) }
            guard count > 0 else {
                isBeyondLimit = true
                return try checkLimit()
            }
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(count)))
            receivedCount += count
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(Int(count)))
            try decode(piece, decoder)
        }
    }

    /// The length with `more` further bytes; nil if they are few, coded, or beyond the limit.
    func length(with more: Int64) -> Int? {
        guard decoder == nil, !isBeyondLimit, more >= Self.largeCount, more <= limit - data.count else { return nil }
        return data.count + Int(more)
    }

    /// Replaces the bytes received so far with the whole body.
    mutating func take(whole bytes: Data) {
        receivedCount += Int64(bytes.count - data.count)
        data = bytes
    }

    /// Throws as ``take(_:)`` does, if the coded data is incomplete.
    mutating func finish() throws {
        try checkLimit()
        try decoder?.finish()
    }

    private mutating func decode(_ bytes: UnsafeRawBufferPointer, _ decoder: ContentDecoder) throws {
        var offset = 0
        while true {
            let decoded = try decoder.decode(bytes, from: &offset)
            if decoded.isEmpty { break }
            append(decoded)
            if !losesOutput { try checkLimit() }
        }
        if receivedCount % Self.stride == 0 { try checkLimit() }
    }

    private func checkLimit() throws {
        if isBeyondLimit { throw PulseError.responseTooLarge(limit: limit) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard !isBeyondLimit else { return }
        isBeyondLimit = bytes.count > limit - data.count
        guard !isBeyondLimit || cuts else { return }
        if data.isEmpty {
            // The common case: a body in one piece needs no reserved capacity.
            if bytes.count == expectedCount {
                data = Data(bytes)
                return
            }
            // A short-lived reservation would make the allocator return pages. The 1 MiB cleartext row of
            // `Benchmarks/transports` shows it.
            let isCompletedHere = !isCompletedInPlace || expectedCount - bytes.count < Self.largeCount
            if isCompletedHere { data.reserveCapacity(expectedCount) }
        }
        data.append(contentsOf: bytes.prefix(limit - data.count))
    }
}
