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

    /// The format of its file, whose content is JSON.
    static let format = "pulse-transfer 1"
}
