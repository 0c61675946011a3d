// SPDX-License-Identifier: MIT

import PulseCore

/// One task of a session, as the delegate sees it: the received parts and the waiting caller.
struct SessionExchange: Sendable {
    /// The target of a response body.
    enum Sink: Sendable {
        case memory(limit: Int)
        /// A file that Foundation's download task writes.
        case download
        /// A 2xx body goes to a reader, which can apply backpressure.
        case pipe(BytePipe)
    }

    /// The maximum size of an error's body that a download task may write: it delivers nothing before its end.
    static let errorFileLimit: Int64 = 1 << 20

    let task: URLSessionTask
    let request: TransportRequest
    /// Of the task's session.
    let credentials: SessionCredentials
    let proxy: SessionProxy
    let sink: Sink
    let progress: (@Sendable (TransferProgress) -> Void)?
    /// Nil after the head of a streamed response is delivered.
    var continuation: CheckedContinuation<PulseResponse, any Error>?
    var response: HTTPURLResponse?
    var data = Data()
    var isTruncated = false
    /// The file of a download task, moved to where Foundation does not remove it.
    var file: URL?
    /// Feeds a streamed request body.
    var upload: SessionUpload?
    /// Whether to report upload progress, which the session measures.
    var reportsUpload = false
    /// The timings of the last transaction. They arrive at its end, long after the reader of a stream has the response.
    /// Only Apple's Foundation measures them.
    let timings: Locked<PulseResponse.Timings?>
    /// Whether a transaction has begun to send, from the same measurement.
    var hasSent = false
    /// Whether the last transaction reused a connection, from the same measurement.
    var isReused = false

    // For a streamed body: the bytes that the pipe did not accept, and the end after them.
    var pending = Data()
    var isSuspended = false
    var end: Result<Void, any Error>?

    init(
        _ task: URLSessionTask, _ request: TransportRequest, _ credentials: SessionCredentials, _ proxy: SessionProxy,
        _ sink: Sink,
        _ timings: Locked<PulseResponse.Timings?>, _ progress: (@Sendable (TransferProgress) -> Void)?,
        _ continuation: CheckedContinuation<PulseResponse, any Error>
    ) {
        self.task = task
        self.request = request
        self.credentials = credentials
        self.proxy = proxy
        self.sink = sink
        self.timings = timings
        self.progress = progress
        self.continuation = continuation
    }

    /// The reaction to received bytes.
    enum Step {
        case proceed
        /// Move the bytes into the pipe, as far as it accepts them.
        case flush
        /// Enough of an error's body has arrived.
        case finish
        case fail(any Error)
    }

    mutating func receive(_ bytes: Data) -> Step {
        switch sink {
        case .pipe where continuation == nil:
            pending.append(bytes)
            return .flush
        case .memory(let limit):
            // Appends in place: a copy for each piece would take quadratic time.
            data.append(bytes)
            return data.count > limit ? .fail(failure(ofBody: PulseError.responseTooLarge(limit: limit))) : .proceed
        case .pipe, .download:
            data.append(bytes.prefix(PulseResponse.errorBodyLimit - data.count + 1))
            guard data.count > PulseResponse.errorBodyLimit else { return .proceed }
            data.removeLast()
            isTruncated = true
            return .finish
        }
    }

    /// The limit that the declared body length exceeds.
    func exceededLimit(_ response: HTTPURLResponse) -> Int? {
        guard case .memory(let limit) = sink, !task.isHead, response.declares(moreThan: limit) else { return nil }
        return limit
    }

    func meaning(of error: any Error) -> any Error {
        let meaning = TransportFailure.meaning(
            of: error, hasSent: hasSent, hasResponse: response != nil, isReused: isReused)
        return failure(ofBody: meaning)
    }

    /// The same failure with the head of the response, if that has arrived.
    func failure(ofBody error: any Error) -> any Error {
        guard let response, let request = task.originalRequest else { return error }
        return TransportFailure(ofBody: error, of: PulseResponse(httpResponse: response, request: request)) ?? error
    }

    /// Nil before the head has arrived.
    var pulseResponse: PulseResponse? {
        guard let response = response ?? task.response as? HTTPURLResponse, let request = task.originalRequest else {
            return nil
        }
        var pulseResponse = PulseResponse(data: data, httpResponse: response, request: request)
        if !task.isHead {
            let isCoded = pulseResponse.headers.contains("Content-Encoding")
            pulseResponse.headers.removeDecodedContentFields()
            pulseResponse.isDecoded = isCoded && !pulseResponse.headers.contains("Content-Encoding")
        }
        pulseResponse.headers.separateCookies()
        if isTruncated { pulseResponse.isTruncated = true }
        if let file { pulseResponse.body = .file(file) }
        pulseResponse.timings = timings.withLock { $0 }
        return pulseResponse
    }
}

extension HTTPURLResponse {
    /// Whether the head declares more bytes than the limit. False for a coded body, whose length changes with decoding,
    /// and for a response without a body.
    fileprivate func declares(moreThan limit: Int) -> Bool {
        statusCode != 304 && value(forHTTPHeaderField: "Content-Encoding") == nil
            && expectedContentLength > Int64(clamping: limit)
    }
}

extension URLSessionTask {
    var isHead: Bool { originalRequest?.httpMethod == "HEAD" }
}
