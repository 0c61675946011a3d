// SPDX-License-Identifier: MIT

import PulseCore

extension DownloadRun {
    /// Decides what a download requests, what it stores of the response, and when the file is complete. It has no
    /// clock, network or files of its own.
    struct StateMachine {
        enum Action {
            /// Send the request: for the bytes from that offset, with `If-Range`; at 0 for all of them, after the
            /// stored bytes are dropped. They are useless, and must not look valid after a crash.
            case send(from: Int64, condition: String?)
            /// Truncate the file to its first `offset` bytes and append the body. `attempt` grows when bytes are
            /// dropped.
            case append(from: Int64, attempt: Int)
            /// Wait for the policy's backoff before that retry, counted from 1, but at least for that many seconds. If
            /// the call's deadline comes first, fail with the error.
            case wait(retry: Int, atLeast: TimeInterval, after: PulseError)
            /// The file is complete: check its digest and put it in place.
            case finish
            case fail(PulseError, keepsPartial: Bool)
        }

        private let mayResume: Bool
        private let hasDigest: Bool
        private let maxAttemptsWithoutProgress: Int
        private let maxRetryAfter: TimeInterval

        /// The stored content, and the number of its bytes that are stored.
        private(set) var content = DownloadedContent()
        private(set) var length: Int64 = 0
        private(set) var isCoded = false
        /// Where the part of the current response ends.
        private var partEnd: Int64?
        /// Number of bytes of the current response that are already stored.
        private var overlap: Int64 = 0
        /// The metadata known of the content, even if its bytes were dropped.
        private var known = DownloadedContent()
        /// The length that the body of the current response must have, although the response does not announce one.
        private var expected: Int64?
        private var asked: Int64 = 0
        /// The largest number of bytes stored so far: a server that keeps starting over makes no progress.
        private var highest: Int64 = 0
        private var hasReceived = false
        /// Whether the current response has exceeded ``highest``.
        private var hasProgressed = false
        private(set) var attempt = 1
        /// Why stored bytes were dropped since the last ``takeRestartReason()``.
        private var restartReason: String?
        /// Whether a body was stored, and so its progress reported.
        private var hasBegun = false
        private var attemptsWithoutProgress = 0
        private var misfits = 0

        /// - Parameter mayResume: whether the request may be sent again, for a part of the content.
        /// - Parameter maxRetryAfter: the maximum wait in seconds that a server may request.
        init(
            mayResume: Bool, hasDigest: Bool, maxAttemptsWithoutProgress: Int, maxRetryAfter: TimeInterval = 60
        ) {
            self.mayResume = mayResume
            self.hasDigest = hasDigest
            self.maxAttemptsWithoutProgress = maxAttemptsWithoutProgress
            self.maxRetryAfter = maxRetryAfter
        }

        mutating func takeRestartReason() -> String? {
            defer { restartReason = nil }
            return restartReason
        }

        /// Whether a later download can resume from the stored bytes.
        var isResumable: Bool {
            mayResume && length > 0 && !isCoded && (hasDigest || content.condition != nil)
        }

        /// Starts the download, from its stored bytes if they can be resumed.
        mutating func start(_ stored: DownloadedContent?, length: Int64) -> Action {
            if let stored {
                (content, self.length) = (stored, length)
                if !isResumable { (content, self.length) = (DownloadedContent(), 0) }
                highest = self.length
                known = content
            }
            return send()
        }

        private mutating func send() -> Action {
            asked = isResumable ? length : 0
            hasProgressed = false
            (partEnd, overlap, expected) = (nil, 0, nil)
            return .send(from: asked, condition: asked > 0 ? content.condition : nil)
        }

        /// Handles a response with any status.
        ///
        /// - Parameter isForeign: whether it is for another account than the stored bytes.
        /// - Parameter error: the error for a status that a download does not handle.
        mutating func received(
            _ head: DownloadHead, isForeign: Bool = false, error: @autoclosure () -> PulseError,
            retryAfter: TimeInterval? = nil
        ) -> Action {
            switch head.status {
            case 200..<300 where head.isPart:
                if isForeign, asked > 0 { return restart(Self.foreign) }
                guard !head.isCoded, let range = head.range, range.lowerBound <= asked, range.upperBound > asked,
                    asked == 0 ? !known.excludes(head.content) : content.fits(head.content)
                else { return misfit() }
                if asked == 0 {
                    begin(head)
                } else {
                    content.add(head.content)
                }
                known = content
                (partEnd, overlap) = (range.upperBound, length - range.lowerBound)
                (hasBegun, hasReceived) = (true, true)
                return .append(from: length, attempt: attempt)
            case 416 where asked > 0:
                if isForeign { return restart(Self.foreign) }
                guard content.hasEnd(head.content, at: length) else { return misfit() }
                return .finish
            case 200..<300:
                guard isForeign || !known.excludes(head.content) else { return refuse() }
                begin(head)
                if known.isSame(as: content), content.total == nil, !isCoded {
                    // Only its end shows whether this is the whole content. Until then no other part can continue it.
                    expected = known.total
                    (content.entityTag, content.lastModified) = (nil, nil)
                } else {
                    known = content
                }
                partEnd = content.total
                (hasBegun, hasReceived) = (true, true)
                return .append(from: 0, attempt: attempt)
            default:
                return failed(error(), retryAfter: retryAfter)
            }
        }

