// SPDX-License-Identifier: MIT

import PulseCore

/// Reports the upload progress of a request's body, which a mock does not send, in the steps of a real transport.
struct MockUpload: Sendable {
    private static let pieceSize: Int64 = 256 << 10

    private let body: TransportRequest.Body
    private let progress: @Sendable (TransferProgress) -> Void

    /// Nil without a progress closure.
    init?(_ request: TransportRequest) {
        guard let progress = request.progress else { return nil }
        body = request.body
        self.progress = progress
    }

    /// Reads a stream only if its length is unknown, and if the test can read it again.
    func report() async throws {
        switch body {
        case .none: break
        case .bytes(let data): report(length: Int64(data.count))
        case .file(let url):
            let size = try? url.resourceValues(forKeys: [.fileSizeKey]).fileSize
            if let size { report(length: Int64(size)) }
        case .stream(let stream):
            if let length = stream.length {
                report(length: length)
            } else if !stream.isOneShot {
                try await report(stream.make())
            }
        }
    }

    private func report(length: Int64) {
        var completed: Int64 = 0
        repeat {
            completed = min(completed + Self.pieceSize, length)
            progress(TransferProgress(completed: completed, total: length))
        } while completed < length
    }

    private func report(_ stream: ByteStream) async throws {
        var completed: Int64 = 0
        for try await chunk in stream {
            completed += Int64(chunk.count)
            progress(TransferProgress(completed: completed, total: nil))
        }
        if completed == 0 { progress(TransferProgress(completed: 0, total: 0)) }
    }
}
