// SPDX-License-Identifier: MIT

package import PulseCore

/// A request that is to wait for a connection.
package struct QueueDraft: Sendable {
    /// As built: neither a plugin's headers nor a secret are in it.
    package var request: URLRequest
    package var body: BodySource
    package var options: RequestOptions
    package var key: String?
    package var account: String?

    package init(
        request: URLRequest, body: BodySource, options: RequestOptions, key: String?, account: String?
    ) {
        self.request = request
        self.body = body
        self.options = options
        self.key = key
        self.account = account
    }
}

/// An entry that is sent now.
package struct Replay: Sendable {
    package let id: UUID
    package let request: URLRequest
    package let body: BodySource
    package let options: RequestOptions
    package let key: String?
    package let account: String?
}

/// How a replay ended.
package struct ReplayOutcome: Sendable {
    package let result: Result<PulseResponse, PulseError>
    /// It did not leave, since somebody else is logged in than when it was queued.
    package let isOfOtherAccount: Bool
    private let isUnsent: Bool
    private let isAnswered: Bool

    /// - Parameters:
    ///   - result: a status that means "later" is a failure, though the endpoint may accept it.
    ///   - isUnsent: Nothing has left: whatever the failure looks like, no server has given it.
    ///   - isAnswered: A server has answered: what the failure does not tell of may be a plugin's word on that.
    package init(
        result: Result<PulseResponse, PulseError>, isOfOtherAccount: Bool = false, isUnsent: Bool = false,
        isAnswered: Bool = false
    ) {
        self.isOfOtherAccount = isOfOtherAccount
        self.isUnsent = isUnsent
        self.isAnswered = isAnswered
        guard case .success(let response) = result, ReplayVerdict.meansLater(response.statusCode),
            let error = PulseError(validating: response, accepted: .successful)
        else {
            self.result = result
            return
        }
        self.result = .failure(error)
    }

    var verdict: ReplayVerdict {
        if isOfOtherAccount { return .otherAccount }
        let verdict = ReplayVerdict(result, isAnswered: isAnswered)
        guard isUnsent, case .unavailable(_, let seconds) = verdict else { return verdict }
        return .unavailable(isVerdict: false, retryAfter: seconds)
    }
}
