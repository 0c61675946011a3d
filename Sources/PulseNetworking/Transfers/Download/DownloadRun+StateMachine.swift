// SPDX-License-Identifier: MIT

import PulseCore

extension DownloadRun {
    /// Decides what a download asks the server for, what of the response it stores, and when the file is whole. Without
    /// time, network and files of its own.
    struct StateMachine {
        enum Action {
            /// Send the request: for the bytes from there, with `If-Range`; if that is 0, for all of them, after what
            /// is stored was dropped: it is of no use, and a crash must not leave it as if it was.
            case send(from: Int64, condition: String?)
            /// Cut the file to its first `offset` bytes and append the body. The attempt grows where bytes are dropped.
            case append(from: Int64, attempt: Int)
            /// Wait for the policy's backoff before that retry, counted from 1, but at least for that many seconds. If
            /// that is too long for the call, it fails with the error.
            case wait(retry: Int, atLeast: TimeInterval, after: PulseError)
            /// The file is whole: check its digest and put it in place.
            case finish
            case fail(PulseError, keepsPartial: Bool)
        }

        private let mayResume: Bool
        private let hasDigest: Bool
        private let maximumFruitlessAttempts: Int
        private let maximumRetryAfter: TimeInterval

        /// The stored content, and the number of its bytes that are stored.
        private(set) var content = DownloadedContent()
        private(set) var length: Int64 = 0
        private(set) var isCoded = false
        /// Where the part of the current response ends.
        private var partEnd: Int64?
        private var asked: Int64 = 0
        /// The most bytes that were stored at any time: a server that starts over and over makes no progress.
        private var highest: Int64 = 0
        private var hasReceived = false
        /// Whether the current response has brought bytes beyond those.
        private var isFruitful = false
        private(set) var attempt = 1
        /// Why stored bytes were dropped since ``takeRestartReason()``.
        private var restartReason: String?
        /// Whether a body has been stored, so that its progress was told.
        private var hasBegun = false
        private var fruitless = 0
        private var misfits = 0

        /// - Parameter mayResume: whether the request may be sent again, for a part of the content.
        /// - Parameter maximumRetryAfter: the most seconds that a server may ask to wait.
        init(
            mayResume: Bool, hasDigest: Bool, maximumFruitlessAttempts: Int, maximumRetryAfter: TimeInterval = 60
        ) {
            self.mayResume = mayResume
            self.hasDigest = hasDigest
            self.maximumFruitlessAttempts = maximumFruitlessAttempts
            self.maximumRetryAfter = maximumRetryAfter
        }

        mutating func takeRestartReason() -> String? {
            defer { restartReason = nil }
            return restartReason
        }

        /// Whether a later download may go on with what is stored.
        var isResumable: Bool {
            mayResume && length > 0 && !isCoded && (hasDigest || content.condition != nil)
        }

        /// The download begins, with what is stored of it.
        mutating func start(_ stored: DownloadedContent?, length: Int64) -> Action {
            if let stored {
                (content, self.length) = (stored, length)
                if !isResumable { (content, self.length) = (DownloadedContent(), 0) }
                highest = self.length
            }
            return send()
        }

        private mutating func send() -> Action {
            asked = isResumable ? length : 0
            isFruitful = false
            partEnd = nil
            return .send(from: asked, condition: asked > 0 ? content.condition : nil)
        }

        /// A response has come. Its status may be any.
        ///
        /// - Parameter isForeign: whether it is for another account than the stored bytes.
        /// - Parameter error: what its status means if it is none of a download.
        mutating func received(
            _ head: DownloadHead, isForeign: Bool = false, error: @autoclosure () -> PulseError,
            retryAfter: TimeInterval? = nil
        ) -> Action {
            switch head.status {
            case 206:
                if isForeign, asked > 0 { return restart(Self.foreign) }
                guard asked > 0, !head.isCoded, let range = head.range, range.lowerBound == length,
                    content.fits(head.content)
                else { return misfit() }
                content.add(head.content)
                partEnd = range.upperBound
                (hasBegun, hasReceived) = (true, true)
                return .append(from: length, attempt: attempt)
            case 416 where asked > 0:
                if isForeign { return restart(Self.foreign) }
                guard head.content.total == length, content.hasEnd(head.content) else { return misfit() }
                return .finish
            case 200..<300:
                // The listener knows the total of the attempt.
                if hasBegun, length == 0, content.total != head.content.total { attempt += 1 }
                dropAll(asked > 0 ? "the server sends the whole content" : "what was stored cannot be resumed")
                (content, isCoded) = (head.content, head.isCoded)
                (hasBegun, hasReceived) = (true, true)
                partEnd = content.total
                return .append(from: 0, attempt: attempt)
            default:
                return failed(error(), retryAfter: retryAfter)
            }
        }

        /// Bytes of the body are about to be stored; false if they exceed the part that was announced.
        mutating func receive(_ count: Int) -> Bool {
            guard Int64(count) <= (partEnd ?? .max) - length else { return false }
            length += Int64(count)
            if length > highest { (highest, fruitless, isFruitful) = (length, 0, true) }
            return true
        }

        /// The body has more bytes than were announced.
        mutating func receivedTooMuch() -> Action { misfit() }

        /// The body has ended as it should.
        mutating func ended() -> Action {
            guard !isCoded else { return .finish }
            guard let total = content.total else {
                // A part of a content of unknown length may be followed by others.
                return partEnd == nil ? .finish : goOn(after: shortBody)
            }
            return length == total ? .finish : goOn(after: shortBody)
        }

        /// The request has failed, or its body has.
        ///
        /// - Parameter retryAfter: the seconds that the server asks for.
        mutating func failed(_ error: PulseError, retryAfter: TimeInterval? = nil) -> Action {
            let status = error.statusCode
            let keepsPartial = status != 404 && status != 410
            // Lost behind the last byte.
            if hasReceived, !isCoded, length == content.total, isPassing(error) { return .finish }
            // Until a body has begun, the chain's verdict stands: it has retried as its policy says.
            guard hasReceived, keepsPartial, isPassing(error) else {
                return .fail(error, keepsPartial: keepsPartial)
            }
            return goOn(after: error, atLeast: retryAfter.flatMap { $0 < .infinity ? $0 : nil } ?? 0)
        }

        /// The wait is over.
        mutating func waited() -> Action { send() }

        private mutating func goOn(after error: PulseError, atLeast delay: TimeInterval = 0) -> Action {
            guard mayResume else { return .fail(error, keepsPartial: false) }
            if isFruitful { return send() }
            fruitless += 1
            guard fruitless < maximumFruitlessAttempts, delay <= maximumRetryAfter else {
                return .fail(error, keepsPartial: true)
            }
            return .wait(retry: fruitless, atLeast: delay, after: error)
        }

        /// What came does not belong to what is stored: once, the download starts again.
        private mutating func misfit() -> Action {
            misfits += 1
            guard mayResume, misfits < 2 else {
                return .fail(TransferFailure.contentKeepsChanging.asPulseError, keepsPartial: false)
            }
            return restart("the server's response does not fit what was stored")
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
            case .http: (error.statusCode ?? 0) >= 500
            default: RetryPolicy.default.counts(error)
            }
        }
    }
}
