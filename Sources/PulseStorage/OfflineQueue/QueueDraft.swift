// SPDX-License-Identifier: MIT

package import PulseCore

/// A request that is about to be queued.
package struct QueueDraft: Sendable {
    /// The request as built, without headers of plugins and without secrets.
    package var request: URLRequest
    /// The names of the default headers that were removed from the request. The sender sets them again.
    package var droppedDefaults: [String]
    package var body: PluginContext.Body
    package var options: RequestOptions
    package var key: String?
    package var account: String?

    package init(
        request: URLRequest, droppedDefaults: [String] = [], body: PluginContext.Body, options: RequestOptions,
        key: String?,
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

/// An entry to send.
package struct QueuedSend: Sendable {
    package let id: UUID
    package let request: URLRequest
    package let droppedDefaults: [String]
    package let body: PluginContext.Body
    package let options: RequestOptions
    package let key: String?
    package let account: String?
}

/// The outcome of a replay.
package struct ReplayOutcome: Sendable {
    /// Whether the request was not sent because another account was logged in when it was queued.
    package let isOfOtherAccount: Bool
    private let rawResult: Result<PulseResponse, PulseError>
    private let isUnsent: Bool
    private let isOfOtherWork: Bool
    private let status: Int?

    /// - Parameters:
    ///   - isUnsent: whether nothing was sent, so that the failure is not a server's.
    ///   - isOfOtherWork: whether the failure is that of work that the replay waited for.
    ///   - status: of the last response. A failure without a status may then be a plugin's judgment of that response.
    package init(
        result: Result<PulseResponse, PulseError>, isOfOtherAccount: Bool = false, isUnsent: Bool = false,
        isOfOtherWork: Bool = false, status: Int? = nil
    ) {
        rawResult = result
        self.isOfOtherAccount = isOfOtherAccount
        self.isUnsent = isUnsent
        self.isOfOtherWork = isOfOtherWork
        self.status = status
    }

    /// The response or failure. A status that means "later" is a failure, even if the endpoint accepts it.
    func result(now: Date) -> Result<PulseResponse, PulseError> {
        guard case .success(let response) = rawResult, ReplayVerdict.meansLater(response.statusCode),
            let error = PulseError(validating: response, accepted: .successful, now: now)
        else { return rawResult }
        return .failure(error)
    }

    func verdict(now: Date) -> ReplayVerdict {
        // Final: a request that is missing or damaged in the journal does not recover.
        if case .failure(.custom(let failure as JournalFailure)) = rawResult,
            failure == .damagedRecord || failure == .missing
        {
            return .rejected
        }
        if isOfOtherAccount { return .otherAccount }
        let verdict = ReplayVerdict(result(now: now), status: status, now: now)
        guard isUnsent || isOfOtherWork else { return verdict }
        switch verdict {
        case .unavailable(_, let seconds): return .unavailable(isVerdict: false, retryAfter: seconds)
        case .rejected, .done: return isOfOtherWork ? .unavailable(isVerdict: false, retryAfter: 0) : .unsendable
        case .unsendable, .offline, .otherAccount, .stopped: return verdict
        }
    }
}
