// SPDX-License-Identifier: MIT

#if canImport(Compression)
import Compression
import PulseCore

extension SystemRawDeflate {
    static func systemMaker() -> MakeRawDeflate? {
        { try FilterDeflate() }
    }
}

/// The framework's `.zlib` is raw DEFLATE, without the zlib header and trailer.
private final class FilterDeflate: RawDeflate {
    private final class Sink {
        var bytes = Data()

        func take() -> Data {
            defer { bytes = Data() }
            return bytes
        }
    }

    private let sink: Sink
    private let filter: OutputFilter

    init() throws {
        let sink = Sink()
        self.sink = sink
        do {
            filter = try OutputFilter(.compress, using: .zlib) { chunk in
                if let chunk { sink.bytes.append(chunk) }
            }
        } catch {
            throw PulseError.encodingFailed(underlying: error)
        }
    }

    func compress(_ bytes: UnsafeRawBufferPointer) throws -> Data {
        do {
            // An empty write would mean the end.
            if !bytes.isEmpty { try filter.write(bytes) }
        } catch {
            throw PulseError.encodingFailed(underlying: error)
        }
        return sink.take()
    }

    func finish() throws -> Data {
        do {
            try filter.finalize()
        } catch {
            throw PulseError.encodingFailed(underlying: error)
        }
        return sink.take()
    }
}
#endif
