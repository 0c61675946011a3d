// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// Collects the responses of a session's tasks. One delegate serves all sessions of a transport.
final class SessionDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    private struct State {
        var exchanges: [ObjectIdentifier: SessionExchange] = [:]
        /// The uploads of incomplete bodies, until their tasks complete.
        var aborted: [ObjectIdentifier: SessionUpload] = [:]
        /// The server checks of tasks that have ended for their callers, until they complete: others may wait for a
        /// connection that such a task requested.
        var checks: [ObjectIdentifier: Check] = [:]
        var isShutDown = false
    }

    private typealias Check = (request: TransportRequest, credentials: SessionCredentials)

    /// Nil where challenges have no certificates.
    let security: SessionSecurity?
    private let state = Locked(State())
    /// Foundation on Linux cancels by waiting for its reading queue, which a flood from the server keeps busy for
    /// seconds. Neither a caller nor the delegate's queue, where the data would accumulate, may wait for that.
    private let cancellations = DispatchQueue(label: "PulseNetworking.URLSession.cancellations")
    private let evaluations = DispatchQueue(label: "PulseNetworking.URLSession.evaluations", attributes: .concurrent)

    init(_ security: SessionSecurity? = .system) {
        self.security = security
    }

    /// Runs a task to its end, or to the head of a response whose body goes to a pipe. Cancelling ends the wait at
    /// once, no matter when the session reports the end.
    ///
    /// - Parameter credentials: of the task's session.
    /// - Parameter timings: receives the measurements before the end of the response's body.
    func run(
        _ task: URLSessionTask, for request: TransportRequest, _ credentials: SessionCredentials,
        _ proxy: SessionProxy = .system, into sink: SessionExchange.Sink,
        timings: Locked<PulseResponse.Timings?> = Locked(nil), progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> PulseResponse {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                var exchange = SessionExchange(
                    task, request, credentials, proxy, sink, timings, progress, continuation)
                switch request.body {
                case .none: break
                case .bytes, .file: exchange.reportsUpload = true
                case .stream(let stream):
                    exchange.upload = SessionUpload(stream, progress) { [weak self] error in
                        self?.end(task, with: .failure(error))
                    }
                }
                let isShutDown = state.withLock { [exchange] state in
                    state.exchanges[ObjectIdentifier(task)] = exchange
                    return state.isShutDown
                }
                // A cancellation or shutdown before this point found no exchange to end.
                guard !Task.isCancelled, !isShutDown else { return end(task, with: .failure(CancellationError())) }
                task.resume()
            }
        } onCancel: {
            cancel(task)
        }
    }

    func cancel(_ task: URLSessionTask) {
        end(task, with: .failure(CancellationError()))
    }

    var isShutDown: Bool {
        state.withLock { $0.isShutDown }
    }

    /// Ends all exchanges, and every later one before it starts.
    func shutdown() {
        let exchanges = state.withLock { state in
            state.isShutDown = true
            return Array(state.exchanges.values)
        }
        for exchange in exchanges {
            end(exchange.task, with: .failure(CancellationError()))
        }
    }

    /// Invalidates a session without running tasks, shortly after this call.
    func dispose(_ session: URLSession) {
        // Its tasks have ended or are cancelled, which the session may still process: swift-corelibs-foundation's
        // `invalidateAndCancel()` reads the list of them without its lock, and crashes if it changes meanwhile.
        cancellations.async { session.finishTasksAndInvalidate() }
    }

    /// Delivers the outcome and stops the task, once. Later reports of the session find no exchange.
    private func end(_ task: URLSessionTask, with result: Result<PulseResponse, any Error>) {
        let exchange = state.withLock { state in
            let exchange = state.exchanges.removeValue(forKey: ObjectIdentifier(task))
            // The session still has to report the end of the task.
            if let exchange, exchange.end == nil {
                state.aborted[ObjectIdentifier(task)] = exchange.upload
                if security != nil { state.checks[ObjectIdentifier(task)] = (exchange.request, exchange.credentials) }
            }
            return exchange
        }
        guard let exchange else { return }
        exchange.upload?.end()
        if let continuation = exchange.continuation {
            continuation.resume(with: result)
        } else if case .pipe(let pipe) = exchange.sink, case .failure(let error) = result {
            pipe.finish(error)
        }
        switch result {
        case .success where !exchange.isTruncated: break
        case .success, .failure: cancellations.async { task.cancel() }
        }
        // The file was moved out of Foundation's reach, so no other code removes it.
        if case .failure = result, let file = exchange.file { try? FileManager.default.removeItem(at: file) }
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The client follows redirects itself; each hop passes its plugins.
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let response = response as? HTTPURLResponse
        let exchange = state.withLock { state -> SessionExchange? in
            state.exchanges[ObjectIdentifier(dataTask)]?.response = response
            return state.exchanges[ObjectIdentifier(dataTask)]
        }
        completionHandler(.allow)
        guard let response, let exchange else { return }
        do {
            try exchange.request.requireCheck(by: exchange.credentials)
        } catch {
            return end(dataTask, with: .failure(error))
        }
        if !response.hasValidLength {
            end(dataTask, with: .failure(TransportFailure(code: .badServerResponse, phase: .responseStarted)))
        } else if let limit = exchange.exceededLimit(response) {
            end(dataTask, with: .failure(exchange.failure(ofBody: PulseError.responseTooLarge(limit: limit))))
        } else if case .pipe = exchange.sink, (200..<300).contains(response.statusCode) {
            handOver(dataTask)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let step = state.withLock { $0.exchanges[ObjectIdentifier(dataTask)]?.receive(data) }
        switch step {
        case .flush: flush(dataTask)
        case .finish: finish(dataTask)
        case .fail(let error): end(dataTask, with: .failure(error))
        case .proceed, nil: break
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // The client handles credentials: the 401 is the response, and it is complete by now.
        if URLSessionTransport.withholdsChallenges {
            finish(task)
            cancellations.async { completionHandler(.cancelAuthenticationChallenge, nil) }
        } else {
            // An evaluation may wait for a revocation server.
            evaluations.async {
                let (disposition, credential) = self.reaction(to: challenge, of: task)
                completionHandler(disposition, credential)
            }
        }
    }

    /// The reaction to a challenge. Ends the task if its server is not trusted.
    func reaction(
        to challenge: URLAuthenticationChallenge, of task: URLSessionTask
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        let check = state.withLock { state in
            state.exchanges[ObjectIdentifier(task)].map { ($0.request, $0.credentials) }
                ?? state.checks[ObjectIdentifier(task)]
        }
        guard let check else { return (.cancelAuthenticationChallenge, nil) }
        let (request, credentials) = (check.request, check.credentials)
        switch SessionChallenge(challenge).reaction(for: request) {
        case .rejectProtectionSpace: return (.rejectProtectionSpace, nil)
        case .performDefaultHandling: return (.performDefaultHandling, nil)
        case .continueWithoutCredential: return (.useCredential, nil)
        case .presentCertificate:
            let identity = credentials.certificates.identity
            return (identity == nil ? .rejectProtectionSpace : .useCredential, identity)
        case .sendProxyCredentials:
            let account = SessionProxy.Account(request.proxy)
            return (
                .useCredential,
                URLCredential(user: account.username, password: account.password, persistence: .forSession)
            )
        case .evaluateTrust:
            do {
                guard let security else { throw TransportFailure.untrusted(status: nil, underlying: nil) }
                return (.useCredential, try request.credential(for: challenge, credentials, security))
            } catch {
                end(task, with: .failure(error))
                return (.cancelAuthenticationChallenge, nil)
            }
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(state.withLock { $0.exchanges[ObjectIdentifier(task)]?.upload }?.open())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        guard let exchange = state.withLock({ $0.exchanges[ObjectIdentifier(task)] }), exchange.reportsUpload else {
            return
        }
        let total = totalBytesExpectedToSend > 0 ? totalBytesExpectedToSend : nil
        exchange.progress?(TransferProgress(completed: totalBytesSent, total: total))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        guard let last = metrics.transactionMetrics.last else { return }
        let hasSent = metrics.transactionMetrics.contains { $0.requestStartDate != nil }
        let exchange = state.withLock { state in
            state.exchanges[ObjectIdentifier(task)]?.hasSent = hasSent
            state.exchanges[ObjectIdentifier(task)]?.isReused = last.isReusedConnection
            return state.exchanges[ObjectIdentifier(task)]
        }
        guard let exchange else { return }
        let measured = SessionMetrics(last)
        exchange.timings.withLock { $0 = PulseResponse.Timings(measured) }
        if exchange.proxy.isContradicted(byProxy: measured.isProxied) {
            exchange.request.events?.emit(.warning("URLSession has used another route than the proxy settings name"))
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let id = ObjectIdentifier(task)
        _ = state.withLock { ($0.aborted.removeValue(forKey: id), $0.checks.removeValue(forKey: id)) }
        let result: Result<Void, any Error>? = state.withLock { state in
            guard let exchange = state.exchanges[ObjectIdentifier(task)] else { return nil }
            let result: Result<Void, any Error> =
                error.map { .failure(exchange.meaning(of: $0)) } ?? .success(())
            state.exchanges[ObjectIdentifier(task)]?.end = result
            return exchange.continuation == nil ? nil : result
        }
        switch result {
        case .success: finish(task)
        case .failure(let error): end(task, with: .failure(error))
        // The reader has the head, and gets the end after all pending bytes.
        case nil: flush(task)
        }
    }

    private func finish(_ task: URLSessionTask) {
        guard let exchange = state.withLock({ $0.exchanges[ObjectIdentifier(task)] }) else { return }
        let failure = TransportFailure(code: .badServerResponse, phase: .maybeSent)
        end(task, with: exchange.pulseResponse.map { .success($0) } ?? .failure(failure))
    }
}

// MARK: Streamed bodies

extension SessionDelegate {
    /// Passes the head to the caller; the body continues in the pipe.
    private func handOver(_ task: URLSessionTask) {
        let (continuation, pulseResponse) = state.withLock { state in
            let exchange = state.exchanges[ObjectIdentifier(task)]
            state.exchanges[ObjectIdentifier(task)]?.continuation = nil
            return (exchange?.continuation, exchange?.pulseResponse)
        }
        let failure = TransportFailure(code: .badServerResponse, phase: .responseStarted)
        continuation?.resume(with: pulseResponse.map { .success($0) } ?? .failure(failure))
    }

    /// Moves pending bytes into the pipe, and suspends the task while the pipe is full. Call it only on the session's
    /// queue, where calls do not overlap.
    func flush(_ task: URLSessionTask) {
        let id = ObjectIdentifier(task)
        guard let exchange = state.withLock({ $0.exchanges[id] }), exchange.continuation == nil,
            case .pipe(let pipe) = exchange.sink
        else { return }
        let isTaken = exchange.pending.isEmpty || exchange.pending.withUnsafeBytes { pipe.offer($0) }
        state.withLock { state in
            if isTaken { state.exchanges[id]?.pending = Data() }
            state.exchanges[id]?.isSuspended = !isTaken
        }
        guard isTaken else {
            if !exchange.isSuspended { URLSessionTransport.suspend(task) }
            return
        }
        if exchange.isSuspended { URLSessionTransport.resume(task) }
        guard let end = exchange.end else { return }
        _ = state.withLock { $0.exchanges.removeValue(forKey: id) }
        exchange.upload?.end()
        switch end {
        case .success: pipe.finish()
        case .failure(let error): pipe.finish(error)
        }
    }
}

// MARK: URLSessionDownloadDelegate

extension SessionDelegate {
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("PulseKit-\(UUID()).download")
        // Foundation removes the file after this returns. Within one directory, a move is a rename.
        let isMoved = (try? FileManager.default.moveItem(at: location, to: file)) != nil
        let isWanted = state.withLock { state in
            guard isMoved else { return true }
            state.exchanges[ObjectIdentifier(downloadTask)]?.file = file
            return state.exchanges[ObjectIdentifier(downloadTask)] != nil
        }
        if !isMoved {
            end(downloadTask, with: .failure(TransportFailure(code: .cannotWriteToFile, phase: .responseStarted)))
        } else if !isWanted {
            try? FileManager.default.removeItem(at: file)
        }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        guard let exchange = state.withLock({ $0.exchanges[ObjectIdentifier(downloadTask)] }) else { return }
        let isSuccess = (downloadTask.response as? HTTPURLResponse).map { (200..<300).contains($0.statusCode) } ?? true
        guard isSuccess else {
            // Only the beginning of an error's body is needed, but it is unavailable before the end.
            guard totalBytesWritten > SessionExchange.errorFileLimit else { return }
            state.withLock { $0.exchanges[ObjectIdentifier(downloadTask)]?.isTruncated = true }
            return finish(downloadTask)
        }
        let total = totalBytesExpectedToWrite > 0 ? totalBytesExpectedToWrite : nil
        exchange.progress?(TransferProgress(completed: totalBytesWritten, total: total))
    }
}
