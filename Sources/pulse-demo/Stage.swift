// SPDX-License-Identifier: MIT

import PulseKit

/// Prints what the demo does, one aligned line a step and an event, and counts what did not do as it should.
actor Stage {
    private var steps = 0
    private var failures = 0
    private var completed = 0
    private var waiter: CheckedContinuation<Void, Never>?

    struct Unexpected: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs one step, which makes one call and gives the line to print, or throws if something is not as it should be.
    /// Its line comes after the events of its call.
    func step(_ title: String, _ body: @Sendable () async throws -> String) async {
        steps += 1
        write("\n\(steps). \(title)")
        let line: String
        do {
            line = "   ok      \(try await body())"
        } catch {
            failures += 1
            line = "   FAILED  \(error)"
        }
        if completed < steps { await withCheckedContinuation { waiter = $0 } }
        write(line)
    }

    func event(_ event: NetworkEvent) {
        if let line = Self.line(for: event) { write("   ·  \(line)") }
        if case .requestCompleted = event {
            completed += 1
            waiter?.resume()
            waiter = nil
        }
    }

    /// Prints the summary and gives the exit code.
    func close() -> Int32 {
        write("\n\(steps - failures) of \(steps) steps did what they say.")
        return failures == 0 ? 0 : 1
    }

    private func write(_ line: String) {
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

    private static func milliseconds(_ seconds: TimeInterval) -> String {
        "\(Int((seconds * 1000).rounded())) ms"
    }
}
