// SPDX-License-Identifier: MIT

import PulseCore

/// The system's DEFLATE (RFC 1951), piece by piece: the Compression framework on Apple platforms, and on Linux
/// `libz.so.1`. For one task at a time.
protocol RawDeflate: AnyObject {
    /// The output so far, which may be empty. Throws ``PulseError/encodingFailed(underlying:)``.
    func compress(_ bytes: UnsafeRawBufferPointer) throws -> Data
    /// The rest of the output; call it once. Throws like ``compress(_:)``.
    func finish() throws -> Data
}

/// Creates an encoder; throws if there is no memory for it.
typealias MakeRawDeflate = @Sendable () throws -> any RawDeflate

/// The system's compression.
enum SystemRawDeflate {
    /// Nil if the system has none.
    static let make: MakeRawDeflate? = systemMaker()

    struct Failure: Error {}
}
