// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// The SHA-256 hash of a body as sent.
struct BodyHash: Sendable {
    private let hashes: any HashLibrary
    /// The hash of an empty body, which most requests need.
    private let empty: String?

    init(_ hashes: any HashLibrary) {
        self.hashes = hashes
        empty = hashes.sha256("")?.hex
    }

    /// The hash in hexadecimal digits; without a body, the hash of the empty string.
    ///
    /// Throws ``PulseError/unsupported(_:)`` for a one-shot stream, and if the system's hash function fails;
    /// ``TransportFailure`` for a file that cannot be read, as a transport would; a stream's own errors;
    /// `CancellationError`.
    func hex(of source: PluginContext.Body, in request: URLRequest) async throws -> String {
        let hash: String?
        switch source {
        case .inRequest:
            return try hex(of: request.httpBody)
        case .file(let url):
            do {
                hash = try await hashes.sha256(of: url)?.hex
            } catch let error where !(error is CancellationError) {
                throw TransportFailure(
                    code: .cannotOpenFile, phase: .beforeSend, underlying: FileFault.naming(error, url))
            }
        case .stream(let stream):
            guard !stream.isOneShot else {
                throw PulseError.unsupported(
                    "a one-shot stream cannot be signed: its bytes are gone once they are hashed; "
                        + "use a file, or a stream that can be created again")
            }
            hash = try await self.hash(of: stream)?.hex
        }
        guard let hash else { throw SigningKey.unsupported }
        return hash
    }

    /// The hash of bytes, without suspending.
    func hex(of body: Data?) throws -> String {
        guard let hash = body.map({ hashes.sha256($0)?.hex }) ?? empty else { throw SigningKey.unsupported }
        return hash
    }

    /// Hashes a newly created stream in a separate task: the stream may suspend indefinitely, and only cancelling its
    /// task ends that.
    private func hash(of stream: RequestBody.Stream) async throws -> SHA256Hash? {
        let task = Task { () -> SHA256Hash? in
            guard let hasher = hashes.makeHasher() else { return nil }
            let bytes = try await stream.make()
            defer { bytes.cancel() }
            for try await chunk in bytes {
                chunk.withUnsafeBytes { hasher.update($0) }
            }
            return hasher.finalize()
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
