// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTransports

/// What is stored of one background transfer: no URL, and no header of its request.
struct BackgroundEntry: Sendable, Equatable, Codable {
    enum Outcome: Sendable, Equatable, Codable {
        /// - Parameter body: nil if the body is in a file.
        case response(BackgroundHead, body: Data?)
        case failure(BackgroundFailure)
        /// The body of the response to an upload is larger than that.
        case tooLarge(limit: Int)
    }

    /// Our own id, which the system's task has as its description.
    let id: String
    let isUpload: Bool
    /// The digest of the request, and of the file of an upload.
    let request: String
    /// The digest of the account that the request was sent for; nil if no plugin knew one.
    let account: String?
    /// The system's task; nil before it has one, and when it was stopped.
    var task: Int?
    /// Whether the task goes on with what an earlier one has left.
    var isResumed = false
    /// Whether there is resume data.
    var hasResumeData = false
    var outcome: Outcome?

    init(id: String, isUpload: Bool, request: String, account: String?) {
        (self.id, self.isUpload, self.request, self.account) = (id, isUpload, request, account)
    }

    private static let version = 1

    /// One line with the version and the checksum, and then JSON.
    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let body = (try? encoder.encode(self)) ?? Data()
        return Array("pulse-transfer \(Self.version) \(Self.checksum(body))\n".utf8) + body
    }

    /// Nil if the bytes are not exactly those of an entry of this version.
    init?(_ bytes: some Collection<UInt8>) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let body = Data(bytes[bytes.index(after: end)...])
        guard String(decoding: bytes[..<end], as: UTF8.self) == "pulse-transfer \(Self.version) \(Self.checksum(body))",
            let entry = try? JSONDecoder().decode(BackgroundEntry.self, from: body)
        else { return nil }
        self = entry
    }

    private static func checksum(_ body: Data) -> String {
        String(body.withUnsafeBytes { Checksum.of($0) }, radix: 16)
    }
}
