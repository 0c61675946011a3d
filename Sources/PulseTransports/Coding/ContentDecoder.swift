// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// Undoes the content codings of one body, however many there are, in pieces of bounded size.
///
/// Used by one task or thread at a time. An empty body is not coded at all.
final class ContentDecoder: @unchecked Sendable {
    // Unchecked: it belongs to the one reader of one answer, which one task or thread has at a time.

    /// The error for a body that is not coded as its head says, or ends before its coding does.
    static let failure = TransportFailure(code: .cannotDecodeContentData, phase: .responseStarted)
    /// More codings are no coding but an attack: each may multiply the body a thousandfold.
    private static let stageLimit = 5

    private let stages: [DecoderStage]

    /// - Parameter codings: in the order in which they are undone.
    init(_ codings: [ContentCoding]) {
        stages = codings.prefix(Self.stageLimit + 1).map { DecoderStage($0) }
    }

    /// Whether what was decoded before a failure may be lost with it.
    var losesOutputWithFailures: Bool {
        stages.contains { $0.coding == .brotli || $0.coding == .zstd }
    }

    /// Decodes the next piece, which is valid until the next call; empty once all input is used up.
    ///
    /// - Parameter offset: how much of the input has been used.
    func decode(_ input: UnsafeRawBufferPointer, from offset: inout Int) throws -> UnsafeRawBufferPointer {
        guard stages.count <= Self.stageLimit || input.isEmpty else { throw Self.failure }
        return try piece(of: stages.count - 1, input, &offset)
    }

    /// Throws ``failure`` if a coding is not at its end.
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

/// Undoes one coding.
final class DecoderStage {
    let coding: ContentCoding
    /// What is to be decoded next, in memory of the stage before.
    var input = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Whether there is more output than there was room for.
    private(set) var isFull = false
    private var decoder: OpaquePointer?
    /// The first byte of what may be zlib's frame: the second one tells.
    private var first: UInt8?
    /// Whether all bytes so far were whole frames.
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

    /// Whether nothing is missing.
    var isAtEnd: Bool { isBetweenFrames && !hasFailed }

    /// Takes some of the input; gives what came of it.
    func run() throws -> UnsafeRawBufferPointer {
        guard !hasFailed else { throw ContentDecoder.failure }
        if decoder == nil, try !begin() { return UnsafeRawBufferPointer(start: nil, count: 0) }
        if hasEnded, isBetweenFrames, try passesOver() { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return try decode()
    }

    /// Makes the decoder. False while the bytes do not tell which.
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
        // The method DEFLATE, and a check of both bytes. Some servers send no frame.
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

    /// Judges what comes after a whole frame: true for padding, of which there is some after gzip members.
    private func passesOver() throws -> Bool {
        switch coding {
        case .gzip: isPadding = isPadding || input.first != 0x1F
        case .zstd: break
        case .deflate, .brotli: throw ContentDecoder.failure
        }
        if isPadding { input = UnsafeRawBufferPointer(start: nil, count: 0) }
        return isPadding
    }

    private func decode() throws -> UnsafeRawBufferPointer {
        var (taken, made) = (input.count, room.count)
        let bytes = input.bindMemory(to: UInt8.self)
        let result = pulse_decoder_run(decoder, bytes.baseAddress, &taken, room.baseAddress, &made)
        // Neither bytes in nor bytes out would go on for ever.
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
