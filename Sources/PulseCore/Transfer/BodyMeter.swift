// SPDX-License-Identifier: MIT

/// Measures the bodies of a call that sends a file in several requests: the progress of the call is that of the file.
package protocol BodyMeter: Sendable {
    /// A request with a body is about to be sent. Returns the function that takes its progress.
    func beginBody() async -> @Sendable (TransferProgress) -> Void
}
