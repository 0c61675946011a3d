// SPDX-License-Identifier: MIT

package import PulseCore

/// A request that is to wait for a connection.
package struct QueueDraft: Sendable {
    /// The request as built, without headers of plugins and without secrets.
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
    /// Whether it was not sent because another account is logged in than when it was queued.
    package let isOfOtherAccount: Bool
    private let isUnsent: Bool
    private let isAnswered: Bool

    /// - Parameters:
    ///   - result: a status that means "later" is a failure, though the endpoint may accept it.
    ///   - isUnsent: nothing was sent, so the failure is not a server's.
    ///   - isAnswered: a server has answered; a failure without a status may be a plugin's judgement of that answer.
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
