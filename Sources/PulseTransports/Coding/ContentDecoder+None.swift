// SPDX-License-Identifier: MIT

#if !os(Linux)
import PulseCore

extension ContentCoding {
    /// None: `URLSession` decodes the bodies of its requests itself, and all others ask for uncoded bodies.
    static let available: [ContentCoding] = []
}

/// The decoder of a body with content codings, which no request accepts here.
struct ContentDecoder {
    let losesOutputWithFailures = false

    init(_ codings: [ContentCoding]) {}

    func decode(_ input: UnsafeRawBufferPointer, from offset: inout Int) throws -> UnsafeRawBufferPointer {
        throw TransportFailure(code: .cannotDecodeContentData, phase: .responseStarted)
    }

    func finish() throws {}
}
#endif
