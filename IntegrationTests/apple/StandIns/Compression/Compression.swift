// SPDX-License-Identifier: MIT

public import Foundation
import PulsePlatform

// What the sources use of Compression, over zlib.

public enum FilterOperation: Sendable {
    case compress, decompress
}

public enum Algorithm: Sendable {
    case zlib
}

public enum FilterError: Error {
    case invalidState, invalidData
}

public final class OutputFilter {
    private let codec: any DeflateCodec
    private let write: (Data?) throws -> Void
    private var isFinal = false

    public init(
        _ operation: FilterOperation, using algorithm: Algorithm, bufferCapacity: Int = 65536,
        writingTo writeFunc: @escaping (Data?) throws -> Void
    ) throws {
        guard operation == .compress, let codec = SystemDeflate.deflater() else { throw FilterError.invalidState }
        (self.codec, write) = (codec, writeFunc)
    }

    public func write<D: DataProtocol>(_ data: D?) throws { try run(data.map { Data($0) } ?? Data()) }

    public func finalize() throws { if !isFinal { try run(Data()) } }

    /// Empty data are the end, as in the framework.
    private func run(_ data: Data) throws {
        guard !isFinal else { throw FilterError.invalidState }
        isFinal = data.isEmpty
        guard let output = codec.compress(data, flush: isFinal ? .finish : .none) else { throw FilterError.invalidData }
        if !output.isEmpty { try write(output) }
        if isFinal { try write(nil) }
    }
}
