// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability

/// How a call ended, in the coarse terms of a list.
public enum ConsoleOutcome: String, Sendable, Hashable, CaseIterable {
    /// The call is in progress.
    case running
    /// The caller got a response.
    case succeeded
    /// The caller got an error. Without events, a response with a status of 400 or above counts as one.
    case failed
    /// The caller cancelled the call.
    case cancelled

    init(_ call: PulseRecording.Call) {
        self =
            switch call.outcome {
            case nil: .running
            case .success(let response): response.statusCode < 400 ? .succeeded : .failed
            case .failure(let error): error.kind == .cancelled ? .cancelled : .failed
            }
    }
}
