// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: what the sources use of Compression.
// All of it is of iOS 13, macOS 10.15; `brotli` is of iOS 15.2, macOS 12.1.
import Foundation

public enum FilterOperation: Sendable {
    case compress, decompress
}

public enum Algorithm: CaseIterable, Sendable {
    case lzfse, zlib, lz4, lzma, lzbitmap, brotli
}

public class OutputFilter {
    public init(
        _ operation: FilterOperation, using algorithm: Algorithm, bufferCapacity: Int = 65536,
        writingTo writeFunc: @escaping (Data?) throws -> Void
    ) throws {}

    public func write<D: DataProtocol>(_ data: D?) throws {}
    public func finalize() throws {}
}