        /// Begins to store a response that starts at the first byte of the content.
        private mutating func begin(_ head: DownloadHead) {
            // The listener knows another total for this attempt.
            if hasBegun, length == 0, content.total != head.content.total { attempt += 1 }
            dropAll(asked > 0 ? "the server sends the whole content" : "what was stored cannot be resumed")
            (content, isCoded) = (head.content, head.isCoded)
        }

        /// Records received bytes of the body. Returns how many trailing ones to store; nil if they exceed the
        /// announced part.
        mutating func receive(_ count: Int64) -> Int64? {
            let known = min(count, overlap)
            overlap -= known
            let new = count - known
            guard new <= (partEnd ?? .max) - length else { return nil }
            length += new
            if length > highest { (highest, attemptsWithoutProgress, hasProgressed) = (length, 0, true) }
            return new
        }

        /// Handles a body with more bytes than were announced.
        mutating func receivedTooMuch() -> Action { misfit() }

        /// Handles the regular end of the body.
        mutating func ended() -> Action {
            guard expected == nil || expected == length else {
                return .fail(TransferFailure.unexpectedContent.asPulseError, keepsPartial: false)
            }
            guard !isCoded else { return .finish }
            guard let total = content.total else {
                // A part of a content of unknown length may be followed by others.
                return partEnd == nil ? .finish : goOn(after: shortBody)
            }
            return length == total ? .finish : goOn(after: shortBody)
        }

        /// Handles the failure of the request or of its body.
        ///
        /// - Parameter retryAfter: the delay in seconds that the server requests.
        mutating func failed(_ error: PulseError, retryAfter: TimeInterval? = nil) -> Action {
            let status = error.statusCode
            let keepsPartial = status != 404 && status != 410
            // The connection was lost after the last byte.
            if hasReceived, !isCoded, length == content.total, isPassing(error) { return .finish }
            // Until a body has begun, the failure of the chain is final: it has already retried by its policy.
            guard hasReceived, keepsPartial, isPassing(error) else {
                return .fail(error, keepsPartial: keepsPartial)
            }
            return goOn(after: error, atLeast: retryAfter.flatMap { $0 < .infinity ? $0 : nil } ?? 0)
        }

        /// Continues after a wait.
        mutating func waited() -> Action { send() }

        private mutating func goOn(after error: PulseError, atLeast delay: TimeInterval = 0) -> Action {
            guard mayResume else { return .fail(error, keepsPartial: false) }
            if hasProgressed { return send() }
            attemptsWithoutProgress += 1
            guard attemptsWithoutProgress < maxAttemptsWithoutProgress, delay <= maxRetryAfter else {
                return .fail(error, keepsPartial: true)
            }
            return .wait(retry: attemptsWithoutProgress, atLeast: delay, after: error)
        }

        /// Handles a response that does not match the stored bytes: the download starts again, once.
        private mutating func misfit() -> Action {
            misfits += 1
            guard mayResume, misfits < 2 else {
                return .fail(TransferFailure.contentKeepsChanging.asPulseError, keepsPartial: false)
            }
            return restart("the server's response does not fit what was stored")
        }

        /// Refuses a response with something other than the content. The stored bytes are kept for another download,
        /// once: after that, the content may be a new one.
        private mutating func refuse() -> Action {
            let keepsPartial = content.wasDoubted != true
            content.wasDoubted = true
            return .fail(TransferFailure.unexpectedContent.asPulseError, keepsPartial: keepsPartial)
        }

        private static let foreign = "what was stored was sent to another account"

        private mutating func restart(_ reason: String) -> Action {
            dropAll(reason)
            return send()
        }

        private mutating func dropAll(_ reason: String) {
            if length > 0 {
                if hasBegun { attempt += 1 }
                restartReason = reason
            }
            (content, length, isCoded) = (DownloadedContent(), 0, false)
        }

        private var shortBody: PulseError { TransferFailure.wrongLength(length).asPulseError }

        /// Whether a later request may succeed although this one failed.
        private func isPassing(_ error: PulseError) -> Bool {
            switch error {
            case .retryExhausted(let last, _): isPassing(last)
            case .circuitOpen, .rateLimited: true
            case .transport where error.isPoolTimeout: true
            case .http: (error.statusCode ?? 0) >= 500
            default: RetryPolicy.default.counts(error)
            }
        }
    }
}
