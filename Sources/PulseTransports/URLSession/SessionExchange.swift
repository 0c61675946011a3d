// SPDX-License-Identifier: MIT

import PulseCore

/// One task of a session, as the delegate sees it: what has come, and who waits for it.
struct SessionExchange: Sendable {
    /// Where the body of an answer goes.
    enum Sink: Sendable {
        case memory(limit: Int)
        /// Foundation's download task writes a file of its own.
        case download
        /// A body of 2xx goes to a reader, which can hold the server back.
        case pipe(BytePipe)
    }

    /// How much of an error's body a stream or download hands over.
    static let errorBodyLimit = 64 << 10
    /// How much of an error's body a download task may write: it hands over nothing before all is there.
    static let errorFileLimit: Int64 = 1 << 20

    let task: URLSessionTask
    let sink: Sink
    let progress: (@Sendable (TransferProgress) -> Void)?
    /// Nil once the head of a streamed answer was handed over.
    var continuation: CheckedContinuation<PulseResponse, any Error>?
    var response: HTTPURLResponse?
    var data = Data()
    var isTruncated = false
    /// The file of a download task, moved to where Foundation does not remove it.
    var file: URL?
    /// Feeds a body that is a stream.
    var upload: SessionUpload?
    /// Whether progress is that of the upload, which the session reports.
    var reportsUpload = false
    /// The timings of its last transaction, which come at its end, when the reader of a stream has its answer long
    /// since; only Apple's Foundation measures them.
    let timings: Locked<TransferTimings?>
    /// Whether a transaction has begun to send, by the same measurement.
    var hasSent = false
    /// Whether its last transaction had a connection that was used before, by the same measurement.
    var isReused = false

    // Of a streamed body: what the pipe did not take, and the end behind it.
    var pending = Data()
    var isSuspended = false
    var end: Result<Void, any Error>?

    init(
        _ task: URLSessionTask, _ sink: Sink, _ timings: Locked<TransferTimings?>,
        _ progress: (@Sendable (TransferProgress) -> Void)?,
        _ continuation: CheckedContinuation<PulseResponse, any Error>
    ) {
        self.task = task
        self.sink = sink
        self.timings = timings
        self.progress = progress
        self.continuation = continuation
    }

    /// What to do about bytes that have come.
    enum Step {
        case proceed
        /// Move them into the pipe, as far as it takes them.
        case flush
        /// As much of an error's body as is wanted is there.
        case finish
        case fail(PulseError)
    }

    mutating func receive(_ bytes: Data) -> Step {
        switch sink {
        case .pipe where continuation == nil:
            pending.append(bytes)
            return .flush
        case .memory(let limit):
            // In place, since a copy for each piece would cost the square of the length.
            data.append(bytes)
            return data.count > limit ? .fail(.responseTooLarge(limit: limit)) : .proceed
        case .pipe, .download:
            data.append(bytes.prefix(Self.errorBodyLimit - data.count + 1))
            guard data.count > Self.errorBodyLimit else { return .proceed }
            data.removeLast()
            isTruncated = true
            return .finish
        }
    }

    /// The limit that the body will exceed, by what its head says.
    func exceededLimit(_ response: HTTPURLResponse) -> Int? {
        guard case .memory(let limit) = sink, !task.isHead, response.claims(moreThan: limit) else { return nil }
        return limit
    }

    func meaning(of error: any Error) -> any Error {
        let meaning = TransportFailure.meaning(
            of: error, hasSent: hasSent, hasAnswer: response != nil, isReused: isReused)
        guard var failure = meaning as? TransportFailure, failure.code == .cannotDecodeContentData,
            let response, let request = task.originalRequest
        else { return meaning }
        failure.response = PulseResponse(httpResponse: response, request: request)
        return failure
    }

    /// Nil without a head.
    var answer: PulseResponse? {
        guard let response = response ?? task.response as? HTTPURLResponse, let request = task.originalRequest else {
            return nil
        }
        var answer = PulseResponse(data: data, httpResponse: response, request: request)
        if !task.isHead { answer.headers.removeDecodedContentFields() }
        answer.headers.separateCookies()
        if isTruncated { answer.isTruncated = true }
        answer.file = file
        answer.timings = timings.withLock { $0 }
        return answer
    }
}

extension HTTPURLResponse {
    /// Whether the head announces more bytes than that. False for a coded body, whose length changes with decoding, and
    /// where there is no body.
    fileprivate func claims(moreThan limit: Int) -> Bool {
        statusCode != 304 && value(forHTTPHeaderField: "Content-Encoding") == nil
            && expectedContentLength > Int64(clamping: limit)
    }
}

extension TransferTimings {
    /// The measurements of one transaction, from its start.
    init(_ metrics: URLSessionTaskTransactionMetrics) {
        self.init()
        func offset(_ date: Date?) -> TimeInterval? {
            guard let date, let start = metrics.fetchStartDate else { return nil }
            return max(0, date.timeIntervalSince(start))
        }
        nameResolved = offset(metrics.domainLookupEndDate)
        // For a TLS connection this is the end of the handshake.
        connected = offset(metrics.secureConnectionStartDate ?? metrics.connectEndDate)
        secured = offset(metrics.secureConnectionEndDate)
        requestSent = offset(metrics.requestEndDate)
        firstByte = offset(metrics.responseStartDate)
        lastByte = offset(metrics.responseEndDate)
        isConnectionReused = metrics.isReusedConnection
        networkProtocol = metrics.networkProtocolName
        remoteAddress = metrics.remoteAddress
        bytesReceived = metrics.countOfResponseBodyBytesReceived
        bytesDecoded = metrics.countOfResponseBodyBytesAfterDecoding
    }
}

extension URLSessionTask {
    var isHead: Bool { originalRequest?.httpMethod == "HEAD" }
}
