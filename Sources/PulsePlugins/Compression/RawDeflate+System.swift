// SPDX-License-Identifier: MIT

#if !canImport(Compression)
import PulseCore
import PulsePlatform

extension SystemRawDeflate {
    static func systemMaker() -> MakeRawDeflate? {
        guard SystemDeflate.isAvailable else { return nil }
        return { try CodecDeflate() }
    }
}

private final class CodecDeflate: RawDeflate {
    private let codec: any DeflateCodec

    init() throws {
        guard let codec = SystemDeflate.deflater() else {
            throw PulseError.encodingFailed(underlying: SystemRawDeflate.Failure())
        }
        self.codec = codec
    }

    func compress(_ bytes: UnsafeRawBufferPointer) throws -> Data {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return Data() }
        // No copy: the codec does not keep its input.
        return try run(
            Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count, deallocator: .none), .none)
    }

    func finish() throws -> Data {
        try run(Data(), .finish)
    }

    private func run(_ bytes: Data, _ flush: DeflateFlush) throws -> Data {
        guard let output = codec.compress(bytes, flush: flush) else {
            throw PulseError.encodingFailed(underlying: SystemRawDeflate.Failure())
        }
        return output
    }
}
#endif
