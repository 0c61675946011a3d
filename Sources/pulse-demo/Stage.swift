// SPDX-License-Identifier: MIT

import PulseKit

/// Runs the steps of the demo and prints a line for each, and the totals; if verbose, also the events of each step.
actor Stage {
    nonisolated let isVerbose: Bool
    private var steps = 0
    private var failures = 0
    private var calls = 0
    private var completed = 0
    /// Whether the step has so many calls that only shared events are shown.
    private var isCrowded = false
    private var waiter: CheckedContinuation<Void, Never>?
    /// Records the requests of all clients of the demo; it is the last of their plugins.
    nonisolated let recorder = PulseRecorder()

    struct Unexpected: Error, CustomStringConvertible {
        let description: String
    }

    init(isVerbose: Bool) {
        self.isVerbose = isVerbose
    }

    /// Runs one step, which makes `count` calls and returns the line to print, or throws if a result is wrong. The line
    /// is printed after the events of the calls.
    func step(_ title: String, calls count: Int = 1, _ body: @Sendable () async throws -> String) async {
        steps += 1
        calls += count
        isCrowded = count > 10
        if isVerbose { write("\n\(steps). \(title)") }
        var verdict = "ok    "
        let result: String
        do {
            result = try await body()
        } catch {
            failures += 1
            verdict = "FAILED"
            result = "\(error)"
        }
        if completed < calls { await withCheckedContinuation { waiter = $0 } }
        write(isVerbose ? "   \(verdict)  \(result)" : "\(verdict) \(title): \(result)")
    }

    func event(_ event: NetworkEvent) {
        let line = Self.sharedLine(for: event) ?? (isCrowded ? nil : Self.line(for: event))
        if isVerbose, let line { write("   ·  \(line)") }
        if case .requestCompleted = event {
            completed += 1
            guard completed >= calls else { return }
            waiter?.resume()
            waiter = nil
        }
    }

    /// Prints the summary and returns the exit code.
    func close() -> Int32 {
        let recorded = recorder.recording().calls
        let requests = recorded.reduce(0) { $0 + $1.exchanges.count + $1.omittedExchangeCount }
        let totals = "\(recorded.count) calls and \(requests) requests"
        write("\n\(steps - failures) of \(steps) steps did what they say, in \(totals).")
        if !isVerbose { write("--verbose prints the events of each step; --report report.html draws each call.") }
        return failures == 0 ? 0 : 1
    }

    func write(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    private static func line(for event: NetworkEvent) -> String? {
        switch event {
        case .requestStarted(let call): "started    \(call.method) \(call.endpointPath)"
        case .attemptStarted(let call): "sent       \(call.method) \(call.endpointPath), attempt \(call.attempt)"
        case .responseReceived(_, let status, let byteCount): "received   \(status), \(byteCount) bytes"
        case .requestRedirected(_, let status): "redirected \(status)"
        case .requestRetrying(let call, let error, let attempt):
            "retrying   attempt \(attempt) in \(milliseconds(call.retryDelay)), after: \(error)"
        case .requestCompleted(.success(let response), _, let latency):
            "completed  \(response.statusCode) in \(milliseconds(latency))"
        case .requestCompleted(.failure(let error), _, let latency):
            "completed  \(error) in \(milliseconds(latency))"
        default: nil
        }
    }

    private static func sharedLine(for event: NetworkEvent) -> String? {
        switch event {
        case .authRefreshStarted: "refreshing the token"
        case .authRefreshSucceeded: "refreshed"
        case .circuitBreakerOpened: "opened     the circuit"
        case .circuitBreakerHalfOpened: "probing    the server"
        case .circuitBreakerClosed: "closed     the circuit"
        case .socketStateChanged(_, let state): "socket     \(state)"
        case .socketDisconnected(_, let end): "socket     \(end)"
        case .offlineQueueEnqueued: "queued     on the disk"
        case .offlineQueueDraining(let count): "draining   \(count)"
        case .offlineQueueRequestCompleted(_, let success): success ? "delivered" : "given up"
        default: nil
        }
    }

    private static func milliseconds(_ seconds: TimeInterval) -> String {
        "\(Int((seconds * 1000).rounded())) ms"
    }
}
