// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// Reads a body that is not in memory, chunk by chunk.
actor BodyReader {
    private enum Source {
        case file(URL)
        case open(FileHandle)
        case stream(ByteStream.Iterator)
    }

    private static let chunkSize = 256 << 10

    private var source: Source

    init(_ url: URL) {
        source = .file(url)
    }

    init(_ bytes: ByteStream) {
        source = .stream(bytes.makeAsyncIterator())
    }

    /// Returns the next chunk, or nil at the end. Throws ``PulseError/encodingFailed(underlying:)``.
    func next() async throws -> Data? {
        do {
            switch source {
            case .file(let url):
                let handle = try await BlockingWork.run { _ in try FileHandle(forReadingFrom: url) }
                source = .open(handle)
                return try await read(handle)
            case .open(let handle):
                return try await read(handle)
            case .stream(var iterator):
                return try await iterator.next()
            }
        } catch {
            if error is CancellationError { throw PulseError.cancelled }
            throw error as? PulseError ?? PulseError.encodingFailed(underlying: error)
        }
    }

    private func read(_ handle: FileHandle) async throws -> Data? {
        try await BlockingWork.run { _ in
            guard let data = try handle.read(upToCount: Self.chunkSize), !data.isEmpty else { return nil }
            return data
        }
    }
}
