// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

extension ContentCoding {
    /// The codings whose libraries the system has.
    static let available: [ContentCoding] = allCases.filter { pulse_decoder_load($0.decoder) }

    /// The coding for its decoder in C. `deflate` may also be sent without the zlib wrapper.
    var decoder: pulse_coding {
        switch self {
        case .gzip: PULSE_CODING_GZIP
        case .deflate: PULSE_CODING_ZLIB
        case .brotli: PULSE_CODING_BROTLI
        case .zstd: PULSE_CODING_ZSTD
        }
    }
}

/// Decodes all content codings of one body, in pieces of bounded size.
///
/// One task or thread uses it at a time. An empty body counts as not coded.
final class ContentDecoder: @unchecked Sendable {
    // Unchecked: it belongs to the only reader of one response, on one task or thread at a time.

    /// The error for a body that is not coded as its header fields say, or that ends early.
    static let failure = TransportFailure(code: .cannotDecodeContentData, phase: .responseStarted)
    /// A longer list of codings is an attack: each coding may expand the body a thousandfold.
    private static let stageLimit = 5

    private let stages: [DecoderStage]

    /// - Parameter codings: in the order of decoding.
    init(_ codings: [ContentCoding]) {
        stages = codings.prefix(Self.stageLimit + 1).map { DecoderStage($0) }
    }

    /// Whether a failure may lose bytes that were decoded before it.
    var losesOutputWithFailures: Bool {
        stages.contains { $0.coding == .brotli || $0.coding == .zstd }
    }

    /// Decodes the next piece, which is valid until the next call; empty once all input is consumed.
    ///
    /// - Parameter offset: the number of input bytes consumed so far.
    func decode(_ input: UnsafeRawBufferPointer, from offset: inout Int) throws -> UnsafeRawBufferPointer {
        guard stages.count <= Self.stageLimit || input.isEmpty else { throw Self.failure }
        return try piece(of: stages.count - 1, input, &offset)
    }

    /// Throws ``failure`` if a coding has not reached its end.
    func finish() throws {
        guard stages.allSatisfy(\.isAtEnd) else { throw Self.failure }
    }

    private func piece(
        of index: Int, _ input: UnsafeRawBufferPointer, _ offset: inout Int
    ) throws -> UnsafeRawBufferPointer {
        let stage = stages[index]
        while true {
            if index == 0 {
                stage.input = UnsafeRawBufferPointer(rebasing: input[offset...])
            } else if stage.input.isEmpty, !stage.isFull {
                stage.input = try piece(of: index - 1, input, &offset)
            }
            guard !stage.input.isEmpty || stage.isFull else { return stage.input }
            let count = stage.input.count
            let output = try stage.run()
            if index == 0 { offset += count - stage.input.count }
            if !output.isEmpty { return output }
        }
    }
}

/// The decoder of one coding.
final class DecoderStage {
    let coding: ContentCoding
    /// The next input, in the memory of the previous stage.
    var input = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Whether there is more output than the buffer could hold.
    private(set) var isFull = false
    private var decoder: OpaquePointer?
    /// The first byte of a possible zlib header; the second byte decides.
    private var first: UInt8?
    /// Whether all bytes so far were complete frames.
    private var isBetweenFrames = true
    private var hasEnded = false
    private var isPadding = false
    private var hasFailed = false
    private let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 32 << 10)

    init(_ coding: ContentCoding) {
        self.coding = coding
    }

    deinit {
        if let decoder { pulse_decoder_free(decoder) }
        room.deallocate()
    }

    /// Whether the coded data is complete.
    var isAtEnd: Bool { isBetweenFrames && !hasFailed }

    /// Consumes some of the input and returns the output.
    func run() throws -> UnsafeRawBufferPointer {
        guard !hasFailed else { throw ContentDecoder.failure }
        if decoder == nil, try !begin() { return UnsafeRawBufferPointer(start: nil, count: 0) }
        if hasEnded, isBetweenFrames, skipsPadding() { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return try decode()
    }

    /// Creates the decoder. Returns false while the bytes do not yet identify the format.
    private func begin() throws -> Bool {
        guard coding == .deflate else {
            decoder = try Self.decoder(coding.decoder)
            return true
        }
        guard let first else {
            first = input[0]
            input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
            isBetweenFrames = false
            return false
        }
        // The method DEFLATE and a checksum of both bytes. Some servers send no zlib header.
        let isFramed = first & 0x0F == 8 && (UInt16(first) << 8 | UInt16(input[0])) % 31 == 0
        decoder = try Self.decoder(isFramed ? PULSE_CODING_ZLIB : PULSE_CODING_RAW)
        // One byte alone decodes to nothing.
        var (byte, taken, made) = (first, 1, room.count)
        hasFailed = pulse_decoder_run(decoder, &byte, &taken, room.baseAddress, &made) == PULSE_DEFLATE_FAILED
        if hasFailed { throw ContentDecoder.failure }
        return true
    }

    private static func decoder(_ coding: pulse_coding) throws -> OpaquePointer {
        guard let decoder = pulse_decoder_new(coding) else {
            throw TransportFailure(code: .resourceUnavailable, phase: .responseStarted)
        }
        return decoder
    }

    /// Handles bytes after a complete frame. Returns true for padding, which some servers send and browsers ignore.
    private func skipsPadding() -> Bool {
        switch coding {
        case .gzip: isPadding = isPadding || input.first != 0x1F
        case .zstd: break
        case .deflate, .brotli: isPadding = true
        }
        if isPadding { input = UnsafeRawBufferPointer(start: nil, count: 0) }
        return isPadding
    }

    private func decode() throws -> UnsafeRawBufferPointer {
        var (taken, made) = (input.count, room.count)
        let bytes = input.bindMemory(to: UInt8.self)
        let result = pulse_decoder_run(decoder, bytes.baseAddress, &taken, room.baseAddress, &made)
        // Without progress in input and output, decoding would never end.
        hasFailed = result == PULSE_DEFLATE_FAILED || !isFull && taken == 0 && made == 0
        guard !hasFailed || made > 0 else { throw ContentDecoder.failure }
        input = UnsafeRawBufferPointer(rebasing: input.dropFirst(taken))
        isBetweenFrames = result == PULSE_DEFLATE_ENDED
        hasEnded = hasEnded || isBetweenFrames
        isFull = result == PULSE_DEFLATE_FULL || hasFailed
        return UnsafeRawBufferPointer(start: room.baseAddress, count: made)
    }
}
#endif
