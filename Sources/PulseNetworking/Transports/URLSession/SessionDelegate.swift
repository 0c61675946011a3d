// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// Collects the answers of a session's tasks. One delegate for all sessions of a transport.
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct Exchange {
        let task: URLSessionTask
        let limit: Int
        let continuation: CheckedContinuation<PulseResponse, any Error>
        var response: HTTPURLResponse?
        var data = Data()
    }

    private struct State {
        var exchanges: [ObjectIdentifier: Exchange] = [:]
        var isShutDown = false
    }

    private let state = Locked(State())
    /// Foundation on Linux cancels by waiting for the queue that reads, which a server that floods it keeps busy for
    /// seconds. Neither a caller may wait for that, nor the delegate's queue, where the data would pile up.
    private let cancellations = DispatchQueue(label: "PulseNetworking.URLSession.cancellations")

    /// Runs a task to its end. Cancelling ends the wait at once, whenever the session reports it.
    func run(_ task: URLSessionTask, limit: Int) async throws -> PulseResponse {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isShutDown = state.withLock { state in
                    state.exchanges[ObjectIdentifier(task)] = Exchange(
                        task: task, limit: limit, continuation: continuation)
                    return state.isShutDown
                }
                // A cancellation or shutdown before this point found no exchange to end.
                guard !Task.isCancelled, !isShutDown else { return end(task, with: .failure(CancellationError())) }
                task.resume()
            }
        } onCancel: {
            end(task, with: .failure(CancellationError()))
        }
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

    /// Ends a session that has no task under way, a moment later.
    func dispose(_ session: URLSession) {
        cancellations.async { session.invalidateAndCancel() }
    }

    /// Hands over the outcome and stops the task, once; what the session reports later finds no exchange.
    private func end(_ task: URLSessionTask, with result: Result<PulseResponse, any Error>) {
        let exchange = state.withLock { $0.exchanges.removeValue(forKey: ObjectIdentifier(task)) }
        guard let exchange else { return }
        exchange.continuation.resume(with: result)
        if case .failure = result { cancellations.async { task.cancel() } }
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The client follows, hop by hop through its chain.
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let limit = state.withLock { state -> Int? in
            state.exchanges[ObjectIdentifier(dataTask)]?.response = response as? HTTPURLResponse
            return state.exchanges[ObjectIdentifier(dataTask)]?.limit
        }
        completionHandler(.allow)
        if let response = response as? HTTPURLResponse, !response.hasValidLength {
            end(dataTask, with: .failure(TransportFailure(code: .badServerResponse, phase: .responseStarted)))
        } else if let limit, !dataTask.isHead, response.claims(moreThan: limit) {
            end(dataTask, with: .failure(PulseError.responseTooLarge(limit: limit)))
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let exceeded = state.withLock { state -> Int? in
            // In place, since a copy for each piece would cost the square of the length.
            state.exchanges[ObjectIdentifier(dataTask)]?.data.append(data)
            guard let exchange = state.exchanges[ObjectIdentifier(dataTask)] else { return nil }
            return exchange.data.count > exchange.limit ? exchange.limit : nil
        }
        if let exceeded { end(dataTask, with: .failure(PulseError.responseTooLarge(limit: exceeded))) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // Credentials are the client's business: the 401 is the answer, and all of it is here by now.
        if URLSessionTransport.withholdsChallenges {
            finish(task)
            cancellations.async { completionHandler(.cancelAuthenticationChallenge, nil) }
        } else {
            completionHandler(.performDefaultHandling, nil)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let error else { return finish(task) }
        let responseStarted = state.withLock { $0.exchanges[ObjectIdentifier(task)]?.response != nil }
        end(task, with: .failure(Self.failure(error, responseStarted: responseStarted)))
    }

    private func finish(_ task: URLSessionTask) {
        guard let exchange = state.withLock({ $0.exchanges[ObjectIdentifier(task)] }) else { return }
        guard let response = exchange.response ?? task.response as? HTTPURLResponse, let request = task.originalRequest
        else {
            let failure = TransportFailure(code: .badServerResponse, phase: .maybeSent)
            return end(task, with: .failure(failure))
        }
        var answer = PulseResponse(data: exchange.data, httpResponse: response, request: request)
        if !task.isHead { answer.headers.removeDecodedContentFields() }
        answer.headers.separateCookies()
        end(task, with: .success(answer))
    }

    private static func failure(_ error: any Error, responseStarted: Bool) -> any Error {
        guard let error = error as? URLError else { return error }
        if error.code == .cancelled { return CancellationError() }
        let (code, isBeforeSend) = error.meaning
        let phase: PulseError.Phase = responseStarted ? .responseStarted : isBeforeSend ? .beforeSend : .maybeSent
        return TransportFailure(code: code, phase: phase, underlying: error)
    }
}

extension URLResponse {
    /// Says nothing of a coded body, whose length is another once it is decoded.
    fileprivate func claims(moreThan limit: Int) -> Bool {
        let response = self as? HTTPURLResponse
        return response?.value(forHTTPHeaderField: "Content-Encoding") == nil
            && expectedContentLength > Int64(clamping: limit)
    }
}

extension URLSessionTask {
    fileprivate var isHead: Bool { originalRequest?.httpMethod == "HEAD" }
}
