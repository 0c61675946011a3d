// SPDX-License-Identifier: MIT

import PulseCore

/// The system's DEFLATE (RFC 1951), piece by piece: the Compression framework on Apple platforms, on Linux the zlib
/// that libcurl brings along. For one task at a time.
protocol RawDeflate: AnyObject {
    /// The output so far, which may be empty. Throws ``PulseError/encodingFailed(underlying:)``.
    func compress(_ bytes: UnsafeRawBufferPointer) throws -> Data
    /// The rest of the output; to be called once. Throws like ``compress(_:)``.
    func finish() throws -> Data
}

/// Makes one; throws if there is no memory for it.
typealias MakeRawDeflate = @Sendable () throws -> any RawDeflate

/// The system's compression.
enum SystemDeflate {
    /// Nil where there is none.
    static let make: MakeRawDeflate? = systemMaker()

    struct Failure: Error {}
}
