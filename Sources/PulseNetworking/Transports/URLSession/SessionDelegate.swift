// SPDX-License-Identifier: MIT

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

    private let exchanges = Locked<[ObjectIdentifier: Exchange]>([:])

    /// Runs a task to its end. Cancelling ends the wait at once, whenever the session reports it.
    func run(_ task: URLSessionTask, limit: Int) async throws -> PulseResponse {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchanges.withLock {
                    $0[ObjectIdentifier(task)] = Exchange(task: task, limit: limit, continuation: continuation)
                }
                // A cancellation before this point found no exchange to end.
                guard !Task.isCancelled else { return end(task, with: .failure(CancellationError())) }
                task.resume()
            }
        } onCancel: {
            end(task, with: .failure(CancellationError()))
        }
    }

    func cancelAll() {
        for exchange in exchanges.withLock({ Array($0.values) }) {
            end(exchange.task, with: .failure(CancellationError()))
        }
    }

    /// Hands over the outcome and stops the task, once; what the session reports later finds no exchange.
    private func end(_ task: URLSessionTask, with result: Result<PulseResponse, any Error>) {
        guard let exchange = exchanges.withLock({ $0.removeValue(forKey: ObjectIdentifier(task)) }) else { return }
        if case .failure = result { task.cancel() }
        exchange.continuation.resume(with: result)
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
        let limit = exchanges.withLock { exchanges -> Int? in
            exchanges[ObjectIdentifier(dataTask)]?.response = response as? HTTPURLResponse
            return exchanges[ObjectIdentifier(dataTask)]?.limit
        }
        completionHandler(.allow)
        if let limit, response.expectedContentLength > Int64(clamping: limit), dataTask.originalRequest?.httpMethod != "HEAD" {
            end(dataTask, with: .failure(PulseError.responseTooLarge(limit: limit)))
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let exceeded = exchanges.withLock { exchanges -> Int? in
            guard var exchange = exchanges.removeValue(forKey: ObjectIdentifier(dataTask)) else { return nil }
            exchange.data.append(data)
            let (count, limit) = (exchange.data.count, exchange.limit)
            exchanges[ObjectIdentifier(dataTask)] = exchange
            return count > limit ? limit : nil
        }
        if let exceeded { end(dataTask, with: .failure(PulseError.responseTooLarge(limit: exceeded))) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = exchanges.withLock({ $0[ObjectIdentifier(task)] }) else { return }
        if let error {
            return end(task, with: .failure(Self.failure(error, responseStarted: exchange.response != nil)))
        }
        guard let response = exchange.response ?? task.response as? HTTPURLResponse, let request = task.originalRequest else {
            let failure = TransportFailure(code: .badServerResponse, phase: .maybeSent)
            return end(task, with: .failure(failure))
        }
        var answer = PulseResponse(data: exchange.data, httpResponse: response, request: request)
        if request.httpMethod != "HEAD" { answer.headers.removeDecodedContentFields() }
        end(task, with: .success(answer))
    }

    /// Foundation's error with the phase it implies; a timeout may have struck while connecting, which cannot be told.
    private static func failure(_ error: any Error, responseStarted: Bool) -> any Error {
        guard let error = error as? URLError else { return error }
        if error.code == .cancelled { return CancellationError() }
        let phase: PulseError.Phase =
            switch error.code {
            case _ where responseStarted: .responseStarted
            case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet, .dataNotAllowed,
                .internationalRoamingOff, .callIsActive, .secureConnectionFailed, .serverCertificateUntrusted,
                .serverCertificateHasBadDate, .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot,
                .clientCertificateRejected, .clientCertificateRequired, .badURL, .unsupportedURL:
                .beforeSend
            default: .maybeSent
            }
        return TransportFailure(code: error.code, phase: phase, underlying: error)
    }
}
