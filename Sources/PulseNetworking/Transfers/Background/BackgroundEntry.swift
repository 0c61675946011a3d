// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTransports

/// The stored record of one background transfer, without the URL and header fields of its request.
struct BackgroundEntry: Sendable, Equatable, Codable {
    enum Outcome: Sendable, Equatable, Codable {
        /// - Parameter body: nil if the body is in a file.
        case response(BackgroundHead, body: Data?)
        case failure(BackgroundFailure)
        /// The response body of an upload exceeds the limit.
        case tooLarge(limit: Int)
    }

    /// Our own ID, which is the description of the system's task.
    let id: String
    let isUpload: Bool
    /// The digest of the request, and of the file of an upload.
    let request: String
    /// The digest of the account that the request was sent for; nil if no plugin knew one.
    let account: String?
    /// The identifier of the system's task; nil before the task is created, and after it was stopped.
    var task: Int?
    /// Whether the task resumes from the data of an earlier one.
    var isResumed = false
    /// Whether there is resume data.
    var hasResumeData = false
    var outcome: Outcome?

    init(id: String, isUpload: Bool, request: String, account: String?) {
        (self.id, self.isUpload, self.request, self.account) = (id, isUpload, request, account)
    }

    /// The format of its file, whose content is JSON.
    static let format = "pulse-transfer 1"
}
