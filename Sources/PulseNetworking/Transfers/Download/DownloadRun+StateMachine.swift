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
        /// The bytes of the current response that are stored already.
        private var overlap: Int64 = 0
        /// What is known of the content, though its bytes may have been dropped.
        private var known = DownloadedContent()
        /// The length that the body of the current response must have, though it does not announce one.
        private var expected: Int64?
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
                known = content
            }
            return send()
        }

        private mutating func send() -> Action {
            asked = isResumable ? length : 0
            isFruitful = false
            (partEnd, overlap, expected) = (nil, 0, nil)
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
                    // Only its end shows whether it is all of the content. Until then it is no base for another part.
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

        /// A response brings the content from its first byte.
        private mutating func begin(_ head: DownloadHead) {
            // The listener knows the total of the attempt.
            if hasBegun, length == 0, content.total != head.content.total { attempt += 1 }
            dropAll(asked > 0 ? "the server sends the whole content" : "what was stored cannot be resumed")
            (content, isCoded) = (head.content, head.isCoded)
        }

        /// Bytes of the body have come. Returns how many of them, at their end, are to be stored; nil if they exceed
        /// the part that was announced.
        mutating func receive(_ count: Int) -> Int? {
            let known = min(Int64(count), overlap)
            overlap -= known
            let new = Int64(count) - known
            guard new <= (partEnd ?? .max) - length else { return nil }
            length += new
            if length > highest { (highest, fruitless, isFruitful) = (length, 0, true) }
            return Int(new)
        }

        /// The body has more bytes than were announced.
        mutating func receivedTooMuch() -> Action { misfit() }

        /// The body has ended as it should.
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

        /// Something else came in place of the content. What is stored stays for another download, once: then the
        /// content may be a new one.
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
