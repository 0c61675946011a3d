// SPDX-License-Identifier: MIT

/// Measures the bodies of a call that sends a file in several requests: the progress of the call is that of the file.
package protocol BodyMeter: Sendable {
    /// Called before a request with a body is sent. Returns the function that receives its progress.
    func beginBody() async -> @Sendable (TransferProgress) -> Void
}
