// SPDX-License-Identifier: MIT

package import PulseCore

/// A request that is to wait for a connection.
package struct QueueDraft: Sendable {
    /// The request as built, without headers of plugins and without secrets.
    package var request: URLRequest
    /// The names of the default headers that were taken out of the request, for whoever sends it to set again.
    package var droppedDefaults: [String]
    package var body: BodySource
    package var options: RequestOptions
    package var key: String?
    package var account: String?

    package init(
        request: URLRequest, droppedDefaults: [String] = [], body: BodySource, options: RequestOptions, key: String?,
        account: String?
    ) {
        self.request = request
        self.droppedDefaults = droppedDefaults
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
    package let droppedDefaults: [String]
    package let body: BodySource
    package let options: RequestOptions
    package let key: String?
    package let account: String?
}

/// How a replay ended.
package struct ReplayOutcome: Sendable {
    /// Whether it was not sent because another account is logged in than when it was queued.
    package let isOfOtherAccount: Bool
    private let answer: Result<PulseResponse, PulseError>
    private let isUnsent: Bool
    private let isOfOtherWork: Bool
    private let isAnswered: Bool

    /// - Parameters:
    ///   - isUnsent: nothing was sent, so the failure is not a server's.
    ///   - isOfOtherWork: the failure is that of work that the replay waited for, and not its own.
    ///   - isAnswered: a server has answered; a failure without a status may be a plugin's judgement of that answer.
    package init(
        result: Result<PulseResponse, PulseError>, isOfOtherAccount: Bool = false, isUnsent: Bool = false,
        isOfOtherWork: Bool = false, isAnswered: Bool = false
    ) {
        answer = result
        self.isOfOtherAccount = isOfOtherAccount
        self.isUnsent = isUnsent
        self.isOfOtherWork = isOfOtherWork
        self.isAnswered = isAnswered
    }

    /// The answer or failure. A status that means "later" is a failure, though the endpoint may accept it.
    func result(now: Date) -> Result<PulseResponse, PulseError> {
        guard case .success(let response) = answer, ReplayVerdict.meansLater(response.statusCode),
            let error = PulseError(validating: response, accepted: .successful, now: now)
        else { return answer }
        return .failure(error)
    }

    func verdict(now: Date) -> ReplayVerdict {
        if isOfOtherAccount { return .otherAccount }
        let verdict = ReplayVerdict(result(now: now), isAnswered: isAnswered, now: now)
        guard isUnsent || isOfOtherWork else { return verdict }
        switch verdict {
        case .unavailable(_, let seconds): return .unavailable(isVerdict: false, retryAfter: seconds)
        case .rejected: return isOfOtherWork ? .unavailable(isVerdict: false, retryAfter: 0) : .unsendable
        case .done, .unsendable, .offline, .otherAccount, .stopped: return verdict
        }
    }
}
